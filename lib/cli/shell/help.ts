// --help, made of what a command says about itself.
import { COMMON_OPTIONS } from "./arguments";
import type { Command, OptionSpecs } from "./command";
import { EXIT_CODES } from "./exit-codes";

const WIDTH = 100;

/** Words in lines of at most `width`, the following ones indented. */
function wrap(text: string, indent: number, width = WIDTH): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent + line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join(`\n${" ".repeat(indent)}`);
}

function optionLines(specs: OptionSpecs): string {
  const rows = Object.entries(specs).map(([name, { value, short, multiple, text }]) => {
    const flag = `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}${multiple === true ? " …" : ""}`;
    return [flag, text] as const;
  });
  const column = Math.min(34, Math.max(...rows.map(([flag]) => flag.length)) + 4);
  return rows
    .map(([flag, text]) => {
      const begin = flag.length + 4 > column ? `  ${flag}\n${" ".repeat(column)}` : `  ${flag}`.padEnd(column);
      return `${begin}${wrap(text, column)}\n`;
    })
    .join("");
}

const section = (title: string, body: string): string => `\n${title}\n${body}`;

/** The whole text about one command; `args` may choose options that depend on others. */
export function commandHelp(command: Command, args: readonly string[]): string {
  const more = command.moreOptions?.(args);
  return (
    `usage: surprisal ${command.name} ${command.usage}\n\n${command.about}\n` +
    section("options", optionLines({ ...command.options, ...COMMON_OPTIONS })) +
    (more ? section(more.title, optionLines(more.options)) : "") +
    section("examples", command.examples.map((line) => `  ${line}\n`).join("")) +
    `\nExit codes and what --json prints: docs/cli/README.md; this command: docs/cli/${command.name}.md\n`
  );
}

/** The list of commands. */
export function overview(commands: readonly { readonly name: string; readonly summary: string }[]): string {
  return (
    `usage: surprisal COMMAND [options]\n\n` +
    commands.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}\n`).join("") +
    `\nsurprisal COMMAND --help has a command's options and examples.\n` +
    section("exit codes", EXIT_CODES.map(([code, meaning]) => `  ${String(code).padEnd(6)}${meaning}\n`).join(""))
  );
}

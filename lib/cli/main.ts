#!/usr/bin/env node
// surprisal COMMAND [options]: one file a command.
import { doctor } from "./doctor";

/** What a command answers: its exit code. 0 done, 1 the work failed, 2 the command line is wrong. */
export type Command = (args: readonly string[]) => number | Promise<number>;

const COMMANDS: Readonly<Record<string, { readonly run: Command; readonly summary: string }>> = {
  doctor: { run: doctor, summary: "list every backend with why or why not" },
};

const USAGE = `usage: surprisal COMMAND [options]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}`)
  .join("\n")}

surprisal COMMAND --help tells a command's options.
`;

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...args] = argv;
  if (name === undefined || name === "--help" || name === "-h") {
    process.stdout.write(USAGE);
    return name === undefined ? 2 : 0;
  }
  const command = COMMANDS[name];
  if (!command) {
    process.stderr.write(`surprisal: no command "${name}"\n\n${USAGE}`);
    return 2;
  }
  return command.run(args);
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`surprisal: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);

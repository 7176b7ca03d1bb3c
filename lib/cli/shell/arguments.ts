// A command line against a command's options, by util.parseArgs; what is wrong is said in one line.
import { parseArgs, type ParseArgsConfig } from "node:util";
import { closest } from "../../core/closest";
import { Arguments, type Command, type OptionSpecs } from "./command";
import { UsageError } from "./exit-codes";

/** Every command has these. */
export const COMMON_OPTIONS: OptionSpecs = {
  json: { text: 'one JSON document on standard output; of a failure {"error": …}' },
  quiet: { short: "q", text: "no progress bar and no notes on standard error" },
  help: { short: "h", text: "this text" },
};

/** All options that a command line may have. */
function optionsOf(command: Command, args: readonly string[]): OptionSpecs {
  return { ...command.options, ...command.moreOptions?.(args)?.options, ...COMMON_OPTIONS };
}

/** The value of one flag wherever it stands, before the rest can be understood. */
export function peek(args: readonly string[], name: string, short: string): string | undefined {
  const { tokens } = parseArgs({
    args: [...args],
    options: { [name]: { type: "string", short } },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const found = tokens.find((token) => token.kind === "option" && token.name === name);
  return found?.kind === "option" && typeof found.value === "string" ? found.value : undefined;
}

function unknownFlag(flag: string, specs: OptionSpecs): UsageError {
  const name = flag.replace(/^-+/, "");
  const near = closest(name, Object.keys(specs));
  const hint = near === undefined ? "" : `; did you mean --${near}?`;
  return new UsageError(`${flag} is no option of this command${hint}`, { name: flag });
}

function needKnownFlags(
  args: readonly string[],
  config: NonNullable<ParseArgsConfig["options"]>,
  specs: OptionSpecs,
): void {
  const { tokens } = parseArgs({
    args: [...args],
    options: config,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const spec = specs[token.name];
    if (!spec || !Object.hasOwn(specs, token.name)) throw unknownFlag(token.rawName, specs);
    if (spec.value !== undefined && token.value === undefined)
      throw new UsageError(`${token.rawName} needs a value: ${token.rawName} ${spec.value}`, { name: token.rawName });
    if (spec.value === undefined && token.value !== undefined)
      throw new UsageError(`${token.rawName} takes no value, got "${token.value}"`, { name: token.rawName });
    // parseArgs would take a flag behind a flag for its value.
    if (spec.value !== undefined && token.inlineValue === false && /^-[^\d.]/.test(token.value) && token.value !== "-")
      throw new UsageError(
        `${token.rawName} needs a value: ${token.rawName} ${spec.value}; "${token.value}" is a flag (--name=${token.value} makes it a value)`,
        {
          name: token.rawName,
        },
      );
  }
}

/** Negative numbers as values of their own: parseArgs takes "-1" for a flag where it stands alone. */
function joinNegative(args: readonly string[], specs: OptionSpecs): string[] {
  const joined: string[] = [];
  for (let i = 0; i < args.length; ++i) {
    const arg = args[i]!;
    if (arg === "--") return [...joined, ...args.slice(i)];
    const next = args[i + 1];
    const takesValue = arg.startsWith("--") && !arg.includes("=") && specs[arg.slice(2)]?.value !== undefined;
    if (takesValue && next !== undefined && /^-[\d.]/.test(next)) {
      joined.push(`${arg}=${next}`);
      ++i;
    } else joined.push(arg);
  }
  return joined;
}

/** The arguments of a command. */
export function readArguments(command: Command, given: readonly string[]): Arguments {
  const specs = optionsOf(command, given);
  const args = joinNegative(given, specs);
  const config: NonNullable<ParseArgsConfig["options"]> = {};
  for (const [name, { value, short, multiple = false }] of Object.entries(specs)) {
    config[name] = { type: value === undefined ? "boolean" : "string", multiple };
    if (short !== undefined) config[name].short = short; // parseArgs refuses undefined
  }
  needKnownFlags(args, config, specs);
  const { values, positionals } = parseArgs({ args, options: config, allowPositionals: true });
  const { unless } = command.files;
  if (values["help"] !== true && (unless === undefined || values[unless] !== true)) needFiles(command, positionals);
  return new Arguments(values, positionals);
}

function needFiles({ files, name, usage }: Command, given: readonly string[]): void {
  const { least, most, what } = files;
  if (given.length >= least && given.length <= most) return;
  const many = least === most ? `${least}` : most === Infinity ? `at least ${least}` : `${least} to ${most}`;
  const got = given.length === 0 ? "none" : `${given.length}: ${given.join(" ")}`;
  const want = most === 0 ? "takes no files" : `needs ${many} of ${what}`;
  throw new UsageError(`${want}, got ${got}; usage: surprisal ${name} ${usage}`, { got: given.length });
}

/** A whole number from a flag. */
export function wholeNumber(args: Arguments, name: string, least: number, otherwise: number): number {
  const text = args.text(name);
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(value) || value < least)
    throw new UsageError(`--${name} is "${text}", expected a whole number from ${least} on`, {
      name: `--${name}`,
      got: text,
    });
  return value;
}

/** One of several words from a flag. */
export function oneWord<Word extends string>(args: Arguments, name: string, words: readonly Word[]): Word | undefined {
  const text = args.text(name);
  return text === undefined ? undefined : needName(`--${name}`, text, words);
}

/** A known name, or an error with the nearest one. */
export function needName<Name extends string>(what: string, given: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === given);
  if (found !== undefined) return found;
  const near = closest(given, names);
  const hint = near === undefined ? "" : `; did you mean "${near}"?`;
  throw new UsageError(`${what} is "${given}", expected one of ${names.join(", ")}${hint}`, {
    name: what,
    got: given,
    want: names.join(", "),
  });
}

// A table of library functions as a command has it: one of them by name, its options as flags, all of them as a list.
import type { BackendPreference } from "../../backend/backend";
import { backendOf } from "../backend-option";
import { type FieldChoice, readFieldChoice } from "../rollouts/rollout-arguments";
import { needName, peek } from "../shell/arguments";
import type { Answer, Call, Command } from "../shell/command";
import { UsageError } from "../shell/exit-codes";
import { flagsOf, type FunctionOptions, optionsFrom } from "./option-flags";

interface Entry {
  readonly about: string;
  readonly page: string;
  readonly options: FunctionOptions["options"];
}

/** Of the table that `Name` is from. */
export interface NamedFunctions<Name extends string> {
  /** A line each. */
  readonly list: string;
  /** What --list answers. */
  readonly early: (call: Call) => Answer | undefined;
  /** What the command line says of the function that it names. */
  readonly settingsOf: (call: Call) => {
    readonly name: Name;
    readonly options: Record<string, unknown>;
    readonly fields: FieldChoice;
    readonly backend: BackendPreference | undefined;
  };
  readonly moreOptions: NonNullable<Command["moreOptions"]>;
}

/** @param flag the option that names a function, `short` in one letter; the function of "x" is x`suffix`, its page in docs/`folder` */
export function namedFunctions<Name extends string>(
  { flag, short, suffix, folder }: Readonly<Record<"flag" | "short" | "suffix" | "folder", string>>,
  names: readonly Name[],
  table: Readonly<Record<Name, Entry>>,
): NamedFunctions<Name> {
  const width = Math.max(...names.map((name) => name.length)) + 1;
  const list = names.map((name) => `  ${name.padEnd(width)}${table[name].about}`).join("\n");
  const optionsOf = (name: Name): FunctionOptions => ({ name: `${name}${suffix}`, options: table[name].options });
  return {
    list,

    early: ({ args }) =>
      args.has("list")
        ? { json: Object.fromEntries(names.map((name) => [name, table[name].about])), text: `${list}\n` }
        : undefined,

    settingsOf: ({ args }) => {
      const given = args.text(flag);
      if (given === undefined)
        throw new UsageError(`--${flag} is missing, expected one of ${names.join(", ")}`, { name: `--${flag}` });
      const name = needName(`--${flag}`, given, names);
      const fields = readFieldChoice(args.texts("field"));
      return { name, options: optionsFrom(args, optionsOf(name)), fields, backend: backendOf(args) };
    },

    moreOptions: (args) => {
      const word = peek(args, flag, short);
      if (word === undefined) return undefined;
      const name = needName(`--${flag}`, word, names);
      return { title: `options of ${name} (docs/${folder}/${table[name].page}.md)`, options: flagsOf(optionsOf(name)) };
    },
  };
}

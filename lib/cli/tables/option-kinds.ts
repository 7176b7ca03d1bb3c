// The options of a library function as flags. A table has every option of the function's type, or it does not compile.
import { SurprisalError } from "../../core/errors";
import { type PresetFunction, presetNames } from "../../presets";
import { closest } from "../shell/closest";
import type { Arguments, OptionSpecs } from "../shell/command";
import { UsageError } from "../shell/exit-codes";
import { readFileSync } from "node:fs";

/** One of these words. */
type Words<Word extends string> = Readonly<Record<Word, true>>;

/** How a value is written: a number, a flag alone, one of several words, or JSON for all that is larger. */
export type Kind = "number" | "flag" | "json" | Words<string>;

type KindOf<Value> = [Value] extends [boolean] ? "flag" : [Value] extends [number] ? "number" : [Value] extends [string] ? Words<Value> : "json";

/** What comes from the rollouts, from other flags, or only exists inside a program. */
type NotOptions = "preset" | "backend" | "collective" | "out" | "shape" | "offsets" | "groups" | "groupOffsets" | "mask";

/** A kind for every option of a type; `Also` are those that are no options in the sense of a command line. */
export type OptionTable<Options, Also extends PropertyKey = never> = {
  readonly [Name in Exclude<keyof Options, NotOptions | Also>]-?: KindOf<NonNullable<Options[Name]>>;
};

/** The options of one function. */
export interface FunctionOptions {
  /** The public function, whose presets there are. */
  readonly presets?: PresetFunction;
  readonly options: Readonly<Record<string, Kind>>;
}

/** clipLow → clip-low */
export const flagOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function wordsOf(kind: Kind): readonly string[] | undefined {
  return typeof kind === "object" ? Object.keys(kind) : undefined;
}

const VALUES = { number: "NUMBER", json: "JSON" } as const;

/** The flags of a function. */
export function flagsOf({ presets, options }: FunctionOptions): OptionSpecs {
  const specs: Record<string, OptionSpecs[string]> = {};
  if (presets !== undefined) specs["preset"] = { value: "NAME", text: `conventions of ${presetNames(presets).join(", ")}; options that are given win` };
  for (const [name, kind] of Object.entries(options)) {
    const words = wordsOf(kind);
    const flag = flagOf(name);
    if (words) specs[flag] = { value: "WORD", text: words.join(", ") };
    else if (kind === "flag") {
      specs[flag] = { text: `${name}: true` };
      specs[`no-${flag}`] = { text: `${name}: false` };
    } else specs[flag] = { value: VALUES[kind as "number" | "json"], text: name };
  }
  return specs;
}

function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new UsageError(`${what} is not JSON: ${(cause as Error).message}`, { name: what, got: text });
  }
}

function readValue(flag: string, kind: Kind, text: string): unknown {
  const words = wordsOf(kind);
  if (words) {
    if (words.includes(text)) return text;
    const near = closest(text, words);
    const hint = near === undefined ? "" : `; did you mean "${near}"?`;
    throw new UsageError(`--${flag} is "${text}", expected one of ${words.join(", ")}${hint}`, { name: `--${flag}`, got: text });
  }
  if (kind === "json") return parseJson(`--${flag}`, text);
  const value = text.trim() === "" ? NaN : Number(text);
  if (Number.isNaN(value)) throw new UsageError(`--${flag} is "${text}", expected a number`, { name: `--${flag}`, got: text });
  return value;
}

/** What --options holds: JSON, or the name of a file with it. */
function readObject(text: string): Readonly<Record<string, unknown>> {
  let json = text;
  if (!text.trimStart().startsWith("{"))
    try {
      json = readFileSync(text, "utf8");
    } catch (cause) {
      throw new SurprisalError("ERR_SURPRISAL_FILE", `--options ${text} cannot be read: ${(cause as Error).message}`, { name: "--options" }, { cause });
    }
  const value = parseJson("--options", json);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new UsageError("--options is no JSON object", { name: "--options" });
  return value as Readonly<Record<string, unknown>>;
}

/** The options of a function as its flags and --options give them; a flag wins. */
export function optionsFrom(args: Arguments, { presets, options }: FunctionOptions): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  const known = [...Object.keys(options), ...(presets === undefined ? [] : ["preset"])];
  const object = args.text("options");
  for (const [name, value] of Object.entries(object === undefined ? {} : readObject(object))) {
    if (!known.includes(name)) {
      const near = closest(name, known);
      throw new UsageError(`--options has "${name}", which is no option here${near === undefined ? "" : `; did you mean "${near}"?`}`, { name });
    }
    given[name] = value;
  }
  const preset = args.text("preset");
  if (presets !== undefined && preset !== undefined)
    given["preset"] = readValue("preset", Object.fromEntries(presetNames(presets).map((name) => [name, true as const])), preset);
  for (const [name, kind] of Object.entries(options)) {
    const flag = flagOf(name);
    const text = args.text(flag);
    if (text !== undefined) given[name] = readValue(flag, kind, text);
    else if (kind === "flag" && (args.has(flag) || args.has(`no-${flag}`))) given[name] = args.has(flag);
  }
  return given;
}

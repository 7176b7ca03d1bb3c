// The options of a library function as flags.
import { SurprisalError } from "../../core/errors";
import type { OptionKind } from "../../core/option-kinds";
import { type PresetFunction, presetNames } from "../../presets";
import { closest } from "../../core/closest";
import type { Arguments, OptionSpecs } from "../shell/command";
import { UsageError } from "../shell/exit-codes";
import { readFileSync } from "node:fs";

/** The options of one function. */
export interface FunctionOptions {
  /** The public function: presets may know it. */
  readonly name: string;
  readonly options: Readonly<Record<string, OptionKind>>;
}

/** clipLow → clip-low */
export const flagOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function wordsOf(kind: OptionKind): readonly string[] | undefined {
  return typeof kind === "object" ? Object.keys(kind) : undefined;
}

const VALUES = { number: "NUMBER", json: "JSON" } as const;

/** The presets of a function, none where they do not know it. */
const presetsOf = (name: string): readonly string[] => presetNames(name as PresetFunction);

/** The flags of a function. */
export function flagsOf({ name, options }: FunctionOptions): OptionSpecs {
  const specs: Record<string, OptionSpecs[string]> = {};
  const presets = presetsOf(name);
  if (presets.length > 0)
    specs["preset"] = { value: "NAME", text: `conventions of ${presets.join(", ")}; options that are given win` };
  for (const [option, kind] of Object.entries(options)) {
    const words = wordsOf(kind);
    const flag = flagOf(option);
    if (words) specs[flag] = { value: "WORD", text: words.join(", ") };
    else if (kind === "flag") {
      specs[flag] = { text: `${option}: true` };
      specs[`no-${flag}`] = { text: `${option}: false` };
    } else specs[flag] = { value: VALUES[kind as "number" | "json"], text: option };
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

const TEXTS = /^((think-)?(start|end)|head)$/;

function readValue(flag: string, kind: OptionKind, text: string): unknown {
  const words = wordsOf(kind);
  if (words) {
    if (words.includes(text)) return text;
    const near = closest(text, words);
    const hint = near === undefined ? "" : `; did you mean "${near}"?`;
    throw new UsageError(`--${flag} is "${text}", expected one of ${words.join(", ")}${hint}`, {
      name: `--${flag}`,
      got: text,
    });
  }
  // What begins and ends a step may be text: <step>.
  if (kind === "json" && TEXTS.test(flag) && !/^\s*["[{\d-]/.test(text)) return text;
  if (kind === "json") return parseJson(`--${flag}`, text);
  const value = text.trim() === "" ? NaN : Number(text);
  if (Number.isNaN(value))
    throw new UsageError(`--${flag} is "${text}", expected a number`, { name: `--${flag}`, got: text });
  return value;
}

/** What --options holds: JSON, or the name of a file with it. */
function readObject(text: string): Readonly<Record<string, unknown>> {
  let json = text;
  if (!text.trimStart().startsWith("{"))
    try {
      json = readFileSync(text, "utf8");
    } catch (cause) {
      throw new SurprisalError(
        "ERR_SURPRISAL_FILE",
        `--options ${text} cannot be read: ${(cause as Error).message}`,
        { name: "--options" },
        { cause },
      );
    }
  const value = parseJson("--options", json);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UsageError("--options is no JSON object", { name: "--options" });
  return value as Readonly<Record<string, unknown>>;
}

/** The options of a function as its flags and --options give them; a flag wins. */
export function optionsFrom(args: Arguments, { name: of, options }: FunctionOptions): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  const presets = presetsOf(of);
  const known = Object.keys(options);
  if (presets.length > 0) known.push("preset");
  const object = args.text("options");
  for (const [name, value] of Object.entries(object === undefined ? {} : readObject(object))) {
    if (!known.includes(name)) {
      const near = closest(name, known);
      throw new UsageError(
        `--options has "${name}", which is no option here${near === undefined ? "" : `; did you mean "${near}"?`}`,
        { name },
      );
    }
    given[name] = value;
  }
  const preset = args.text("preset");
  if (presets.length > 0 && preset !== undefined)
    given["preset"] = readValue("preset", Object.fromEntries(presets.map((name) => [name, true as const])), preset);
  for (const [name, kind] of Object.entries(options)) {
    const flag = flagOf(name);
    const text = args.text(flag);
    if (text !== undefined) given[name] = readValue(flag, kind, text);
    else if (kind === "flag" && (args.has(flag) || args.has(`no-${flag}`))) given[name] = args.has(flag);
  }
  return given;
}

// The presets by name, and how one is merged under the options of a call. A preset is data: for each function, the options
// in which a source differs from the defaults. Whether a function takes what presets say of it is checked where it asks.
import { optionError, show } from "../core/errors";
import { areal } from "./areal";
import { egpo } from "./egpo";
import { egpoFirst } from "./egpo-first";
import { empgLiteral } from "./empg-literal";
import { gspo } from "./gspo";
import { lightrft } from "./lightrft";
import { maxent } from "./maxent";
import { nemoRl } from "./nemo-rl";
import { openInstruct } from "./open-instruct";
import { openrlhf } from "./openrlhf";
import { primeRl } from "./prime-rl";
import { pufferlib } from "./pufferlib";
import { roll } from "./roll";
import { skyrl } from "./skyrl";
import { slime } from "./slime";
import { trl } from "./trl";
import { verl } from "./verl";
import { verlJanuary } from "./verl-2026-01";

/** By name. */
export const PRESETS = {
  verl,
  "verl-2026-01": verlJanuary,
  trl,
  openrlhf,
  lightrft,
  egpo,
  "egpo-first": egpoFirst,
  gspo,
  maxent,
  "empg-literal": empgLiteral,
  pufferlib,
  skyrl,
  areal,
  slime,
  roll,
  "prime-rl": primeRl,
  "open-instruct": openInstruct,
  "nemo-rl": nemoRl,
} as const;

type Presets = typeof PRESETS;

/** A source whose conventions a function can take over. */
export type PresetName = keyof Presets;

/** A function that presets know. */
export type PresetFunction = { [Name in PresetName]: keyof Presets[Name] }[PresetName];

/** The presets that say something about a function. */
export type PresetNameFor<F extends PresetFunction> = {
  [Name in PresetName]: F extends keyof Presets[Name] ? Name : never;
}[PresetName];

/** Option of a function that has presets. */
export interface PresetOption<F extends PresetFunction> {
  /** Takes the conventions of this source as defaults; options that are given win. Default: none. */
  readonly preset?: PresetNameFor<F>;
}

/** What each preset says about a function. */
type Conventions<F extends PresetFunction> = {
  [Name in PresetName]: F extends keyof Presets[Name] ? Presets[Name][F] : never;
}[PresetName];

type KeysOf<Union> = Union extends unknown ? keyof Union : never;

/** What options have to be beside themselves: something that cannot be, where presets say what they do not take. */
type Taking<Options, F extends PresetFunction> = [Conventions<F>] extends [Partial<Options>]
  ? {
      readonly [
        Name in Exclude<KeysOf<Conventions<F>>, KeysOf<Options>>
      ]: `a preset of ${F} has it, its options do not`;
    }
  : { readonly preset: `a preset of ${F} has a value that its options do not take` };

/** The names of PresetNameFor, in the order of this file. */
export function presetNames<F extends PresetFunction>(of: F): PresetNameFor<F>[] {
  return Object.entries(PRESETS).flatMap(([name, preset]) =>
    Object.hasOwn(preset, of) ? [name as PresetNameFor<F>] : [],
  );
}

/**
 * What a preset says about a function.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for a name that does not exist or says nothing about the function
 */
export function presetOf<F extends PresetFunction>(of: F, name: string): Conventions<F> {
  const known = presetNames(of);
  if (!known.some((each) => each === name))
    throw optionError(of, "preset", name, `one of ${known.map(show).join(", ")}`);
  return (PRESETS[name as PresetName] as unknown as Readonly<Record<F, Conventions<F>>>)[of];
}

/** Whether no option is there and undefined. Most calls name no preset and are small: a copy costs more than they do. */
function saysAll(options: object): boolean {
  for (const name in options) if ((options as Record<string, unknown>)[name] === undefined) return false;
  return true;
}

/**
 * The options of a call with those of a preset under them: an option that is absent or undefined takes the preset's value,
 * or stays absent. Without a preset, the options as they are.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for a name that does not exist or says nothing about the function
 */
export function resolvePreset<F extends PresetFunction, Options extends object>(
  of: F,
  name: PresetName | undefined,
  options: Options & Taking<Options, F>,
): Options {
  if (name === undefined && saysAll(options)) return options;
  const merged: Record<string, unknown> = name === undefined ? {} : { ...presetOf(of, name) };
  for (const [key, value] of Object.entries(options)) if (value !== undefined) merged[key] = value;
  // Every key is an option, with its value (Taking); the compiler cannot follow a merge by name.
  return merged as Options;
}

// The presets by name, and how one is merged under the options of a call.
import { argumentError, show } from "../core/errors";
import { egpo } from "./egpo";
import { egpoFirst } from "./egpo-first";
import { empgLiteral } from "./empg-literal";
import { gspo } from "./gspo";
import { lightrft } from "./lightrft";
import { maxent } from "./maxent";
import { openrlhf } from "./openrlhf";
import { paper } from "./paper";
import { pufferlib } from "./pufferlib";
import type { Preset, PresetFunction } from "./preset";
import { trl } from "./trl";
import { verl } from "./verl";

export type { Preset, PresetFunction } from "./preset";

const PRESETS = {
  verl,
  trl,
  openrlhf,
  lightrft,
  egpo,
  "egpo-first": egpoFirst,
  gspo,
  maxent,
  "empg-literal": empgLiteral,
  paper,
  pufferlib,
} as const satisfies Record<string, Preset>;

/** A source whose conventions a function can take over. */
export type PresetName = keyof typeof PRESETS;

/** The presets that say something about a function. */
export type PresetNameFor<F extends PresetFunction> = {
  [Name in PresetName]: (typeof PRESETS)[Name] extends Readonly<Record<F, object>> ? Name : never;
}[PresetName];

/** Option of a function that has presets. */
export interface PresetOption<F extends PresetFunction> {
  /** Takes the conventions of this source as defaults; options that are given win. Default: none. */
  readonly preset?: PresetNameFor<F>;
}

/** The names of PresetNameFor, in the order of this file. */
export function presetNames(of: PresetFunction): PresetName[] {
  return (Object.keys(PRESETS) as PresetName[]).filter((name) => (PRESETS[name] as Preset)[of] !== undefined);
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
  options: Options,
): Options & NonNullable<Preset[F]> {
  const merged: Record<string, unknown> = {};
  if (name !== undefined) {
    const known = presetNames(of);
    if (!known.includes(name))
      throw argumentError("ERR_SURPRISAL_OPTION", of, "preset", name, `one of ${known.map(show).join(", ")}`);
    Object.assign(merged, (PRESETS[name] as Preset)[of]);
  }
  for (const [key, value] of Object.entries(options)) if (value !== undefined) merged[key] = value;
  // Every key is one of the two types', with its value; the compiler cannot follow a merge by name.
  return merged as Options & NonNullable<Preset[F]>;
}

// Whitening by the conventions of a trainer.
import type { FloatArray } from "../core/dtype";
import { whiten, type WhitenOptions } from "../ops/reduce";
import { type PresetOption, resolvePreset } from "../presets";

export interface WhitenAdvantagesOptions extends WhitenOptions, PresetOption<"whitenAdvantages"> {}

/**
 * `whiten`, with presets `"verl"`, `"trl"`, `"openrlhf"`, `"lightrft"` and `"pufferlib"`: docs/ops/reduce.md has them side by
 * side. Without a preset (x − mean) / sqrt(var + 1e-8), ddof 1, 0 under the mask.
 *
 * @param advantages per token; [n] as `shape` or `offsets` say, or one row
 * @returns in the type of `advantages`; computed in float64, rounded once
 * @throws SurprisalError as `whiten`
 */
export function whitenAdvantages(advantages: FloatArray, options: WhitenAdvantagesOptions = {}): FloatArray {
  const { preset, ...conventions } = options;
  return whiten(advantages, resolvePreset("whitenAdvantages", preset, conventions));
}

// Tokens whose log-prob the sampler did not tell.
import type { FloatArray } from "./dtype";
import { allocateFloat, widestFloat } from "./float-arrays";
import { needWord } from "./option-checks";

const UNKNOWN = ["nan", "one"] as const;

export interface UnknownSamplerOption {
  /** A NaN of the sampler, which did not tell a log-prob: it stays NaN (`"nan"`, the default), or the token's ratio is 1 (`"one"`). */
  readonly unknownSampler?: (typeof UNKNOWN)[number];
}

/** The sampler's log-probs, with those of `known` in the place of NaN where that is asked for. */
export function samplerOrKnown(
  op: string,
  sampler: FloatArray,
  known: FloatArray,
  { unknownSampler }: UnknownSamplerOption,
): FloatArray {
  const fills = needWord(op, "unknownSampler", unknownSampler ?? "nan", UNKNOWN) === 1;
  if (!fills || !sampler.some(Number.isNaN)) return sampler;
  // In the wider type of the two, so that they differ by exactly 0.
  const filled = allocateFloat(widestFloat(sampler, known), sampler.length);
  sampler.forEach((u, i) => {
    filled[i] = Number.isNaN(u) ? known[i]! : u;
  });
  return filled;
}

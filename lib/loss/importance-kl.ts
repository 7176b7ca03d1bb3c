// KL estimates of tokens that another policy drew: times a ratio that moves with the policy, so that their gradient is unbiased.
import type { FloatArray } from "../core/dtype";

/** Estimates per token, and what they are estimates of. All 0 under the mask. */
export interface KlPerToken {
  readonly values: FloatArray;
  readonly gradLogProbs: FloatArray;
}

/**
 * v·w with w = exp(ℓ − base), or w = exp(ℓ − stop-gradient(ℓ)) = 1 without a base, and its derivative w·(v′ + v); then clamped to
 * ±valueClamp. Where the estimate's own clamp holds d = ℓ − q, and where the value is clamped, the derivative is 0.
 */
export function timesImportance(
  { values, gradLogProbs }: KlPerToken,
  logProbs: FloatArray,
  referenceLogProbs: FloatArray,
  base: FloatArray | null,
  clamps: { readonly logClamp: number; readonly valueClamp: number },
  mask: Uint8Array | null,
): KlPerToken {
  const [corrected, slopes] = [values.slice(), gradLogProbs.slice()];
  for (let i = 0; i < values.length; ++i) {
    if (mask && mask[i] === 0) continue;
    const w = base ? Math.exp(logProbs[i]! - base[i]!) : 1;
    const value = values[i]! * w;
    const held =
      Math.abs(logProbs[i]! - referenceLogProbs[i]!) > clamps.logClamp || Math.abs(value) > clamps.valueClamp;
    corrected[i] = Math.min(Math.max(value, -clamps.valueClamp), clamps.valueClamp);
    slopes[i] = held ? 0 : w * gradLogProbs[i]! + value;
  }
  return { values: corrected, gradLogProbs: slopes };
}

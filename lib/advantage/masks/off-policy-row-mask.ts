// Rollouts that the policy has moved away from, left out of the loss where they would push it further.
import type { BackendOption } from "../../backend/select";
import { needFloats, optionalMask } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { needNumber } from "../../core/option-checks";
import { samplerOrKnown, type UnknownSamplerOption } from "../../core/unknown-sampler";
import { layoutOf, needRows, rowBegin, rowEnd, type RowLayout } from "../../core/row-layout";
import { logRatio } from "../../ops/ratio";

export interface OffPolicyRowMaskOptions extends RowLayout, BackendOption, UnknownSamplerOption {
  /** The largest mean log ratio, in nats per token, at which a row of negative advantage stays. */
  readonly threshold: number;
  /** 1 = a token of the response. Others are not read. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface OffPolicyRowMaskResult {
  /** 1 = the row stays; one per row. */
  readonly kept: Uint8Array;
  /** Mean of samplerLogProbs − logProbs over the kept tokens, nats, 0 for a row without any; one per row. */
  readonly meanLogRatios: Float64Array;
  /** `mask`, with 0 in all of a dropped row; one per token. */
  readonly mask: Uint8Array;
}

/**
 * Drops rows of negative advantage that have become unlikely under the policy.
 *
 *     row b stays  if  a_b >= 0  or  Σ_t m (u − ℓ) / max(count, 1) <= threshold
 *
 * u − ℓ is taken, summed and compared in float64. No comparison with NaN holds: a NaN mean drops a row of negative advantage, unless
 * `unknownSampler` is `"one"`.
 *
 * @param advantages one per row
 * @param logProbs ℓ under the current policy, nats; [n] as `shape` or `offsets` say
 * @param samplerLogProbs u under the policy that sampled, or the old one; same shape
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see DeepSeek-AI 2025, DeepSeek-V3.2 (off-policy sequence masking)
 */
export function offPolicyRowMask(
  advantages: FloatArray,
  logProbs: FloatArray,
  samplerLogProbs: FloatArray,
  options: OffPolicyRowMaskOptions,
): OffPolicyRowMaskResult {
  const op = "offPolicyRowMask";
  const rows = needRows(op, options);
  const scores = needFloats(op, "advantages", advantages, rows.B, "one per row");
  const current = needFloats(op, "logProbs", logProbs, rows.n, rows.meaning);
  const told = needFloats(op, "samplerLogProbs", samplerLogProbs, rows.n, rows.meaning);
  const sampler = samplerOrKnown(op, told, current, options);
  const given = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const threshold = needNumber(op, "threshold", options.threshold, { infinite: true });
  const { backend } = options;
  const { logRatios } = logRatio(Float64Array.from(sampler), current, {
    ...layoutOf(options),
    mask: given ?? undefined,
    backend,
    level: "sequence",
    reduce: "mean",
  });
  const meanLogRatios = Float64Array.from(logRatios);
  const mask = given ? given.map((flag) => (flag !== 0 ? 1 : 0)) : new Uint8Array(rows.n).fill(1);
  const kept = Uint8Array.from(meanLogRatios, (mean, b) => (scores[b]! >= 0 || mean <= threshold ? 1 : 0));
  kept.forEach((stays, b) => {
    if (stays === 0) mask.fill(0, rowBegin(rows, b), rowEnd(rows, b));
  });
  return { kept, meanLogRatios, mask };
}

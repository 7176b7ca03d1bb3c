// M2PO: the tokens that are farthest from the sampler leave until the second moment of the rest is small.
import { needFloats } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { needNumber } from "../../core/option-checks";
import { needMaskedRows, type RowLayout } from "../../core/row-layout";

export interface SecondMomentMaskOptions extends RowLayout {
  /** The mean of (o − u)² over what is kept is below this, >= 0, nats². Default 0.04. */
  readonly threshold?: number;
  /** 1 = a token of the policy; the others are not read and get 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

/**
 * M2PO's mask over a whole batch: the fewest tokens of the largest (o − u)² are dropped such that the mean of the rest is below the
 * threshold. One token stays in any case, the nearest. Of equal distances the later token goes first; a NaN goes before all.
 *
 * @param oldLogProbs o: of the trainer, nats; [n] as `shape` or `offsets` say
 * @param samplerLogProbs u: of the sampler, the same tokens
 * @returns 1 = kept, [n]
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see Zheng et al. 2025, Prosperity before Collapse: How Far Can Off-Policy RL Reach with Stale Data on LLMs? (M2PO)
 */
export function secondMomentMask(
  oldLogProbs: FloatArray,
  samplerLogProbs: FloatArray,
  options: SecondMomentMaskOptions,
): Uint8Array {
  const op = "secondMomentMask";
  const { rows, mask } = needMaskedRows(op, options);
  const { n, meaning } = rows;
  const old = needFloats(op, "oldLogProbs", oldLogProbs, n, meaning);
  const sampler = needFloats(op, "samplerLogProbs", samplerLogProbs, n, meaning);
  const threshold = needNumber(op, "threshold", options.threshold ?? 0.04, { min: 0 });
  const square = Float64Array.from({ length: n }, (_, i) => (old[i]! - sampler[i]!) ** 2);
  const near = Array.from(square.keys()).filter((i) => mask?.[i] !== 0);
  const order = (i: number): number => (Number.isNaN(square[i]) ? Infinity : square[i]!);
  near.sort((i, j) => order(i) - order(j) || i - j || 0);
  const kept = new Uint8Array(n);
  let sum = 0;
  let count = 1;
  let total = 0;
  // Means of the sorted squares never go down, but a NaN or an infinity ends them.
  for (const i of near) {
    sum += square[i]!;
    ++total;
    if (sum / total < threshold) count = total;
    else break;
  }
  for (const i of near.slice(0, count)) kept[i] = 1;
  return kept;
}

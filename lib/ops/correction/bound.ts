// Weights and masks from a bounded statistic of two policies' log-probs.
import { OUTSIDE_RULES, type OutsideRule } from "../../backend/contract/correction";
import { selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { flagsOr, int32Or, optionalFloats, outputOr, overlaps, refuseOverlap } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { asFloat } from "../../core/float-arrays";
import { fillingNew } from "../../core/kept-memory";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needNumber, needWord } from "../../core/option-checks";
import { type MismatchOptions, needPair } from "./pair";

takesDeviceArrays("boundMismatch");

export interface BoundMismatchOptions extends MismatchOptions {
  /** A token outside of [low, high] weighs the bound (`"clamp"`) or nothing (`"zero"`). Default `"clamp"`. */
  readonly outside?: OutsideRule;
  /** Multiplies the weights of a row, one per row; a row with exactly 0 is not kept. Default 1. */
  readonly rowFactors?: FloatArray;
  /** The weight under the mask. Default 0. */
  readonly maskedWeight?: number;
  /** Reuse memory instead of allocating. `kept` may be `mask` itself; no other overlap. */
  readonly out?: { readonly weights?: FloatArray; readonly kept?: Uint8Array };
}

export interface BoundMismatchResult {
  /** One per token, float64 if an input is, else float32; `maskedWeight` under the mask. */
  readonly weights: FloatArray;
  /** 1 where the mask is, the statistic lies in [low, high] and the row's factor is not 0. */
  readonly kept: Uint8Array;
  /** How many are kept, one per row. */
  readonly keptCounts: Int32Array;
}

const filledCounts = fillingNew((rows) => ({ keptCounts: int32Or("", "", undefined, rows, null) }));

/** The same on a device, where the first array lies. */
export function boundMismatch(
  logProbs: DeviceFloatArray,
  oldLogProbs: AnyFloatArray,
  options: Anywhere<BoundMismatchOptions>,
): OnDevice<BoundMismatchResult>;
/**
 * A bounded statistic of two policies' log-probs as weights of tokens, and the mask of the tokens within the bounds.
 *
 *     weights[t] = rowFactors[b] · min(max(x[t], low), high)                  "clamp"
 *     weights[t] = rowFactors[b] · x[t] where low <= x[t] <= high, else 0     "zero"
 *
 * A statistic of NaN is not kept and weighs NaN. A factor of exactly 0 gives 0, even for an infinite statistic.
 *
 * @param logProbs log-probs under one policy, nats; [n] as `shape` or `offsets` say
 * @param oldLogProbs log-probs under the other, same shape
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 */
export function boundMismatch(
  logProbs: FloatArray,
  oldLogProbs: FloatArray,
  options: BoundMismatchOptions,
): BoundMismatchResult;
export function boundMismatch(
  logProbs: AnyFloatArray,
  oldLogProbs: AnyFloatArray,
  anywhere: BoundMismatchOptions | Anywhere<BoundMismatchOptions>,
): BoundMismatchResult | OnDevice<BoundMismatchResult> {
  const options = anywhere as BoundMismatchOptions;
  const op = "boundMismatch";
  const stream = streamOf(op, options, logProbs, oldLogProbs, options.mask, options.rowFactors);
  const { rows, dtype, common } = needPair(op, logProbs, oldLogProbs, options);
  const outside = needWord(op, "outside", options.outside ?? "clamp", OUTSIDE_RULES);
  const rowFactors = optionalFloats(op, "rowFactors", options.rowFactors, rows.B, "one per row");
  const maskedWeight = needNumber(op, "maskedWeight", options.maskedWeight ?? 0, { infinite: true });
  const weights = outputOr(op, "weights", options.out?.weights, dtype, rows.n, stream);
  const kept = flagsOr(op, "kept", options.out?.kept, rows.n, stream);
  const { mask, offsets } = common;
  const { logProbs: ours, oldLogProbs: theirs } = common;
  const same = mask && options.out?.kept && overlaps(kept, mask) && kept.byteOffset === mask.byteOffset;
  const others = { logProbs: ours, oldLogProbs: theirs, offsets, rowFactors, mask: same ? null : mask };
  refuseOverlap(op, options.out, { weights, kept }, others);
  const { ops } = selectBackend(op, options.backend, stream);
  const factors = rowFactors && (asFloat(rowFactors, "float64") as Float64Array);
  const fill = ({ keptCounts }: Pick<BoundMismatchResult, "keptCounts">): void =>
    ops.correctionBound({ outside, maskedWeight, rowFactors: factors, weights, kept, keptCounts, ...common });
  if (!stream) return { weights, kept, ...filledCounts(rows.B, fill) };
  const counts = { keptCounts: int32Or(op, "", undefined, rows.B, stream) };
  fill(counts);
  return { weights, kept, ...counts };
}

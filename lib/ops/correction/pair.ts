// What the correction ops have in common: log-probs of the same tokens under two policies, and a statistic of both.
import { MISMATCH_STATISTICS, type MismatchStatistic } from "../../backend/contract/correction";
import type { BackendOption } from "../../backend/select";
import { needFloats, optionalMask } from "../../core/arrays";
import { DTYPE_CODE, type DTypeCode, type FloatArray, type FloatDType } from "../../core/dtype";
import { asFloat, widestFloat } from "../../core/float-arrays";
import { needBounds, needNumber, needWord } from "../../core/option-checks";
import { needRows, type RowLayout, type Rows } from "../../core/row-layout";

/** Options that the correction ops share. */
export interface MismatchOptions extends RowLayout, BackendOption {
  /**
   * What is formed of d = logProbs − oldLogProbs, clamped to ±logClamp:
   * `"k1"` −d, `"k2"` d²/2, `"k3"` exp(d) − 1 − d, `"ratio"` exp(d);
   * or of the probabilities p = exp(logProbs) and q = exp(oldLogProbs): `"distance"` |p − q|, `"current"` p, `"old"` q, `"total"` p + q.
   */
  readonly statistic: MismatchStatistic;
  /** Largest |d| that enters, > 0, nats. Default: no limit. Not used by the statistics of probabilities. */
  readonly logClamp?: number;
  /** Lower bound of the statistic, in its own unit. Default −∞. */
  readonly low?: number;
  /** Upper bound, >= `low`. Default ∞. */
  readonly high?: number;
  /** 1 = counts, 0 = is not read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** Checked inputs. `common` is what the backend's argument structs share. */
export interface Pair {
  readonly rows: Rows;
  readonly dtype: FloatDType;
  readonly common: {
    readonly dtype: DTypeCode;
    readonly logProbs: FloatArray;
    readonly oldLogProbs: FloatArray;
    readonly mask: Uint8Array | null;
    readonly offsets: Int32Array | null;
    readonly n: number;
    readonly B: number;
    readonly T: number;
    readonly statistic: number;
    readonly logClamp: number;
    readonly low: number;
    readonly high: number;
  };
}

export function needPair(op: string, logProbs: unknown, oldLogProbs: unknown, options: MismatchOptions): Pair {
  const rows = needRows(op, options);
  const { n, B, T, offsets, meaning } = rows;
  const ours = needFloats(op, "logProbs", logProbs, n, meaning);
  const theirs = needFloats(op, "oldLogProbs", oldLogProbs, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const statistic = needWord(op, "statistic", options.statistic, MISMATCH_STATISTICS);
  const logClamp = needNumber(op, "logClamp", options.logClamp ?? Infinity, { min: 0, above: true, infinite: true });
  const { low, high } = needBounds(op, options);
  const dtype = widestFloat(ours, theirs);
  const code = DTYPE_CODE[dtype];
  const both = { logProbs: asFloat(ours, dtype), oldLogProbs: asFloat(theirs, dtype) };
  return { rows, dtype, common: { dtype: code, ...both, mask, offsets, n, B, T, statistic, logClamp, low, high } };
}

// Moments of a statistic of two policies' log-probs, row by row.
import { MOMENT_COUNT } from "../../backend/contract/reduce";
import { selectBackend } from "../../backend/select";
import type { FloatArray } from "../../core/dtype";
import { Moments } from "../reduce/moments";
import { type MismatchOptions, needPair } from "./pair";

/** One unit or entry per row. */
export interface MismatchMeasures {
  /** Of the statistic over the row's kept tokens; `mergeMoments` makes batch figures of them. */
  readonly moments: Moments;
  /** Of the statistic moved into [low, high]. */
  readonly bounded: Moments;
  /** Σ (current − old) over the kept tokens, not clamped. */
  readonly differences: Float64Array;
  /** Tokens with the statistic above `high`; a NaN counts here. */
  readonly above: Int32Array;
  /** Tokens with the statistic below `low`. */
  readonly below: Int32Array;
}

/**
 * How far two policies' log-probs of the same tokens are apart: moments of a statistic of both, of the bounded statistic, and
 * how many tokens lie outside of the bounds, in one pass and per row. A row's figures depend on nothing but its kept tokens.
 *
 * @param current log-probs under one policy, nats; [n] as `shape` or `offsets` say
 * @param old log-probs under the other, same shape
 * @returns figures per row, in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 */
export function measureMismatch(current: FloatArray, old: FloatArray, options: MismatchOptions): MismatchMeasures {
  return measurePair("measureMismatch", current, old, options);
}

/** As measureMismatch, in the name of the public function `op`. */
export function measurePair(op: string, current: FloatArray, old: FloatArray, options: MismatchOptions): MismatchMeasures {
  const { rows, common } = needPair(op, current, old, options);
  const moments = new Float64Array(rows.B * MOMENT_COUNT);
  const bounded = new Float64Array(rows.B * MOMENT_COUNT);
  const differences = new Float64Array(rows.B);
  const above = new Int32Array(rows.B);
  const below = new Int32Array(rows.B);
  selectBackend(op, options.backend).ops.correctionMeasure({ moments, bounded, differences, above, below, ...common });
  return { moments: new Moments(moments), bounded: new Moments(bounded), differences, above, below };
}

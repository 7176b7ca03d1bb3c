// Tokens at or above a quantile.
import { selectBackend } from "../../backend/select";
import { needFloat64, refuseOverlap } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { needNumber } from "../../core/options";
import { needFlags, needUnits, type SelectOptions } from "./units";

export interface QuantileMaskOptions extends SelectOptions {
  /** The quantile, in [0, 1]: 0.8 selects the fifth with the largest values. */
  readonly q: number;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly selected?: Uint8Array; readonly thresholds?: Float64Array };
}

export interface QuantileMaskResult {
  /** 1 = kept and at or above the threshold; one per token. */
  readonly selected: Uint8Array;
  /** One per row, or one for all. NaN where there was nothing to rank, or a NaN among it; nothing is selected then. */
  readonly thresholds: Float64Array;
}

/**
 * Marks the values at or above a quantile of their row or of the batch.
 *
 *     rank = q·(count − 1),  i = ⌊rank⌋,  threshold = x(i) + (rank − i)·(x(i+1) − x(i))     over the sorted kept values
 *     selected[t] = kept[t] and values[t] >= threshold
 *
 * The threshold is computed in float64, with the same bits on every backend.
 *
 * @param values per token, [n] as `shape` or `offsets` say; without both, one row
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Hyndman and Fan 1996, Sample Quantiles in Statistical Packages, definition 7
 */
export function quantileMask(values: FloatArray, options: QuantileMaskOptions): QuantileMaskResult {
  const op = "quantileMask";
  const { units, args } = needUnits(op, values, options);
  const q = needNumber(op, "q", options.q, { min: 0, max: 1 });
  const given = options.out?.thresholds;
  const thresholds =
    given === undefined ? new Float64Array(units) : needFloat64(op, "out.thresholds", given, units, "one per row, or one for all");
  const selected = needFlags(op, options.out?.selected, args.n);
  refuseOverlap(op, { selected, thresholds }, { values, mask: args.mask, offsets: args.offsets });
  selectBackend(op, options.backend).ops.selectQuantile({ q, threshold: thresholds, selected, ...args });
  return { selected, thresholds };
}

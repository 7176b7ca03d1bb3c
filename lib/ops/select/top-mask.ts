// The k largest tokens.
import { selectBackend } from "../../backend/select";
import { needInt32, refuseOverlap } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { needFlags, needTop, needUnits, type SelectOptions, type TopOptions } from "./units";

export interface TopMaskOptions extends SelectOptions, TopOptions {
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly selected?: Uint8Array; readonly counts?: Int32Array };
}

export interface TopMaskResult {
  /** 1 = among the largest; one per token. */
  readonly selected: Uint8Array;
  /** How many are selected; one per row, or one for all. */
  readonly counts: Int32Array;
}

/**
 * Marks the largest values of each row or of the batch.
 *
 *     k = max(least, ⌊share·count⌋), or `k` as given; at most count, the number of kept values
 *     selected: the k largest kept values; among equal ones those with the smaller index. NaN ranks below −∞
 *
 * Exact: the same flags on every backend. The product share·count is rounded once in float64, so that 0.29 of 100 are 28.
 *
 * @param values per token, [n] as `shape` or `offsets` say; without both, one row
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 */
export function topMask(values: FloatArray, options: TopMaskOptions): TopMaskResult {
  const op = "topMask";
  const { units, args } = needUnits(op, values, options);
  const top = needTop(op, options);
  const given = options.out?.counts;
  const counts =
    given === undefined ? new Int32Array(units) : needInt32(op, "out.counts", given, units, "one per row, or one for all");
  const selected = needFlags(op, options.out?.selected, args.n);
  refuseOverlap(op, { selected, counts }, { values, mask: args.mask, offsets: args.offsets });
  selectBackend(op, options.backend).ops.selectTop({ selected, count: counts, ...args, ...top });
  return { selected, counts };
}

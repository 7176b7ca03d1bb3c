// The k largest tokens.
import { selectBackend } from "../../backend/select";
import { needInt32, refuseOverlap } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { argumentError } from "../../core/errors";
import { needNumber } from "../../core/options";
import { needFlags, needUnits, type SelectOptions } from "./units";

export interface TopMaskOptions extends SelectOptions {
  /** How many: this share of the kept values, in [0, 1], rounded down. Give this or `k`. */
  readonly share?: number;
  /** How many, an integer >= 0. */
  readonly k?: number;
  /** At least so many where `share` gives fewer and there are as many. Default 0. */
  readonly least?: number;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly selected?: Uint8Array; readonly counts?: Int32Array };
}

export interface TopMaskResult {
  /** 1 = among the largest; one per token. */
  readonly selected: Uint8Array;
  /** How many are selected; one per row, or one for all. */
  readonly counts: Int32Array;
}

const COUNT = { min: 0, max: Number.MAX_SAFE_INTEGER, integer: true };

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
  if ((options.share === undefined) === (options.k === undefined))
    throw argumentError("ERR_SURPRISAL_OPTION", op, "share", options.share, "either share or k, not both");
  const share = options.share === undefined ? NaN : needNumber(op, "share", options.share, { min: 0, max: 1 });
  const k = needNumber(op, "k", options.k ?? 0, COUNT);
  const least = needNumber(op, "least", options.least ?? 0, COUNT);
  const given = options.out?.counts;
  const counts =
    given === undefined ? new Int32Array(units) : needInt32(op, "out.counts", given, units, "one per row, or one for all");
  const selected = needFlags(op, options.out?.selected, args.n);
  refuseOverlap(op, { selected, counts }, { values, mask: args.mask, offsets: args.offsets });
  selectBackend(op, options.backend).ops.selectTop({ ...args, share, k, least, selected, count: counts });
  return { selected, counts };
}

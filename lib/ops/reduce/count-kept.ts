// How many tokens of each row the mask keeps.
import { type BackendOption, selectBackend } from "../../backend/select";
import { optionalMask } from "../../core/arrays";
import { needRows, type RowLayout, type Rows } from "../../core/rows";

export interface CountKeptOptions extends RowLayout, BackendOption {
  /** 1 = counted. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** Kept tokens of checked rows, for the public function `op`. */
export function keptPerRow(op: string, rows: Rows, mask: Uint8Array | null, options: BackendOption): Float64Array {
  const { n, B, T, offsets } = rows;
  const counts = new Float64Array(B);
  selectBackend(op, options.backend).ops.reduceCounts({ mask, offsets, n, B, T, counts });
  return counts;
}

/**
 * Counts the kept tokens of each row: Σ_t mask[t]; the length of the row without a mask. Exact.
 *
 * @param options the rows, by `shape` or `offsets`, and their `mask`
 * @returns tokens, one number a row, in float64: for weights and divisors
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function countKept(options: CountKeptOptions): Float64Array {
  const op = "countKept";
  const rows = needRows(op, options);
  return keptPerRow(op, rows, optionalMask(op, "mask", options.mask, rows.n, rows.meaning), options);
}

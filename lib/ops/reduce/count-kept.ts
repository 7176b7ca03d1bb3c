// How many tokens of each row the mask keeps.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { float64Or, optionalMask } from "../../core/arrays";
import type { DeviceArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { Anywhere } from "../../core/on-device";
import { needRows, type RowLayout, type Rows } from "../../core/row-layout";

takesDeviceArrays("countKept");

export interface CountKeptOptions extends RowLayout, BackendOption {
  /** 1 = counted. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** Kept tokens of checked rows, for the public function `op`. */
export function keptPerRow(op: string, rows: Rows, mask: Uint8Array | null, options: BackendOption): Float64Array {
  const { n, B, T, offsets } = rows;
  const stream = streamOf(op, options, mask);
  const counts = float64Or(op, "", undefined, B, stream);
  selectBackend(op, options.backend, stream).ops.reduceCounts({ mask, offsets, n, B, T, counts });
  return counts;
}

/**
 * Counts the kept tokens of each row: Σ_t mask[t]; the length of the row without a mask. Exact.
 *
 * @param options the rows, by `shape` or `offsets`, and their `mask`
 * @returns tokens, one number a row, in float64: for weights and divisors
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function countKept(options: CountKeptOptions): Float64Array;
/** The same on a device, where the mask lies. */
export function countKept(options: Anywhere<CountKeptOptions>): DeviceArray<"float64">;
export function countKept(
  anywhere: CountKeptOptions | Anywhere<CountKeptOptions>,
): Float64Array | DeviceArray<"float64"> {
  const options = anywhere as CountKeptOptions;
  const op = "countKept";
  const rows = needRows(op, options);
  return keptPerRow(op, rows, optionalMask(op, "mask", options.mask, rows.n, rows.meaning), options);
}

// One value per row, spread over the row's tokens.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloats, optionalFloats, optionalMask, outputOr, refuseOverlap } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { allocateFloat, asFloat, floatDType, widestFloat } from "../../core/float-arrays";
import type { AnyFloatArray, Anywhere } from "../../core/on-device";
import { type MaskedRows, needRows, type RowLayout } from "../../core/row-layout";

takesDeviceArrays("groupBroadcast");

export interface GroupBroadcastOptions extends RowLayout, BackendOption {
  /** 1 = the token gets its row's value, 0 = it gets 0. Default: all 1. */
  readonly mask?: Uint8Array;
  /** One more factor per row, such as a weight. Default: 1. */
  readonly rowFactors?: FloatArray;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly tokens?: FloatArray };
}

/** As groupBroadcast, in the name of the public function `op` and its argument `name`. */
export function broadcastRows(op: string, name: string, row: unknown, options: GroupBroadcastOptions): FloatArray {
  const stream = streamOf(op, options, row, options.rowFactors, options.mask);
  const { n, B, T, offsets, meaning } = needRows(op, options);
  const values = needFloats(op, name, row, B, "one per row");
  const rowFactors = optionalFloats(op, "rowFactors", options.rowFactors, B, "one per row");
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const dtype = widestFloat(values, rowFactors);
  const tokens = outputOr(op, "tokens", options.out?.tokens, dtype, n, stream);
  refuseOverlap(op, options.out, { tokens }, { [name]: values, rowFactors, mask, offsets });
  selectBackend(op, options.backend, stream).ops.groupBroadcast({
    dtype: DTYPE_CODE[dtype],
    row: asFloat(values, dtype),
    rowFactors: rowFactors && asFloat(rowFactors, dtype),
    mask,
    offsets,
    n,
    B,
    T,
    tokens,
  });
  return tokens;
}

/** Of checked arrays: `row` at each kept token, in its own type. */
export function spreadRows<Row extends FloatArray>(
  op: string,
  row: Row,
  { rows: { n, B, T, offsets }, mask }: MaskedRows,
  backend: BackendOption["backend"],
): Row {
  const dtype = floatDType(row);
  const tokens = allocateFloat(dtype, n);
  const { ops } = selectBackend(op, backend);
  ops.groupBroadcast({ dtype: DTYPE_CODE[dtype], row, rowFactors: null, mask, offsets, n, B, T, tokens });
  return tokens as Row;
}

/** The same on a device, where the first array lies. */
export function groupBroadcast(row: DeviceFloatArray, options: Anywhere<GroupBroadcastOptions>): DeviceFloatArray;
/**
 * Spreads a value per row over the row's kept tokens: tokens[t] = row[b]·rowFactors[b], 0 under the mask.
 *
 * @param row one value per row (an advantage)
 * @param options `shape` or `offsets` of the tokens
 * @returns one value per token, float64 if an input is, else float32
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function groupBroadcast(row: FloatArray, options: GroupBroadcastOptions): FloatArray;
export function groupBroadcast(
  row: AnyFloatArray,
  anywhere: GroupBroadcastOptions | Anywhere<GroupBroadcastOptions>,
): AnyFloatArray {
  const options = anywhere as GroupBroadcastOptions;
  return broadcastRows("groupBroadcast", "row", row, options);
}

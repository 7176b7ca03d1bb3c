// The k largest tokens.
import { type AsyncOption, runWhole } from "../../backend/run-async";
import type { OpArgs } from "../../backend/backend";
import { selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { int32Or, refuseOverlap } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { holdBack } from "../../core/held-back";
import { namedNumber } from "../../core/not-finite";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needFlags, needTop, needUnits, type SelectOptions, type TopOptions } from "./ranked-units";

takesDeviceArrays("topMask");

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

function topCall(op: string, values: FloatArray, options: TopMaskOptions, inTurn: boolean) {
  const stream = streamOf(op, options, values, options.mask);
  const { units, args } = needUnits(op, values, options);
  const top = needTop(op, options);
  const counts = int32Or(op, "counts", options.out?.counts, units, stream);
  const selected = needFlags(op, options.out?.selected, args.n, stream);
  const { mask, offsets } = args;
  refuseOverlap(op, options.out, { selected, counts }, { values, mask, offsets });
  const arrays = { values, mask, offsets, selected, counts };
  const held = holdBack({ selected, counts, ...top, ...args }, options.out ?? {}, inTurn);
  return { stream, args: held.args, release: held.release, arrays, result: { selected, counts } };
}

function namedNan(op: string, error: unknown, { values, mask }: OpArgs<"selectTop">): unknown {
  const kept = (i: number): boolean => !mask || mask[i] !== 0;
  return namedNumber(op, error, "a number", [{ name: "values", values, kept }], "NaN has no rank: mask it");
}

/** The same on a device, where the first array lies. A kept NaN is reported at the next read. */
export function topMask(values: DeviceFloatArray, options: Anywhere<TopMaskOptions>): OnDevice<TopMaskResult>;
/**
 * Marks the largest values of each row or of the batch.
 *
 *     k = max(least, ⌊share·count⌋), or `k` as given; at most count, the number of kept values
 *     selected: the k largest kept values; among equal ones those with the smaller index. ±∞ rank as numbers
 *
 * Exact: the same flags on every backend. The product share·count is rounded once in float64, so that 0.29 of 100 are 28.
 *
 * @param values per token, [n] as `shape` or `offsets` say; without both, one row
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument; _VALUE for a
 *   kept NaN, which has no rank, where k > 0
 */
export function topMask(values: FloatArray, options: TopMaskOptions): TopMaskResult;
export function topMask(
  given: AnyFloatArray,
  anywhere: TopMaskOptions | Anywhere<TopMaskOptions>,
): TopMaskResult | OnDevice<TopMaskResult> {
  const options = anywhere as TopMaskOptions;
  const { stream, args, release, result } = topCall("topMask", given as FloatArray, options, true);
  try {
    selectBackend("topMask", options.backend, stream).ops.selectTop(args);
  } catch (error) {
    throw namedNan("topMask", error, args);
  }
  release();
  return result;
}

/** `topMask` off the event loop, as `quantileMaskAsync`. */
export async function topMaskAsync(values: FloatArray, options: TopMaskOptions & AsyncOption): Promise<TopMaskResult> {
  const { args, release, arrays, result } = topCall("topMaskAsync", values, options, false);
  await runWhole("topMaskAsync", "selectTop", args, arrays, options).catch((error: unknown) => {
    throw namedNan("topMaskAsync", error, args);
  });
  release();
  return result;
}

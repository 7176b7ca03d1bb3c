// Tokens at or above a quantile.
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { float64Or, refuseOverlap } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needNumber } from "../../core/option-checks";
import { needFlags, needUnits, type SelectOptions } from "./ranked-units";

takesDeviceArrays("quantileMask");

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

function quantileCall(op: string, values: FloatArray, options: QuantileMaskOptions) {
  const stream = streamOf(op, options, values, options.mask);
  const { units, args } = needUnits(op, values, options);
  const q = needNumber(op, "q", options.q, { min: 0, max: 1 });
  const thresholds = float64Or(op, "thresholds", options.out?.thresholds, units, stream);
  const selected = needFlags(op, options.out?.selected, args.n, stream);
  const { mask, offsets } = args;
  refuseOverlap(op, options.out, { selected, thresholds }, { values, mask, offsets });
  return {
    stream,
    args: { q, thresholds, selected, ...args },
    arrays: { values, mask, offsets, selected, thresholds },
    result: { selected, thresholds },
  };
}

/** The same on a device, where the first array lies. */
export function quantileMask(
  values: DeviceFloatArray,
  options: Anywhere<QuantileMaskOptions>,
): OnDevice<QuantileMaskResult>;
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
export function quantileMask(values: FloatArray, options: QuantileMaskOptions): QuantileMaskResult;
export function quantileMask(
  given: AnyFloatArray,
  anywhere: QuantileMaskOptions | Anywhere<QuantileMaskOptions>,
): QuantileMaskResult | OnDevice<QuantileMaskResult> {
  const options = anywhere as QuantileMaskOptions;
  const { stream, args, result } = quantileCall("quantileMask", given as FloatArray, options);
  selectBackend("quantileMask", options.backend, stream).ops.selectQuantile(args);
  return result;
}

/** `quantileMask` off the event loop. The arrays must not be touched until it resolves. */
export async function quantileMaskAsync(
  values: FloatArray,
  options: QuantileMaskOptions & AsyncOption,
): Promise<QuantileMaskResult> {
  const { args, arrays, result } = quantileCall("quantileMaskAsync", values, options);
  await runWhole("quantileMaskAsync", "selectQuantile", args, arrays, options);
  return result;
}

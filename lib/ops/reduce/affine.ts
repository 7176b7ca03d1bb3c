// A shift and a factor per row.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloats, optionalMask, refuseOverlap } from "../../core/arrays";
import { DeviceArray, type DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { asFloat } from "../../core/float-arrays";
import type { AnyFloatArray, Anywhere } from "../../core/on-device";
import { needFlag, needNumber } from "../../core/option-checks";
import { needRows, type RowLayout, type Rows } from "../../core/row-layout";
import { type Reduction, reductionArgs } from "./moments";
import { mappedOutput } from "./whiten";

takesDeviceArrays("affine");

export interface AffineOptions extends RowLayout, BackendOption {
  /** 1 = mapped, 0 = result 0 without being read. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Subtracted: one per row, or one number for all. Default 0. */
  readonly center?: FloatArray | number;
  /** Multiplied afterwards: one per row, or one number for all. Default 1. */
  readonly scale?: FloatArray | number;
  /** Divides in the end, exactly rounded, which a factor 1 / divisor is not. > 0; NaN makes NaN. Default 1. */
  readonly divisor?: number;
  /** Masked positions get the same map instead of 0. Default false. */
  readonly transformMasked?: boolean;
  /** Reuse memory instead of allocating. May be `values` itself; no other overlap. */
  readonly out?: { readonly mapped?: FloatArray };
}

function perRow(
  op: string,
  name: string,
  given: FloatArray | number | undefined,
  { B }: Rows,
  mapped: FloatArray,
): Float64Array | null {
  if (given === undefined) return null;
  if (typeof given === "number") return new Float64Array(B).fill(needNumber(op, name, given));
  const floats = needFloats(op, name, given, B, "one per row");
  if (DeviceArray.is(floats)) {
    refuseOverlap(op, mapped, { mapped }, { [name]: floats });
    return asFloat(floats, "float64") as Float64Array;
  }
  // A copy in any case: a row's number may then lie anywhere, also in the memory of the output.
  return Float64Array.from(floats);
}

function needDivisor(op: string, divisor: number): number {
  return Number.isNaN(divisor) ? divisor : needNumber(op, "divisor", divisor, { min: 0, above: true, infinite: true });
}

/** The same on a device, where the first array lies. */
export function affine(values: DeviceFloatArray, options: Anywhere<AffineOptions>): DeviceFloatArray;
/**
 * Shifts and scales each row: mapped[t] = (values[t] − center[b])·scale[b] / divisor at kept tokens, 0 under the mask.
 *
 * @param values numbers; [n] as `shape` or `offsets` say
 * @returns numbers in the type of `values`; computed in float64, rounded once
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function affine(values: FloatArray, options: AffineOptions): FloatArray;
export function affine(values: AnyFloatArray, anywhere: AffineOptions | Anywhere<AffineOptions>): AnyFloatArray {
  const options = anywhere as AffineOptions;
  return mapAffinely("affine", values as FloatArray, options);
}

/** As affine, in the name of the public function `op`. */
export function mapAffinely(op: string, values: FloatArray, options: AffineOptions): FloatArray {
  const stream = streamOf(op, options, values, options.mask, options.center, options.scale);
  const rows = needRows(op, options);
  const floats = needFloats(op, "values", values, rows.n, rows.meaning);
  const mask = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const reduction: Reduction = { values: floats, mask, rows, over: 0, groups: null, units: rows.B };
  const divisor = needDivisor(op, options.divisor ?? 1);
  const transformMasked = needFlag(op, "transformMasked", options.transformMasked);
  const mapped = mappedOutput(op, "mapped", options.out?.mapped, reduction, stream);
  const center = perRow(op, "center", options.center, rows, mapped);
  const scale = perRow(op, "scale", options.scale, rows, mapped);
  selectBackend(op, options.backend, stream).ops.reduceAffine({
    center,
    scale,
    transformMasked,
    mapped,
    divisor,
    ...reductionArgs(reduction),
  });
  return mapped;
}

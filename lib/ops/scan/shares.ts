// Weights by what is left of a row's sum.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloats, optionalMask, outputOr, refuseOverlap } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { floatDType } from "../../core/float-arrays";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needNumber } from "../../core/option-checks";
import { needRows, type RowLayout } from "../../core/row-layout";

takesDeviceArrays("shareWeights");

export interface ShareWeightsOptions extends RowLayout, BackendOption {
  /** How much more the first number weighs than what comes behind the last, >= 0; 0: all weigh 1. */
  readonly gain: number;
  /** The sum of a row's magnitudes is not taken below this, > 0. Default 1e-8. */
  readonly epsilon?: number;
  /** 1 = a token that counts, 0 = never read, outputs 0. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly weights?: FloatArray; readonly products?: FloatArray };
}

/** Per token; 0 under the mask. */
export interface ShareWeightsResult {
  /** In [1, 1 + gain], falling along the row. */
  readonly weights: FloatArray;
  /** weight · value. */
  readonly products: FloatArray;
}

/** The same on a device, where the first array lies. */
export function shareWeights(
  values: DeviceFloatArray,
  options: Anywhere<ShareWeightsOptions>,
): OnDevice<ShareWeightsResult>;
/**
 * Weights each token by the share of the row's magnitude that is not behind it yet:
 *
 *     weight[t] = 1 + gain·(1 − Σ_{i < t} |x[i]| / max(Σ_i |x[i]|, ε)) over kept tokens,   product[t] = weight[t]·x[t]
 *
 * @param values per token; [n] as `shape` or `offsets` say
 * @returns in the type of `values`; sums in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 */
export function shareWeights(values: FloatArray, options: ShareWeightsOptions): ShareWeightsResult;
export function shareWeights(
  values: AnyFloatArray,
  anywhere: ShareWeightsOptions | Anywhere<ShareWeightsOptions>,
): ShareWeightsResult | OnDevice<ShareWeightsResult> {
  const options = anywhere as ShareWeightsOptions;
  const op = "shareWeights";
  const stream = streamOf(op, options, values, options.mask);
  const { n, B, T, offsets, meaning } = needRows(op, options);
  const given = needFloats(op, "values", values, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const gain = needNumber(op, "gain", options.gain, { min: 0 });
  const epsilon = needNumber(op, "epsilon", options.epsilon ?? 1e-8, { min: 0, above: true });
  const dtype = floatDType(given);
  const output = (name: "weights" | "products"): FloatArray =>
    outputOr(op, name, options.out?.[name], dtype, n, stream);
  const result = { weights: output("weights"), products: output("products") };
  refuseOverlap(op, options.out, result, { values: given, mask, offsets });
  selectBackend(op, options.backend, stream).ops.scanShares({
    dtype: DTYPE_CODE[dtype],
    values: given,
    mask,
    offsets,
    n,
    B,
    T,
    gain,
    epsilon,
    ...result,
  });
  return result;
}

// A weight per row that falls off smoothly on both sides of ratio 1.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloats, optionalFloats, optionalMask } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { allocateFloat, asFloat, widestFloat } from "../../core/float-arrays";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needNumber, needWord } from "../../core/option-checks";
import { needRows, type RowLayout } from "../../core/row-layout";

takesDeviceArrays("gammaWeights");

/** Exponent and rate of the density: w^shape · e^(−rate·w), scaled to 1 at w = 1. Both >= 0. */
export interface GammaShape {
  readonly shape: number;
  readonly rate: number;
}

export interface GammaWeightsOptions extends RowLayout, BackendOption {
  /** 1 = counts, 0 = is not read. Default: all 1. */
  readonly mask?: Uint8Array;
  /** A ratio per token, not a logarithm, that multiplies the row's. Default: 1. */
  readonly factors?: FloatArray;
  /** Which factors multiply: those of `"kept"` tokens, or of `"all"` positions. Default `"kept"`. */
  readonly factorsOver?: "kept" | "all";
  /** Of rows whose sign is >= 0. Default: shape 2, rate 3. */
  readonly positive?: GammaShape;
  /** Of the other rows. Default: shape 3, rate 2. */
  readonly negative?: GammaShape;
  /** Logarithms are clipped to ±this, per token and in sum, nats, >= 0. Default 20. */
  readonly bound?: number;
}

/** One per row. */
export interface GammaWeightsResult {
  /** φ. */
  readonly weights: FloatArray;
  /** ln w after clipping, nats. */
  readonly logWeights: FloatArray;
}

/** The same on a device, where the first array lies. */
export function gammaWeights(
  logRatios: DeviceFloatArray,
  signs: AnyFloatArray,
  options: Anywhere<GammaWeightsOptions>,
): OnDevice<GammaWeightsResult>;
/**
 * Weights of rows by a gamma density in the ratio of their sequence probabilities:
 *
 *     ln w = clip(Σ_t clip(x_t, ±bound) + Σ_t clip(ln factor_t, ln 1e-8, bound), ln 1e-8, bound)   over the kept tokens
 *     φ = exp(rate + shape·ln w − rate·w),   0 where that is not finite, NaN where the sign is
 *
 * 1 for a row whose policies agree, and for one without kept tokens.
 *
 * @param logRatios per token, nats; [n] as `shape` or `offsets` say
 * @param signs one per row: which of the two shapes it has; the advantages, usually
 * @returns in the widest float type of the inputs; sums in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function gammaWeights(
  logRatios: FloatArray,
  signs: FloatArray,
  options: GammaWeightsOptions,
): GammaWeightsResult;
export function gammaWeights(
  logRatios: AnyFloatArray,
  signs: AnyFloatArray,
  anywhere: GammaWeightsOptions | Anywhere<GammaWeightsOptions>,
): GammaWeightsResult | OnDevice<GammaWeightsResult> {
  const options = anywhere as GammaWeightsOptions;
  return weighByGamma("gammaWeights", logRatios as FloatArray, signs as FloatArray, options);
}

/** As gammaWeights, in the name of the public function `op`. */
export function weighByGamma(
  op: string,
  logRatios: FloatArray,
  signs: FloatArray,
  options: GammaWeightsOptions,
): GammaWeightsResult {
  const stream = streamOf(op, options, logRatios, signs, options.factors, options.mask);
  const { n, B, T, offsets, meaning } = needRows(op, options);
  const numbers = needFloats(op, "logRatios", logRatios, n, meaning);
  const sign = needFloats(op, "signs", signs, B, "one per row");
  const factor = optionalFloats(op, "factors", options.factors, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const bound = needNumber(op, "bound", options.bound ?? 20, { min: 0 });
  const of = (name: "positive" | "negative", standard: GammaShape): GammaShape => {
    const given = options[name] ?? standard;
    return {
      shape: needNumber(op, `${name}.shape`, given.shape, { min: 0 }),
      rate: needNumber(op, `${name}.rate`, given.rate, { min: 0 }),
    };
  };
  const positive = of("positive", { shape: 2, rate: 3 });
  const negative = of("negative", { shape: 3, rate: 2 });
  const dtype = widestFloat(numbers, sign, factor);
  const result = { weights: allocateFloat(dtype, B, stream), logWeights: allocateFloat(dtype, B, stream) };
  selectBackend(op, options.backend, stream).ops.reduceGamma({
    dtype: DTYPE_CODE[dtype],
    logRatios: asFloat(numbers, dtype),
    factors: factor && asFloat(factor, dtype),
    mask,
    offsets,
    signs: asFloat(sign, dtype),
    n,
    B,
    T,
    bound,
    shapePositive: positive.shape,
    ratePositive: positive.rate,
    shapeNegative: negative.shape,
    rateNegative: negative.rate,
    ...result,
    allFactors: needWord(op, "factorsOver", options.factorsOver ?? "kept", ["kept", "all"]),
  });
  return result;
}

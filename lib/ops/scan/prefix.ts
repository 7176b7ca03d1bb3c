// Cumulative sums of kept values, and of the squared norms of score vectors.
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloats, optionalFloats, optionalMask, outputOr, refuseOverlap } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { allocateFloat, asFloat, floatDType, widestFloat } from "../../core/float-arrays";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needRows, type RowLayout } from "../../core/row-layout";

takesDeviceArrays("prefixSums", "scoreNorms");

export interface PrefixSumsOptions extends RowLayout, BackendOption {
  /** 1 = a token that counts, 0 = never read, output 0. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Leave the token itself out of its sum. Default false. */
  readonly exclusive?: boolean;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly sums?: FloatArray };
}

/** The same on a device, where the first array lies. */
export function prefixSums(values: DeviceFloatArray, options: Anywhere<PrefixSumsOptions>): DeviceFloatArray;
/**
 * Cumulative sums along each row: sum[t] = Σ x[i] over kept i ≤ t (i < t with `exclusive`), 0 under the mask.
 *
 * @param values per token; [n] as `shape` or `offsets` say
 * @returns same shape, in the type of `values`; summed in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 */
export function prefixSums(values: FloatArray, options: PrefixSumsOptions): FloatArray;
export function prefixSums(
  values: AnyFloatArray,
  anywhere: PrefixSumsOptions | Anywhere<PrefixSumsOptions>,
): AnyFloatArray {
  const options = anywhere as PrefixSumsOptions;
  const op = "prefixSums";
  const stream = streamOf(op, options, values, options.mask);
  const { n, B, T, offsets, meaning } = needRows(op, options);
  const given = needFloats(op, "values", values, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const dtype = floatDType(given);
  const sums = outputOr(op, "sums", options.out?.sums, dtype, n, stream);
  refuseOverlap(op, options.out, { sums }, { values: given, mask, offsets });
  selectBackend(op, options.backend, stream).ops.scanPrefix({
    dtype: DTYPE_CODE[dtype],
    values: given,
    logProbs: null,
    sumSquares: null,
    weights: null,
    mask,
    offsets,
    n,
    B,
    T,
    exclusive: options.exclusive ? 1 : 0,
    terms: null,
    sums,
  });
  return sums;
}

export interface ScoreNormsOptions extends RowLayout, BackendOption {
  /** An importance weight per token; its square multiplies the norm. Default: 1. */
  readonly weights?: FloatArray;
  /** 1 = a token that counts, 0 = never read, output 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface ScoreNormsResult {
  /** ‖∂ log p / ∂ logits‖² of each kept token. */
  readonly norms: FloatArray;
  /** Their sum from the start of the row to the token, itself included. */
  readonly pathNorms: FloatArray;
}

/** The same on a device, where the first array lies. */
export function scoreNorms(
  logProbs: DeviceFloatArray,
  sumSquares: AnyFloatArray,
  options: Anywhere<ScoreNormsOptions>,
): OnDevice<ScoreNormsResult>;
/**
 * Squared norm of the gradient of a token's log-prob with respect to its logits, and its cumulative sum along the row:
 *
 *     norm[t] = (1 − 2·exp(logp[t]) + Σ_v p_v[t]²)·weight[t]²,   pathNorm[t] = Σ_{kept i ≤ t} norm[i]
 *
 * @param logProbs of the tokens, nats; [n] as `shape` or `offsets` say
 * @param sumSquares Σ p² over the vocabulary at each token (`logprob` returns it), same shape
 * @returns in the widest float type of the inputs
 * @throws SurprisalError as `prefixSums`
 */
export function scoreNorms(logProbs: FloatArray, sumSquares: FloatArray, options: ScoreNormsOptions): ScoreNormsResult;
export function scoreNorms(
  logProbs: AnyFloatArray,
  sumSquares: AnyFloatArray,
  anywhere: ScoreNormsOptions | Anywhere<ScoreNormsOptions>,
): ScoreNormsResult | OnDevice<ScoreNormsResult> {
  const options = anywhere as ScoreNormsOptions;
  const op = "scoreNorms";
  const stream = streamOf(op, options, logProbs, sumSquares, options.weights, options.mask);
  const { n, B, T, offsets, meaning } = needRows(op, options);
  const logProb = needFloats(op, "logProbs", logProbs, n, meaning);
  const squares = needFloats(op, "sumSquares", sumSquares, n, meaning);
  const weight = optionalFloats(op, "weights", options.weights, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const dtype = widestFloat(logProb, squares, weight);
  const result = { norms: allocateFloat(dtype, n, stream), pathNorms: allocateFloat(dtype, n, stream) };
  selectBackend(op, options.backend, stream).ops.scanPrefix({
    dtype: DTYPE_CODE[dtype],
    values: null,
    logProbs: asFloat(logProb, dtype),
    sumSquares: asFloat(squares, dtype),
    weights: weight && asFloat(weight, dtype),
    mask,
    offsets,
    n,
    B,
    T,
    exclusive: 0,
    terms: result.norms,
    sums: result.pathNorms,
  });
  return result;
}

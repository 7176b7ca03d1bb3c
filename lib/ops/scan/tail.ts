// Discounted sums of what follows, powers counted from the start of the row.
import { MASK_MODES } from "../../backend/contract/scan";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloats, optionalMask, outputOr, refuseOverlap } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { floatDType } from "../../core/float-arrays";
import type { AnyFloatArray, Anywhere } from "../../core/on-device";
import { needNumber, needWord } from "../../core/option-checks";
import { needRows, type RowLayout } from "../../core/row-layout";

takesDeviceArrays("tailSums");

export interface TailSumsOptions extends RowLayout, BackendOption {
  /** Discount of one step, in [0, 1]. */
  readonly gamma: number;
  /** 1 = a token that counts, 0 = never read. Default: all 1. */
  readonly mask?: Uint8Array;
  /**
   * What a masked token is: `"skip"`, no step (output 0), or `"steps"`, a step with value 0 that raises the power (output as
   * computed). Default `"skip"`.
   */
  readonly maskMode?: "skip" | "steps";
  /** Divide by the sum of the powers: a discounted mean of what follows. Default false. */
  readonly normalize?: boolean;
  /** Under `normalize` and `"steps"`: what a masked token counts in the divisor, >= 0; 0 where nothing counts gives 0. Default 0. */
  readonly maskedWeight?: number;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly tails?: FloatArray };
}

/** The same on a device, where the first array lies. */
export function tailSums(values: DeviceFloatArray, options: Anywhere<TailSumsOptions>): DeviceFloatArray;
/**
 * Discounted sums of what follows, with powers that count from the start of the row, not from the token:
 *
 *     tail[t] = Σ_{i ≥ t} γ^p(i)·x[i],   p(i) = steps before i
 *     normalize: tail[t] = Σ_{i ≥ t} γ^p(i)·x[i] / Σ_{i ≥ t} γ^p(i)·m(i),   m = 1 for kept tokens, maskedWeight for others
 *
 * `discountedReturns` has powers that count from the token. Sums in float64; the common power of the quotient cancels
 * before it can underflow.
 *
 * @param values per token; [n] as `shape` or `offsets` say
 * @returns same shape, in the type of `values`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 */
export function tailSums(values: FloatArray, options: TailSumsOptions): FloatArray;
export function tailSums(values: AnyFloatArray, anywhere: TailSumsOptions | Anywhere<TailSumsOptions>): AnyFloatArray {
  const options = anywhere as TailSumsOptions;
  const op = "tailSums";
  const stream = streamOf(op, options, values, options.mask);
  const { n, B, T, offsets, meaning } = needRows(op, options);
  const given = needFloats(op, "values", values, n, meaning);
  const gamma = needNumber(op, "gamma", options.gamma, { min: 0, max: 1 });
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const maskMode = needWord(op, "maskMode", options.maskMode ?? "skip", MASK_MODES.slice(0, 2) as ["skip", "steps"]);
  const maskedWeight = needNumber(op, "maskedWeight", options.maskedWeight ?? 0, { min: 0 });
  const dtype = floatDType(given);
  const tails = outputOr(op, "tails", options.out?.tails, dtype, n, stream);
  refuseOverlap(op, options.out, { tails }, { values: given, mask, offsets });
  selectBackend(op, options.backend, stream).ops.scanTail({
    dtype: DTYPE_CODE[dtype],
    values: given,
    mask,
    offsets,
    n,
    B,
    T,
    gamma,
    maskMode,
    normalize: options.normalize ? 1 : 0,
    maskedWeight,
    tails,
  });
  return tails;
}

// Generalized advantage estimation and discounted returns.
import type { ScanGaeArgs, ScanReturnsArgs } from "../../backend/contract/scan";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { selectBackend } from "../../backend/select";
import { outputOr, refuseOverlap } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { asFloat } from "../../core/float-arrays";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needNumber } from "../../core/option-checks";
import type { Per } from "../../core/per-row";
import type { Stream } from "../../core/stream";
import { commonArgs, prepare, type ScanArrays, type ScanOptions } from "./reverse-scan";

takesDeviceArrays("gae", "discountedReturns");

export interface GaeOptions extends ScanOptions {
  /** Bias/variance knob, in [0, 1]: 1 is Monte-Carlo, 0 is one-step TD. A number, or one per row or token. */
  readonly lambda: number | FloatArray;
  /** What a lambda of an array belongs to. Default: by the length. */
  readonly lambdaPer?: Per;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly advantages?: FloatArray; readonly returns?: FloatArray };
}

export interface GaeResult {
  readonly advantages: FloatArray;
  readonly returns: FloatArray;
}

export interface DiscountedReturnsOptions extends ScanOptions {
  readonly out?: { readonly returns?: FloatArray };
}

/** A checked call: what a backend needs, what it was checked with, and what the function returns. */
interface Call<Args, Result> {
  readonly args: Args;
  readonly arrays: ScanArrays;
  readonly result: Result;
  readonly stream: Stream | null;
}

function gaeCall(
  op: string,
  rewards: AnyFloatArray,
  values: AnyFloatArray,
  options: GaeOptions,
): Call<ScanGaeArgs, GaeResult> {
  const call = prepare(op, { rewards, values, lambda: options.lambda, lambdaPer: options.lambdaPer }, options);
  const { arrays, dtype, rows, stream, gamma, maskMode, transformMasked } = call;
  const lambda = arrays.lambda ? 1 : needNumber(op, "lambda", options.lambda, { min: 0, max: 1 });
  const { out } = options;
  const advantages = outputOr(op, "advantages", out?.advantages, dtype, rows.n, stream);
  const returns = outputOr(op, "returns", out?.returns, dtype, rows.n, stream);
  const result = { advantages, returns };
  refuseOverlap(op, out, result, arrays);
  // One literal, and no spread of commonArgs: that costs a fifth of a small call.
  const args = {
    dtype: DTYPE_CODE[dtype],
    rewards: asFloat(arrays.rewards, dtype),
    values: asFloat(arrays.values!, dtype),
    gammas: arrays.gamma && asFloat(arrays.gamma, dtype),
    mask: arrays.mask,
    bootstrap: arrays.bootstrap && asFloat(arrays.bootstrap, dtype),
    offsets: arrays.offsets,
    n: rows.n,
    B: rows.B,
    T: rows.T,
    gamma,
    maskMode,
    transformMasked,
    lambda,
    lambdas: arrays.lambda && asFloat(arrays.lambda, dtype),
    lambdasPerToken: call.lambdasPerToken,
    advantages,
    returns,
  };
  return { args, arrays, result, stream };
}

function returnsCall(
  op: string,
  rewards: AnyFloatArray,
  options: DiscountedReturnsOptions,
): Call<ScanReturnsArgs, FloatArray> {
  const call = prepare(op, { rewards }, options);
  const { arrays, dtype, rows, stream } = call;
  const returns = outputOr(op, "returns", options.out?.returns, dtype, rows.n, stream);
  refuseOverlap(op, options.out, { returns }, arrays);
  const args = {
    transformMasked: call.transformMasked,
    rewards: asFloat(arrays.rewards, dtype),
    returns,
    ...commonArgs(call),
  };
  return { args, arrays, result: returns, stream };
}

/** The same on a device, where the first array lies. */
export function gae(
  rewards: DeviceFloatArray,
  values: AnyFloatArray,
  options: Anywhere<GaeOptions>,
): OnDevice<GaeResult>;
/**
 * Generalized advantage estimation over masked token rows.
 *
 *     δ[t] = reward[t] + γ·V(next) − value[t]
 *     advantage[t] = δ[t] + γ·λ·advantage(next),   return[t] = advantage[t] + value[t];   γ and λ those of t, where tokens have some
 *
 * @param rewards per token, in the reward's own unit; [n] as `shape` or `offsets` say
 * @param values the critic's V, same shape
 * @returns advantages and returns, same shape, float64 if an input is, else float32; carried in float64. Not whitened.
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Schulman et al. 2016, High-Dimensional Continuous Control Using Generalized Advantage Estimation, equation 16
 */
export function gae(rewards: FloatArray, values: FloatArray, options: GaeOptions): GaeResult;
export function gae(
  rewards: AnyFloatArray,
  values: AnyFloatArray,
  anywhere: GaeOptions | Anywhere<GaeOptions>,
): GaeResult | OnDevice<GaeResult> {
  const options = anywhere as GaeOptions;
  const { args, result, stream } = gaeCall("gae", rewards, values, options);
  selectBackend("gae", options.backend, stream).ops.scanGae(args);
  return result;
}

/** `gae` off the event loop. The arrays must not be touched until it resolves. */
export async function gaeAsync(
  rewards: FloatArray,
  values: FloatArray,
  options: GaeOptions & AsyncOption,
): Promise<GaeResult> {
  const { args, arrays, result } = gaeCall("gaeAsync", rewards, values, options);
  await runWhole("gaeAsync", "scanGae", args, { ...arrays, ...result }, options);
  return result;
}

/** The same on a device, where the first array lies. */
export function discountedReturns(
  rewards: DeviceFloatArray,
  options: Anywhere<DiscountedReturnsOptions>,
): DeviceFloatArray;
/**
 * Discounted returns G[t] = reward[t] + γ·G(next) over masked token rows.
 *
 * @param rewards per token; [n] as `shape` or `offsets` say
 * @returns returns, same shape, in the widest float type of the inputs; carried in float64
 * @throws SurprisalError as `gae`
 */
export function discountedReturns(rewards: FloatArray, options: DiscountedReturnsOptions): FloatArray;
export function discountedReturns(
  rewards: AnyFloatArray,
  anywhere: DiscountedReturnsOptions | Anywhere<DiscountedReturnsOptions>,
): AnyFloatArray {
  const options = anywhere as DiscountedReturnsOptions;
  const { args, result, stream } = returnsCall("discountedReturns", rewards, options);
  selectBackend("discountedReturns", options.backend, stream).ops.scanReturns(args);
  return result;
}

/** `discountedReturns` off the event loop, as `gaeAsync`. */
export async function discountedReturnsAsync(
  rewards: FloatArray,
  options: DiscountedReturnsOptions & AsyncOption,
): Promise<FloatArray> {
  const { args, arrays, result } = returnsCall("discountedReturnsAsync", rewards, options);
  await runWhole("discountedReturnsAsync", "scanReturns", args, { ...arrays, returns: result }, options);
  return result;
}

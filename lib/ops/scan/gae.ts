// Generalized advantage estimation and discounted returns.
import { selectBackend } from "../../backend/select";
import type { FloatArray } from "../../core/dtype";
import { needNumber } from "../../core/options";
import { prepare, type ScanOptions } from "./options";

export interface GaeOptions extends ScanOptions {
  /** Bias/variance knob, in [0, 1]: 1 is Monte-Carlo, 0 is one-step TD. */
  readonly lambda: number;
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

/**
 * Generalized advantage estimation over masked token rows.
 *
 *     δ[t] = reward[t] + γ·V(next) − value[t]
 *     advantage[t] = δ[t] + γ·λ·advantage(next),   return[t] = advantage[t] + value[t]
 *
 * @param rewards per token, in the reward's own unit; [n] as `shape` or `offsets` say
 * @param values the critic's V, same shape
 * @returns advantages and returns, same shape, float64 if an input is, else float32; carried in float64. Not whitened.
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Schulman et al. 2016, High-Dimensional Continuous Control Using Generalized Advantage Estimation, equation 16
 */
export function gae(rewards: FloatArray, values: FloatArray, options: GaeOptions): GaeResult {
  const call = prepare("gae", { rewards, values }, options);
  const lambda = needNumber("gae", "lambda", options.lambda, { min: 0, max: 1 });
  const advantages = call.output("advantages", options.out?.advantages);
  const returns = call.output("returns", options.out?.returns);
  call.refuseOverlap({ advantages, returns });
  selectBackend("gae", options.backend).ops.scanGae({
    transformMasked: call.transformMasked,
    reward: call.input("rewards"),
    value: call.input("values"),
    lambda,
    advantages,
    returns,
    ...call.common,
  });
  return { advantages, returns };
}

/**
 * Discounted returns G[t] = reward[t] + γ·G(next) over masked token rows.
 *
 * @param rewards per token; [n] as `shape` or `offsets` say
 * @returns returns, same shape, in the widest float type of the inputs; carried in float64
 * @throws SurprisalError as `gae`
 */
export function discountedReturns(rewards: FloatArray, options: DiscountedReturnsOptions): FloatArray {
  const call = prepare("discountedReturns", { rewards }, options);
  const returns = call.output("returns", options.out?.returns);
  call.refuseOverlap({ returns });
  selectBackend("discountedReturns", options.backend).ops.scanReturns({
    transformMasked: call.transformMasked,
    reward: call.input("rewards"),
    returns,
    ...call.common,
  });
  return returns;
}

// V-trace.
import { DELTA_FORMS, type DeltaForm } from "../../backend/contract/scan";
import { selectBackend } from "../../backend/select";
import { outputOr, refuseOverlap } from "../../core/arrays";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { asFloat } from "../../core/float-arrays";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import type { Per } from "../../core/per-row";
import { needNumber, needWord } from "../../core/option-checks";
import { commonArgs, prepare, type ScanOptions } from "./reverse-scan";

takesDeviceArrays("vtrace");

export interface VtraceOptions extends ScanOptions {
  /** Trace decay, in [0, 1]: a number, or one per row or token. Default 1, as in the paper. */
  readonly lambda?: number | FloatArray;
  /** What a lambda of an array belongs to. Default: by the length. */
  readonly lambdaPer?: Per;
  /** Cap ρ̄ of the weight on the temporal difference; Infinity for none. Default 1. */
  readonly rhoBar?: number;
  /** Cap c̄ of the weight on the trace. Default 1. */
  readonly cBar?: number;
  /** Cap of the weight on the policy-gradient advantage. Default 1. */
  readonly pgRhoBar?: number;
  /**
   * What the weight corrects: the whole temporal difference (`"corrected"`, the paper), or the reward alone (`"reward"`):
   * δ = min(ρ̄, w)·r + γ·V(next) − V. Default `"corrected"`.
   */
  readonly delta?: DeltaForm;
  readonly out?: { readonly targets?: FloatArray; readonly advantages?: FloatArray; readonly accumulated?: FloatArray };
}

export interface VtraceResult {
  /** Value targets vs. */
  readonly targets: FloatArray;
  /** Policy-gradient advantages ρ·(r + γ·vs' − V). */
  readonly advantages: FloatArray;
  /** The accumulated corrections vs − V: with `pgRhoBar` left aside, a generalized advantage with truncated weights. */
  readonly accumulated: FloatArray;
}

/** The same on a device, where the first array lies. */
export function vtrace(
  rewards: DeviceFloatArray,
  values: AnyFloatArray,
  weights: AnyFloatArray,
  options: Anywhere<VtraceOptions>,
): OnDevice<VtraceResult>;
/**
 * V-trace targets and policy-gradient advantages for rollouts of an older policy.
 *
 *     δ[t] = min(ρ̄, w[t])·(reward[t] + γ·V(next) − value[t])
 *     acc[t] = δ[t] + γ·λ·min(c̄, w[t])·acc(next),   target[t] = value[t] + acc[t]
 *     advantage[t] = min(ρ̄pg, w[t])·(reward[t] + γ·target(next) − value[t])
 *     delta "reward":   δ[t] = min(ρ̄, w[t])·reward[t] + γ·V(next) − value[t]
 *
 * @param rewards per token; [n] as `shape` or `offsets` say
 * @param values the critic's V, same shape
 * @param weights importance weights π(a|s)/μ(a|s) per token (not logarithms), same shape
 * @throws SurprisalError as `gae`
 * @see Espeholt et al. 2018, IMPALA, equation 1 (the V-trace target) and the policy gradient below it
 */
export function vtrace(
  rewards: FloatArray,
  values: FloatArray,
  weights: FloatArray,
  options: VtraceOptions,
): VtraceResult;
export function vtrace(
  rewards: AnyFloatArray,
  values: AnyFloatArray,
  weights: AnyFloatArray,
  anywhere: VtraceOptions | Anywhere<VtraceOptions>,
): VtraceResult | OnDevice<VtraceResult> {
  const options = anywhere as VtraceOptions;
  const { lambda: given, lambdaPer } = options;
  const call = prepare("vtrace", { rewards, values, weights, lambda: given, lambdaPer }, options);
  const { arrays, dtype, rows, stream } = call;
  const lambda = arrays.lambda ? 1 : needNumber("vtrace", "lambda", given ?? 1, { min: 0, max: 1 });
  const cap = { min: 0, infinite: true } as const;
  const rhoBar = needNumber("vtrace", "rhoBar", options.rhoBar ?? 1, cap);
  const cBar = needNumber("vtrace", "cBar", options.cBar ?? 1, cap);
  const pgRhoBar = needNumber("vtrace", "pgRhoBar", options.pgRhoBar ?? 1, cap);
  const delta = needWord("vtrace", "delta", options.delta ?? "corrected", DELTA_FORMS);
  const { out } = options;
  const targets = outputOr("vtrace", "targets", out?.targets, dtype, rows.n, stream);
  const advantages = outputOr("vtrace", "advantages", out?.advantages, dtype, rows.n, stream);
  const accumulated = outputOr("vtrace", "accumulated", out?.accumulated, dtype, rows.n, stream);
  refuseOverlap("vtrace", out, { targets, advantages, accumulated }, arrays);
  selectBackend("vtrace", options.backend, stream).ops.scanVtrace({
    rewards: asFloat(arrays.rewards, dtype),
    values: asFloat(arrays.values!, dtype),
    weights: asFloat(arrays.weights!, dtype),
    lambda,
    lambdas: arrays.lambda && asFloat(arrays.lambda, dtype),
    lambdasPerToken: call.lambdasPerToken,
    rhoBar,
    cBar,
    pgRhoBar,
    targets,
    advantages,
    delta,
    accumulated,
    ...commonArgs(call),
  });
  return { targets, advantages, accumulated };
}

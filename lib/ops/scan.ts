// Scans along token rows, right to left: GAE, discounted returns, V-trace. docs/ops/scan.md has the formulas side by side.
import { MASK_MODES, type MaskMode } from "../backend/contract/scan";
import { type BackendOption, selectBackend } from "../backend/select";
import { needFloats, needOutput, optionalFloats, optionalMask, refuseOverlap } from "../core/arrays";
import { allocateFloat, asFloat, DTYPE_CODE, type FloatArray, widestFloat } from "../core/dtype";
import { needNumber, needWord } from "../core/options";
import { needRows, type RowLayout, type Rows } from "../core/rows";

export type { MaskMode } from "../backend/contract/scan";

/** Options that every scan has. */
export interface ScanOptions extends RowLayout, BackendOption {
  /** Discount of one step, in [0, 1]: a number, or one per token (γ·(1 − done), which ends an episode inside a row). */
  readonly gamma: number | FloatArray;
  /** 1 = the policy's token, 0 = prompt, tool output or padding: never read. Default: all 1. */
  readonly mask?: Uint8Array;
  /**
   * What a masked token is:
   * - `"skip"`: no step at all; the chain runs on undiminished. Output 0.
   * - `"steps"`: a step with reward and value 0; holes decay by γλ, and tokens left of a kept one can have outputs.
   * - `"cut"`: the carry becomes 0 there. Output 0.
   *
   * All three agree for padding behind the last kept token, unless there is a bootstrap value. Default `"skip"`.
   */
  readonly maskMode?: MaskMode;
  /** One value per row for the state behind its last step (a truncated rollout). Default: 0. */
  readonly bootstrap?: FloatArray;
}

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

export interface VtraceOptions extends ScanOptions {
  /** Trace decay, in [0, 1]. Default 1, as in the paper. */
  readonly lambda?: number;
  /** Cap ρ̄ of the weight on the temporal difference; Infinity for none. Default 1. */
  readonly rhoBar?: number;
  /** Cap c̄ of the weight on the trace. Default 1. */
  readonly cBar?: number;
  /** Cap of the weight on the policy-gradient advantage. Default 1. */
  readonly pgRhoBar?: number;
  readonly out?: { readonly targets?: FloatArray; readonly advantages?: FloatArray };
}

export interface VtraceResult {
  /** Value targets vs. */
  readonly targets: FloatArray;
  /** Policy-gradient advantages ρ·(r + γ·vs' − V). */
  readonly advantages: FloatArray;
}

/** What the three have in common, checked and in one float type. */
function prepare(op: string, inputs: Readonly<Record<string, unknown>>, options: ScanOptions) {
  const rows: Rows = needRows(op, options);
  const { n, B, T, offsets, meaning } = rows;
  const arrays: Record<string, FloatArray> = {};
  for (const [name, value] of Object.entries(inputs)) arrays[name] = needFloats(op, name, value, n, meaning);
  const perToken = typeof options.gamma !== "number";
  const discount = perToken ? needFloats(op, "gamma", options.gamma, n, meaning) : null;
  const gamma = perToken ? 1 : needNumber(op, "gamma", options.gamma, { min: 0, max: 1 });
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const bootstrap = optionalFloats(op, "bootstrap", options.bootstrap, B, "one per row");
  const maskMode = needWord(op, "maskMode", options.maskMode ?? "skip", MASK_MODES);
  const dtype = widestFloat(...Object.values(arrays), discount, bootstrap);

  return {
    dtype,
    /** The input of that name in the call's float type. */
    input: (name: string): FloatArray => asFloat(arrays[name]!, dtype),
    /** The caller's output, or a new array. */
    output: (name: string, given: FloatArray | undefined): FloatArray =>
      given === undefined ? allocateFloat(dtype, n) : needOutput(op, name, given, dtype, n),
    refuseOverlap: (outputs: Readonly<Record<string, FloatArray>>): void => {
      refuseOverlap(op, outputs, { ...arrays, gamma: discount, mask, bootstrap, offsets });
    },
    common: {
      dtype: DTYPE_CODE[dtype],
      discount: discount && asFloat(discount, dtype),
      mask,
      bootstrap: bootstrap && asFloat(bootstrap, dtype),
      offsets,
      n,
      B,
      T,
      gamma,
      maskMode,
    },
  };
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
    ...call.common,
    reward: call.input("rewards"),
    value: call.input("values"),
    lambda,
    advantages,
    returns,
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
  selectBackend("discountedReturns", options.backend).ops.scanReturns({ ...call.common, reward: call.input("rewards"), returns });
  return returns;
}

/**
 * V-trace targets and policy-gradient advantages for rollouts of an older policy.
 *
 *     δ[t] = min(ρ̄, w[t])·(reward[t] + γ·V(next) − value[t])
 *     acc[t] = δ[t] + γ·λ·min(c̄, w[t])·acc(next),   target[t] = value[t] + acc[t]
 *     advantage[t] = min(ρ̄pg, w[t])·(reward[t] + γ·target(next) − value[t])
 *
 * @param rewards per token; [n] as `shape` or `offsets` say
 * @param values the critic's V, same shape
 * @param weights importance weights π(a|s)/μ(a|s) per token (not logarithms), same shape
 * @throws SurprisalError as `gae`
 * @see Espeholt et al. 2018, IMPALA, equation 1 and section 4.2
 */
export function vtrace(rewards: FloatArray, values: FloatArray, weights: FloatArray, options: VtraceOptions): VtraceResult {
  const call = prepare("vtrace", { rewards, values, weights }, options);
  const lambda = needNumber("vtrace", "lambda", options.lambda ?? 1, { min: 0, max: 1 });
  const cap = { min: 0, infinite: true } as const;
  const rhoBar = needNumber("vtrace", "rhoBar", options.rhoBar ?? 1, cap);
  const cBar = needNumber("vtrace", "cBar", options.cBar ?? 1, cap);
  const pgRhoBar = needNumber("vtrace", "pgRhoBar", options.pgRhoBar ?? 1, cap);
  const targets = call.output("targets", options.out?.targets);
  const advantages = call.output("advantages", options.out?.advantages);
  call.refuseOverlap({ targets, advantages });
  selectBackend("vtrace", options.backend).ops.scanVtrace({
    ...call.common,
    reward: call.input("rewards"),
    value: call.input("values"),
    weight: call.input("weights"),
    lambda,
    rhoBar,
    cBar,
    pgRhoBar,
    targets,
    advantages,
  });
  return { targets, advantages };
}

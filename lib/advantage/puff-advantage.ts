// Advantages of environment rollouts that were sampled by an older policy: truncated importance weights in GAE.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalFloats } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { widestFloat } from "../core/float-arrays";
import { needNumber } from "../core/option-checks";
import { needRows, rowBegin, rowEnd, type RowLayout, type Rows } from "../core/row-layout";
import { vtrace } from "../ops/scan";

/** Steps of an environment; [n] each, as `shape` or `offsets` say. The last entry of a row only lends its value. */
export interface PuffBatch extends RowLayout {
  /** `tokenRewards[t + 1]` belongs to the step from t to t + 1; the first of a row is not read. */
  readonly tokenRewards: FloatArray;
  /** The critic's V. */
  readonly values: FloatArray;
  /** 1 = the step from t − 1 to t ended an episode: nothing behind it counts. The first of a row is not read. */
  readonly dones: FloatArray;
  /** Probability ratios current / sampling policy (not logarithms) of the action at t. Default: all 1. */
  readonly importanceWeights?: FloatArray;
}

export interface PuffAdvantageOptions extends BackendOption {
  /** Discount of one step, in [0, 1]. */
  readonly gamma: number;
  /** As in `gae`, in [0, 1]. */
  readonly lambda: number;
  /** Cap ρ̄ of the weight on the temporal difference, >= 0. Default 1. */
  readonly rhoClip?: number;
  /** Cap c̄ of the weight on the trace, >= 0. Default 1. */
  readonly cClip?: number;
  /** The weight corrects the whole temporal difference (`"corrected"`, V-trace), or the `"reward"` alone. Default `"corrected"`. */
  readonly delta?: "corrected" | "reward";
}

export interface PuffAdvantageResult {
  /** [n]; 0 at the last entry of each row. */
  readonly advantages: FloatArray;
  /** advantages + values. */
  readonly returns: FloatArray;
}

/** The steps between entries: a row of T entries has T − 1, the last value is their bootstrap. */
function stepsOf(rows: Rows, values: FloatArray) {
  const offsets = new Int32Array(rows.B + 1);
  const bootstrap = new Float64Array(rows.B);
  for (let b = 0; b < rows.B; ++b) {
    const entries = rowEnd(rows, b) - rowBegin(rows, b);
    offsets[b + 1] = offsets[b]! + Math.max(entries - 1, 0);
    if (entries > 0) bootstrap[b] = values[rowEnd(rows, b) - 1]!;
  }
  /** Per step, from the entry it starts at (shift 0) or arrives at (shift 1). */
  const take = (entries: FloatArray, shift: 0 | 1): Float64Array => {
    const steps = new Float64Array(offsets[rows.B]!);
    for (let b = 0; b < rows.B; ++b) {
      const begin = rowBegin(rows, b) + shift;
      steps.set(entries.subarray(begin, begin + offsets[b + 1]! - offsets[b]!), offsets[b]);
    }
    return steps;
  };
  return { offsets, bootstrap, take };
}

/**
 * PufferLib's advantage: GAE whose temporal differences and traces carry truncated importance weights.
 *
 *     live = 1 − done[t+1],  ρ = min(w, rhoClip),  c = min(w, cClip)
 *     "corrected"  δ[t] = ρ·(r[t+1] + γ·V[t+1]·live − V[t])        "reward"  δ[t] = ρ·r[t+1] + γ·V[t+1]·live − V[t]
 *     A[t] = δ[t] + γ·λ·c·live·A[t+1],   0 at the last entry of a row
 *
 * Without importance weights, and with caps of at least 1, this is GAE.
 *
 * @returns in the widest float type of the inputs; computed in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Espeholt et al. 2018, IMPALA, equation 1 (truncated importance weights)
 */
export function puffAdvantage(batch: PuffBatch, options: PuffAdvantageOptions): PuffAdvantageResult {
  const op = "puffAdvantage";
  const rows = needRows(op, batch);
  const { n, meaning } = rows;
  const rewards = needFloats(op, "tokenRewards", batch.tokenRewards, n, meaning);
  const values = needFloats(op, "values", batch.values, n, meaning);
  const dones = needFloats(op, "dones", batch.dones, n, meaning);
  const importance = optionalFloats(op, "importanceWeights", batch.importanceWeights, n, meaning);
  const gamma = needNumber(op, "gamma", options.gamma, { min: 0, max: 1 });
  const lambda = needNumber(op, "lambda", options.lambda, { min: 0, max: 1 });
  const cap = { min: 0, infinite: true } as const;
  const rhoBar = needNumber(op, "rhoClip", options.rhoClip ?? 1, cap);
  const cBar = needNumber(op, "cClip", options.cClip ?? 1, cap);

  const { offsets, bootstrap, take } = stepsOf(rows, values);
  const weights = importance ? take(importance, 0) : new Float64Array(offsets[rows.B]!).fill(1);
  const { accumulated, targets } = vtrace(take(rewards, 1), take(values, 0), weights, {
    offsets,
    bootstrap,
    gamma: take(dones, 1).map((done) => gamma * (1 - done)),
    lambda,
    rhoBar,
    cBar,
    delta: options.delta,
    backend: options.backend,
  });

  const advantages = new Float64Array(n);
  const returns = Float64Array.from(values); // the last entry of a row has no step: its return is its value
  for (let b = 0; b < rows.B; ++b) {
    const [begin, end] = [offsets[b], offsets[b + 1]];
    advantages.set(accumulated.subarray(begin, end), rowBegin(rows, b));
    returns.set(targets.subarray(begin, end), rowBegin(rows, b));
  }
  if (widestFloat(rewards, values, dones, importance) === "float64") return { advantages, returns };
  return { advantages: Float32Array.from(advantages), returns: Float32Array.from(returns) };
}

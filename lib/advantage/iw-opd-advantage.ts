// Advantages of on-policy distillation in which early disagreement weighs more (IW-OPD).
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { needNumber } from "../core/option-checks";
import { layoutOf, needRows, type RowLayout } from "../core/row-layout";
import { logRatio } from "../ops/ratio";
import { shareWeights } from "../ops/scan";

export interface IwOpdBatch extends RowLayout {
  /** Log-probs of the sampled tokens under the teacher, nats; [n] as `shape` or `offsets` say. */
  readonly teacherLogProbs: FloatArray;
  /** The same tokens under the policy that sampled: the student itself, where it did. */
  readonly samplerLogProbs: FloatArray;
  /** 1 = a token of the response, 0 = never read. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface IwOpdAdvantageOptions extends BackendOption {
  /** How much more the first token of disagreement weighs than the last, >= 0; 0: all weigh 1. */
  readonly gamma: number;
  /** The sum of a row's disagreement is not taken below this, > 0. Default 1e-8. */
  readonly epsilon?: number;
}

/** Per token; 0 under the mask. */
export interface IwOpdAdvantageResult {
  /** weight · (teacher − rollout). */
  readonly advantages: FloatArray;
  /** In [1, 1 + γ]. */
  readonly weights: FloatArray;
  /** teacher − rollout, nats. */
  readonly differences: FloatArray;
}

/**
 * Importance-weighted on-policy distillation: the advantage of a token is how much likelier the teacher finds it, and tokens
 * before the two have drifted apart weigh more.
 *
 *     a_t = teacher_t − rollout_t
 *     weight_t = 1 + γ·(1 − Σ_{j < t} |a_j| / max(Σ_j |a_j|, ε)),   over the kept tokens of the row
 *     advantage_t = weight_t·a_t
 *
 * All of them are constants for the gradient; the loss is −Σ advantage·log p over the number of kept tokens.
 *
 * @returns in the widest float type of the inputs; sums in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function iwOpdAdvantage(batch: IwOpdBatch, options: IwOpdAdvantageOptions): IwOpdAdvantageResult {
  const op = "iwOpdAdvantage";
  const gamma = needNumber(op, "gamma", options.gamma, { min: 0 });
  const epsilon = needNumber(op, "epsilon", options.epsilon ?? 1e-8, { min: 0, above: true });
  const rows = needRows(op, batch);
  const teacher = needFloats(op, "teacherLogProbs", batch.teacherLogProbs, rows.n, rows.meaning);
  const rollout = needFloats(op, "samplerLogProbs", batch.samplerLogProbs, rows.n, rows.meaning);
  const mask = optionalMask(op, "mask", batch.mask, rows.n, rows.meaning);
  const common = { ...layoutOf(batch), mask: mask ?? undefined, backend: options.backend };
  const { logRatios: differences } = logRatio(teacher, rollout, { ...common, level: "token" });
  const { weights, products: advantages } = shareWeights(differences, { ...common, gain: gamma, epsilon });
  return { advantages, weights, differences };
}

// What the estimators of outcome rewards have in common: a score per row, compared with its group, spread over the tokens.
import type { BackendOption } from "../backend/select";
import { type CollectiveOption, collectiveOption } from "../core/collective";
import { type FloatArray, floatDType } from "../core/dtype";
import { needGroups } from "../core/groups";
import { needWord } from "../core/options";
import type { GroupNormalizeOptions } from "../ops/group";
import { normalizeItems } from "../ops/group/normalize";
import { type CheckedBatch, needRewardedBatch, type RewardedBatch, spreadRows } from "./batch";
import { rowSums } from "./row-sums";

/** Rollouts with outcome rewards: per row, or per token and summed. */
export type OutcomeBatch = RewardedBatch;

export interface OutcomeOptions extends BackendOption, CollectiveOption {
  /**
   * Which token rewards count for the score: `"all"` positions of the row, also those under the mask, as the trainers do; or
   * the `"kept"` ones. Default `"all"`.
   */
  readonly scoreOver?: "all" | "kept";
}

export interface OutcomeAdvantageResult {
  /** Per token: the row's advantage at kept tokens, 0 under the mask. */
  readonly advantages: FloatArray;
  /** The same array: without a critic an advantage is its own return. */
  readonly returns: FloatArray;
  /** One per row, in float64. */
  readonly rowAdvantages: FloatArray;
  /** The score of each row: its reward, or the sum of its token rewards; float64. */
  readonly scores: FloatArray;
  /** Baseline of each group: its mean score, weighted where the estimator weighs rows. float64 */
  readonly means: FloatArray;
  /** Std of the scores, one per group, float64. */
  readonly stds: FloatArray;
  /** The group number of each row: labels are numbered by first appearance. */
  readonly groupIds: Int32Array;
}

/** A batch with the scores of its rows. */
export interface ScoredBatch {
  readonly batch: CheckedBatch;
  readonly scores: Float64Array;
  readonly backend: BackendOption;
  readonly together: CollectiveOption;
}

export function needScores(op: string, given: OutcomeBatch, options: OutcomeOptions): ScoredBatch {
  const batch = needRewardedBatch(op, given);
  const backend: BackendOption = options.backend ? { backend: options.backend } : {};
  const keptOnly = needWord(op, "scoreOver", options.scoreOver ?? "all", ["all", "kept"]) === 1;
  const { rewards, rows, mask, perToken } = batch;
  const scores = perToken ? rowSums(op, rewards, rows, keptOnly ? mask : null, options.backend) : Float64Array.from(rewards);
  return { batch, scores, backend, together: collectiveOption(options) };
}

/** Scores compared within their groups, and spread. */
export function compareScores(op: string, scored: ScoredBatch, conventions: GroupNormalizeOptions): OutcomeAdvantageResult {
  const { batch, scores, backend, together } = scored;
  const groups = needGroups(op, batch.grouping, batch.rows.B);
  const group = normalizeItems(op, { values: scores, groups }, { ...conventions, ...backend, ...together });
  const rowAdvantages = group.normalized as Float64Array;
  const advantages = spreadRows(op, batch, rowAdvantages, floatDType(batch.rewards), backend);
  const { means, stds, groupIds } = group;
  return { advantages, returns: advantages, rowAdvantages, scores, means, stds, groupIds };
}

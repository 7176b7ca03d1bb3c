// What the estimators of outcome rewards have in common: a score per row, compared with its group, spread over the tokens.
import type { BackendOption } from "../backend/select";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { floatDType } from "../core/float-arrays";
import { needNamedGroups } from "../core/groups";
import { needWord } from "../core/option-checks";
import type { GroupConventions, GroupNormalizeOptions } from "../ops/group";
import { normalizeItems } from "../ops/group/normalize";
import {
  type CheckedRewards,
  needRewardedBatch,
  type RewardedBatch,
  type RowAdvantages,
  scoresOf,
  spreadRows,
} from "./rewarded-batch";

/** Rollouts with outcome rewards: per row, or per token and summed. */
export type OutcomeBatch = RewardedBatch;

/** Outcome rewards less a baseline of the group. */
export interface BaselineConventions {
  /** The advantage of a row alone in its group: 0, or its own score. Default `"zero"`. */
  readonly singleton?: NonNullable<GroupConventions["singleton"]>;
}

export interface OutcomeOptions extends BackendOption, CollectiveOption {
  /**
   * Which token rewards count for the score: `"all"` positions of the row, also those under the mask, as the trainers do; or
   * the `"kept"` ones. Default `"all"`.
   */
  readonly scoreOver?: "all" | "kept";
}

export interface OutcomeAdvantageResult extends RowAdvantages {
  /** The advantages: without a critic an advantage is its own return. */
  readonly returns: FloatArray;
  /** The score of each row: its reward, or the sum of its token rewards; float64. */
  readonly scores: Float64Array;
  /** Baseline of each group: its mean score, weighted where the estimator weighs rows. float64 */
  readonly means: FloatArray;
  /** Std of the scores, one per group, without epsilon; 0 for a group of one or of equal scores. float64 */
  readonly stds: FloatArray;
  /** Rows that entered the statistics, one per group. */
  readonly counts: Int32Array;
  /** The group number of each row: labels are numbered by first appearance. */
  readonly groupIds: Int32Array;
}

/** A batch with the scores of its rows. */
export interface ScoredBatch {
  readonly batch: CheckedRewards;
  readonly scores: Float64Array;
  readonly backend: BackendOption;
  readonly together: CollectiveOption;
}

export function needScores(op: string, given: OutcomeBatch, options: OutcomeOptions): ScoredBatch {
  const batch = needRewardedBatch(op, given, "unread");
  const scoreOver = options.scoreOver ?? "all";
  needWord(op, "scoreOver", scoreOver, ["all", "kept"]);
  const backend: BackendOption = { backend: options.backend };
  return {
    batch,
    scores: scoresOf(op, batch, scoreOver, backend),
    backend,
    together: { collective: options.collective },
  };
}

/** Scores compared within their groups, and spread. */
export function compareScores(
  op: string,
  scored: ScoredBatch,
  conventions: GroupNormalizeOptions,
): OutcomeAdvantageResult {
  const { batch, scores, backend, together } = scored;
  const groups = needNamedGroups(op, batch.grouping, batch.rows.B);
  const group = normalizeItems(op, { values: scores, groups }, { ...conventions, ...backend, ...together });
  const rowAdvantages = group.normalized as Float64Array;
  const advantages = spreadRows(op, batch, rowAdvantages, floatDType(batch.rewards), backend);
  const { means, stds, counts, groupIds } = group;
  return { advantages, returns: advantages, rowAdvantages, scores, means, stds, counts, groupIds };
}

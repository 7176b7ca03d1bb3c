// What the estimators of outcome rewards have in common: a score per row, compared with its group, spread over the tokens.
import type { BackendOption } from "../backend/select";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { floatDType } from "../core/float-arrays";
import { type GroupLabels, type Groups, groupsByLabel, needGroups } from "../core/groups";
import { needInt32 } from "../core/arrays";
import { optionError } from "../core/errors";
import { keptPerRow } from "../ops/reduce/count-kept";
import { needWord } from "../core/option-checks";
import type { GroupConventions, GroupNormalizeOptions, GroupNormalizeResult } from "../ops/group";
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
export interface OutcomeBatch extends RewardedBatch {
  /** A label per row, as `groups`: rows of one session are the outputs of one agent run, and share the advantage of the last. */
  readonly sessions?: GroupLabels;
  /** The number of the row's output in its session: the row with the largest number is the last. Needed by `sessions`. */
  readonly outputs?: Int32Array;
}

/** Outcome rewards less a baseline of the group. */
export interface BaselineConventions {
  /** The advantage of a row alone in its group: 0, or its own score. Default `"zero"`. */
  readonly singleton?: NonNullable<GroupConventions["singleton"]>;
  /** A NaN score makes its whole group NaN, or abstains: left out of the statistics, advantage 0. Default `"propagate"`. */
  readonly nan?: NonNullable<GroupConventions["nan"]>;
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
  readonly means: Float64Array;
  /** Std of the scores, one per group, without epsilon; 0 for a group of one or of equal scores. float64 */
  readonly stds: Float64Array;
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
  /** The row whose advantage each row takes: the last of its session; null where every row has its own. */
  readonly last: Int32Array | null;
}

/** The last output of each row's session. */
function lastOutputs(op: string, { sessions, outputs }: OutcomeBatch, B: number): Int32Array | null {
  if (sessions === undefined && outputs === undefined) return null;
  if (sessions === undefined || outputs === undefined)
    throw optionError(op, "sessions", sessions, "sessions and outputs, or neither");
  const { ids, G } = groupsByLabel(op, "sessions", sessions, B);
  const numbers = needInt32(op, "outputs", outputs, B, "one per row");
  const last = new Int32Array(G).fill(-1);
  ids.forEach((s, b) => {
    if (last[s]! < 0 || numbers[b]! > numbers[last[s]!]!) last[s] = b;
  });
  return ids.map((s) => last[s]!);
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
    last: lastOutputs(op, given, batch.rows.B),
  };
}

/** The last rows of the sessions compared among themselves; each row takes what its session's last one gets, 0 without kept tokens. */
function normalizeLast(
  op: string,
  { batch: { rows, mask }, scores, backend }: ScoredBatch,
  last: Int32Array,
  groups: Groups,
  settings: GroupNormalizeOptions,
): GroupNormalizeResult {
  const own = Int32Array.from(last.keys()).filter((b) => last[b] === b);
  const group = normalizeItems(
    op,
    {
      values: Float64Array.from(own, (b) => scores[b]!),
      groups: groupsByLabel(
        op,
        "groups",
        own.map((b) => groups.ids[b]!),
        own.length,
      ),
    },
    settings,
  );
  const kept = keptPerRow(op, rows, mask, backend);
  const place = new Map(Array.from(own, (b, k) => [b, k]));
  return {
    ...group,
    normalized: Float64Array.from(last, (b) => (kept[b]! > 0 ? group.normalized[place.get(b)!]! : 0)),
    groupIds: last.map((b) => group.groupIds[place.get(b)!]!),
  };
}

/** Scores compared within their groups, and spread. */
export function compareScores(
  op: string,
  scored: ScoredBatch,
  conventions: GroupNormalizeOptions,
): OutcomeAdvantageResult {
  const { batch, scores, backend, together, last } = scored;
  const groups = needGroups(op, batch.grouping, batch.rows.B);
  const settings = { ...conventions, ...backend, ...together };
  const group = last
    ? normalizeLast(op, scored, last, groups, settings)
    : normalizeItems(op, { values: scores, groups }, settings);
  const rowAdvantages = group.normalized as Float64Array;
  const advantages = spreadRows(op, batch, rowAdvantages, floatDType(batch.rewards), backend);
  const { counts, groupIds } = group;
  const [means, stds] = [group.means as Float64Array, group.stds as Float64Array];
  return { advantages, returns: advantages, rowAdvantages, scores, means, stds, counts, groupIds };
}

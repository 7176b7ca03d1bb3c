// Rollouts with a reward each, checked; and a number of each row at its tokens.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { FloatArray, FloatDType } from "../core/dtype";
import { optionError, shapeError } from "../core/errors";
import { type GroupLayout, groupingOf, type NamedGroups, namesGroups, needGroups } from "../core/groups";
import { layoutOfRows, needRows, type RowLayout, type Rows } from "../core/row-layout";
import { broadcastRows } from "../ops/group/broadcast";
import { rowSums } from "./row-sums";

/**
 * Rollouts with their rewards and groups. Per-token arrays have [n] elements, as `shape` or `offsets` say; without these two a row
 * is one position, and all arrays have one number a row.
 */
export interface RewardedBatch extends RowLayout, GroupLayout {
  /** One reward per row, in its own unit. Give these or `tokenRewards`. */
  readonly rewards?: FloatArray;
  /** Rewards per token; a row's score is their sum. */
  readonly tokenRewards?: FloatArray;
  /** 1 = a token of the response; the others get advantage 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** What an estimator that values whole responses returns. */
export interface RowAdvantages {
  /** Per token: the row's advantage at kept tokens, 0 under the mask. In the type of the rewards. */
  readonly advantages: FloatArray;
  /** One per row, float64. */
  readonly rowAdvantages: Float64Array;
}

export interface CheckedRewards {
  readonly rows: Rows;
  readonly layout: RowLayout;
  readonly grouping: GroupLayout & NamedGroups;
  readonly mask: Uint8Array | null;
  readonly rewards: FloatArray;
  readonly perToken: boolean;
}

/** The rows of a batch that knows B of them: those of its layout, else one position each. */
export function needRowsOf(op: string, batch: RowLayout, B: number): Rows {
  if (batch.shape === undefined && batch.offsets === undefined) return needRows(op, { shape: [B, 1] });
  const rows = needRows(op, batch);
  if (rows.B !== B) throw shapeError(op, "the number of rows", rows.B, `${B}, as many as rewards`);
  return rows;
}

/** @param tokens whether the estimator reads tokens: then the batch needs `shape` or `offsets` */
export function needRewardedBatch(op: string, batch: RewardedBatch, tokens: "read" | "unread"): CheckedRewards {
  const { rewards, tokenRewards } = batch;
  if ((rewards === undefined) === (tokenRewards === undefined))
    throw optionError(op, "rewards", rewards, "either rewards (per row) or tokenRewards, not both");
  const rows =
    tokens === "read" || rewards === undefined ? needRows(op, batch) : needRowsOf(op, batch, countOf(rewards));
  if (namesGroups(batch)) needGroups(op, batch, rows.B);
  return {
    rows,
    layout: layoutOfRows(rows),
    grouping: groupingOf(batch),
    mask: optionalMask(op, "mask", batch.mask, rows.n, rows.meaning),
    rewards:
      rewards === undefined
        ? needFloats(op, "tokenRewards", tokenRewards, rows.n, rows.meaning)
        : needFloats(op, "rewards", rewards, rows.B, "one per row"),
    perToken: rewards === undefined,
  };
}

/** The length of an array that is not checked yet. */
function countOf(array: unknown): number {
  return ArrayBuffer.isView(array) ? (array as FloatArray).length : 0;
}

/** The score of each row: its reward, or the sum of its token rewards; those under the mask count unless only kept ones do. */
export function scoresOf(
  op: string,
  { rewards, rows, mask, perToken }: CheckedRewards,
  over: "all" | "kept",
  { backend }: BackendOption,
): Float64Array {
  return perToken ? rowSums(op, rewards, rows, over === "kept" ? mask : null, backend) : Float64Array.from(rewards);
}

/** One float64 number per row at each kept token, rounded once to `dtype`. */
export function spreadRows(
  op: string,
  { layout, mask }: Pick<CheckedRewards, "layout" | "mask">,
  perRow: Float64Array,
  dtype: FloatDType,
  backend: BackendOption,
): FloatArray {
  const row = dtype === "float64" ? perRow : Float32Array.from(perRow);
  return broadcastRows(op, "advantages", row, { ...layout, mask: mask ?? undefined, ...backend });
}

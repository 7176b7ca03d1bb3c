// Rewards of several reward functions, summed with weights. A function that has no opinion on a row says NaN.
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { shapeError } from "../core/errors";
import { needNumber } from "../core/option-checks";
import { affine, moments } from "../ops/reduce";

/** One array of rewards per row for each reward function, or the rewards themselves where there is one function. */
export type RewardColumns = FloatArray | readonly FloatArray[];

export interface CheckedColumns {
  /** At least one, all of the same length. */
  readonly columns: readonly FloatArray[];
  /** One per function. */
  readonly weights: readonly number[];
  /** Rows. */
  readonly B: number;
}

export function needRewardColumns(
  op: string,
  rewards: RewardColumns,
  weights: ArrayLike<number> | undefined,
): CheckedColumns {
  const given: readonly unknown[] = Array.isArray(rewards) ? rewards : [rewards];
  if (given.length === 0) throw shapeError(op, "rewards", rewards, "one array for each reward function");
  const name = (f: number): string => (Array.isArray(rewards) ? `rewards[${f}]` : "rewards");
  const first = given[0];
  const B = ArrayBuffer.isView(first) ? (first as FloatArray).length : 0;
  const columns = given.map((column, f) => needFloats(op, name(f), column, B, "one per row"));
  if (weights !== undefined && weights.length !== columns.length)
    throw shapeError(op, "weights.length", weights.length, `${columns.length}, one for each reward function`);
  return {
    columns,
    weights: columns.map((_, f) => needNumber(op, `weights[${f}]`, weights ? weights[f] : 1)),
    B,
  };
}

/** Σ weight · reward over the functions that have one; NaN where none has. In float64. */
export function weightedSums({ columns, weights, B }: CheckedColumns, backend: BackendOption): Float64Array {
  const F = columns.length;
  const table = new Float64Array(F * B);
  columns.forEach((column, f) => {
    table.set(column, f * B);
  });
  const scaled = affine(table, { shape: [F, B], scale: Float64Array.from(weights), ...backend });
  // A row of the batch becomes a row of the table: its numbers are added up there.
  const byRow = scaled.map((_, i) => scaled[(i % F) * B + Math.floor(i / F)]!);
  const { counts, sums } = moments(byRow, { shape: [B, F], over: "row", nan: "abstain", ...backend });
  return sums.map((sum, b) => (counts[b]! > 0 ? sum : NaN));
}

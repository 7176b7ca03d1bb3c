// Batches as the entropy-modulated advantages take them: checked, and taken apart into options of the ops underneath.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray, FloatDType } from "../core/dtype";
import { argumentError } from "../core/errors";
import { type GroupLayout, needGroups } from "../core/groups";
import { needWord } from "../core/options";
import { needRows, type RowLayout, type Rows } from "../core/rows";
import type { GroupConventions } from "../ops/group";
import { broadcastRows } from "../ops/group/broadcast";
import type { SequenceWeightsOptions } from "../ops/modulate";
import type { SequenceWeightConventions } from "../presets/entropy-conventions";
import { groupAdvantage } from "./group-advantage";
import { rowSums } from "./row-sums";

/** Rollouts with their rewards and groups. Per-token arrays have [n] elements, as `shape` or `offsets` say. */
export interface RewardedBatch extends RowLayout, GroupLayout {
  /** One reward per row, in its own unit. Give these or `tokenLevelRewards`. */
  readonly rewards?: FloatArray;
  /** Rewards per token; a row's score is their sum. */
  readonly tokenLevelRewards?: FloatArray;
  /** 1 = a token of the response; the others get advantage 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface CheckedBatch {
  readonly rows: Rows;
  readonly layout: RowLayout;
  readonly grouping: GroupLayout;
  readonly mask: Uint8Array | null;
  readonly rewards: FloatArray;
  readonly perToken: boolean;
}

/** Where the rows lie. */
export function layoutOf({ shape, offsets }: RowLayout): RowLayout {
  return { ...(shape && { shape }), ...(offsets && { offsets }) };
}

/** Which rows belong together. */
export function groupingOf({ groups, groupOffsets }: GroupLayout): GroupLayout {
  return { ...(groups && { groups }), ...(groupOffsets && { groupOffsets }) };
}

export function needRewardedBatch(op: string, batch: RewardedBatch): CheckedBatch {
  const rows = needRows(op, batch);
  const { rewards, tokenLevelRewards } = batch;
  if ((rewards === undefined) === (tokenLevelRewards === undefined))
    throw argumentError("ERR_SURPRISAL_OPTION", op, "rewards", rewards, "either rewards (per row) or tokenLevelRewards, not both");
  needGroups(op, batch, rows.B);
  return {
    rows,
    layout: layoutOf(batch),
    grouping: groupingOf(batch),
    mask: optionalMask(op, "mask", batch.mask, rows.n, rows.meaning),
    rewards:
      rewards === undefined
        ? needFloats(op, "tokenLevelRewards", tokenLevelRewards, rows.n, rows.meaning)
        : needFloats(op, "rewards", rewards, rows.B, "one per row"),
    perToken: rewards === undefined,
  };
}

/** Advantages before modulation, one per row in float64. */
export function baseAdvantages(
  op: string,
  batch: CheckedBatch,
  scoreOver: "all" | "kept",
  conventions: GroupConventions,
  backend: BackendOption & CollectiveOption,
): Float64Array {
  const keptOnly = needWord(op, "scoreOver", scoreOver, ["all", "kept"]) === 1;
  const { rewards, rows, mask } = batch;
  const scores = batch.perToken ? rowSums(op, rewards, rows, keptOnly ? mask : null, backend.backend) : Float64Array.from(rewards);
  return Float64Array.from(groupAdvantage(scores, { ...batch.grouping, ...conventions, ...backend }).advantages);
}

/** 1 = the row's reward, under the mask where it is per token, is above 0. */
export function positiveRows({ rewards, rows, mask, perToken }: CheckedBatch, backend: BackendOption): Uint8Array {
  const sums = perToken ? rowSums("positiveRows", rewards, rows, mask, backend.backend) : rewards;
  return Uint8Array.from(sums, (sum) => (sum > 0 ? 1 : 0));
}

/** The conventions of `sequenceWeights` among those of a function; absent ones stay absent. */
export function weightConventions(conventions: SequenceWeightConventions): Partial<SequenceWeightsOptions> {
  const { epsilon, emptyRows, nonFinite, singletonWeight, zeroEntropy } = conventions;
  return {
    ...(epsilon !== undefined && { epsilon }),
    ...(emptyRows !== undefined && { emptyRows }),
    ...(nonFinite !== undefined && { nonFinite }),
    ...(singletonWeight !== undefined && { singleton: singletonWeight }),
    ...(zeroEntropy !== undefined && { zeroMean: zeroEntropy }),
  };
}

/** One float64 number per row at each kept token, rounded once to `dtype`. */
export function spreadRows(
  op: string,
  batch: CheckedBatch,
  perRow: Float64Array,
  dtype: FloatDType,
  backend: BackendOption,
): FloatArray {
  const row = dtype === "float64" ? perRow : Float32Array.from(perRow);
  return broadcastRows(op, "advantages", row, { ...batch.layout, ...(batch.mask && { mask: batch.mask }), ...backend });
}

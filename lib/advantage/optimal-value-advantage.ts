// Advantages relative to the value of the optimal policy of KL-regularised RL, estimated from a group of samples (A*-PO).
import type { BackendOption } from "../backend/select";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { asFloat, floatDType } from "../core/float-arrays";
import { type GroupLayout, needGroups } from "../core/groups";
import { needNumber } from "../core/option-checks";
import type { RowLayout } from "../core/row-layout";
import { groupLogSumExp } from "../ops/group";
import { lessUnit } from "../ops/reduce/less-unit";
import { needRewardedBatch, type RowAdvantages, spreadRows } from "./rewarded-batch";

/** Rollouts with one reward each. Without `shape` and `offsets` a row is one position. */
export interface OptimalValueBatch extends RowLayout, GroupLayout {
  /** One per row. */
  readonly rewards: FloatArray;
  /** 1 = a token of the response; the others get advantage 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface OptimalValueAdvantageOptions extends BackendOption, CollectiveOption {
  /** β₁ of the value: small, and it is the best reward of the group; large, and it is the mean. > 0. */
  readonly beta: number;
}

/** Advantages are r − V* of the group. */
export interface OptimalValueAdvantageResult extends RowAdvantages {
  /** V*, one per group; NaN for an empty one. */
  readonly values: FloatArray;
  /** The group number of each row: labels are numbered by first appearance. */
  readonly groupIds: Int32Array;
}

/**
 * A*-PO: rewards relative to the optimal value of their prompt.
 *
 *     V*_g = β·ln(mean of exp(r/β) over the group),   a_b = r_b − V*_g
 *
 * The rewards of V* are meant to come from the reference policy. Equal rewards give exact zeros, and so does a group of one.
 * Computed in float64.
 *
 * @param batch `groups` (a label per row, or `"all"`) or `groupOffsets`
 * @returns in the type of the rewards, rowAdvantages in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 * @see Brantley et al. 2025, Accelerating RL for LLM Reasoning with Optimal Advantage Regression
 */
export function optimalValueAdvantage(
  batch: OptimalValueBatch,
  options: OptimalValueAdvantageOptions,
): OptimalValueAdvantageResult {
  const op = "optimalValueAdvantage";
  const temperature = needNumber(op, "beta", options.beta, { min: 0, above: true });
  const { rows, rewards, layout, grouping, mask } = needRewardedBatch(op, batch, "unread");
  needGroups(op, grouping, rows.B);
  const given = asFloat(rewards, "float64");
  const backend: BackendOption = { backend: options.backend };
  const { softMeans, groupIds } = groupLogSumExp(given, {
    temperature,
    ...grouping,
    ...backend,
    collective: options.collective,
  });
  const rowAdvantages = Float64Array.from(lessUnit(op, given, softMeans, groupIds, options));
  const dtype = floatDType(rewards);
  return {
    advantages: spreadRows(op, { layout, mask }, rowAdvantages, dtype, backend),
    rowAdvantages,
    values: dtype === "float64" ? softMeans : Float32Array.from(softMeans),
    groupIds,
  };
}

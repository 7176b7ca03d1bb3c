// Advantages relative to the value of the optimal policy of KL-regularised RL, estimated from a group of samples (A*-PO).
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import { type CollectiveOption, collectiveOption } from "../core/collective";
import { asFloat, type FloatArray, floatDType } from "../core/dtype";
import { type GroupLayout, needGroups } from "../core/groups";
import { needNumber } from "../core/options";
import { groupLogSumExp } from "../ops/group";
import { lessUnit } from "../ops/reduce/less-unit";

export interface OptimalValueAdvantageOptions extends GroupLayout, BackendOption, CollectiveOption {
  /** β₁ of the value: small, and it is the best reward of the group; large, and it is the mean. > 0. */
  readonly beta: number;
}

export interface OptimalValueAdvantageResult {
  /** r − V* of its group, one per row. `groupBroadcast` spreads them over tokens. */
  readonly advantages: FloatArray;
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
 * @param rewards one per row
 * @param options `groups` (a label per row) or `groupOffsets`; neither = one group
 * @returns in the type of `rewards`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 * @see Brantley et al. 2025, Accelerating RL for LLM Reasoning with Optimal Advantage Regression
 */
export function optimalValueAdvantage(rewards: FloatArray, options: OptimalValueAdvantageOptions): OptimalValueAdvantageResult {
  const op = "optimalValueAdvantage";
  const length = ArrayBuffer.isView(rewards) ? rewards.length : 0;
  const given = needFloats(op, "rewards", rewards, length, "one per row");
  const temperature = needNumber(op, "beta", options.beta, { min: 0, above: true });
  needGroups(op, options, length);
  const { groups, groupOffsets, backend } = options;
  const { softMeans, groupIds } = groupLogSumExp(asFloat(given, "float64"), {
    temperature,
    ...(groups && { groups }),
    ...(groupOffsets && { groupOffsets }),
    ...(backend && { backend }),
    ...collectiveOption(options),
  });
  const advantages = lessUnit(op, asFloat(given, "float64"), softMeans, groupIds, options);
  const rounded = (array: FloatArray): FloatArray => (floatDType(given) === "float64" ? array : Float32Array.from(array));
  return { advantages: rounded(advantages), values: rounded(softMeans), groupIds };
}

// Group advantages from several reward functions, each of which may abstain.
import type { BackendOption } from "../backend/select";
import { optionalMask } from "../core/arrays";
import type { Collective, CollectiveOption } from "../core/collective";
import type { FloatArray, FloatDType } from "../core/dtype";
import { asFloat, widestFloat } from "../core/float-arrays";
import { gatherGroups } from "../core/gathered-groups";
import { type GroupLayout, type Groups, needGroups, oneGroup } from "../core/groups";
import { needNumber, needWord } from "../core/option-checks";
import { needAgreement } from "../core/row-partials";
import { layoutOfRows, type RowLayout } from "../core/row-layout";
import { gatherFloats } from "../ops/group/items";
import { type GroupConventions, type GroupNormalizeResult, normalizeItems } from "../ops/group/normalize";
import { type PresetOption, resolvePreset } from "../presets";
import { needRowsOf, type RowAdvantages, spreadRows } from "./rewarded-batch";
import { average } from "./scalar-metrics";
import { roundedTo, whitenTokens } from "./token-rewards";
import { type CheckedColumns, needRewardColumns, type RewardColumns, weightedSums } from "./weighted-rewards";

export type { RewardColumns } from "./weighted-rewards";

/** How the rewards of several functions become one advantage. */
export interface MultiRewardConventions {
  /**
   * `"sumThenNormalize"`: the weighted sum is normalised within its group. `"normalizeThenSum"`: each function's rewards are
   * normalised within the group first, then summed with weights, then normalised over the batch, so that no function
   * outweighs the others by its range. Default `"sumThenNormalize"`.
   */
  readonly aggregation?: "sumThenNormalize" | "normalizeThenSum";
  /**
   * The std that divides the centred sum: that of the group, that of all rows, or none. Not used by `"normalizeThenSum"`.
   * Default `"group"`.
   */
  readonly scale?: "group" | "batch" | "none";
  /** Added to each std, >= 0. Default 1e-6. */
  readonly epsilon?: number;
  /** How `"normalizeThenSum"` normalises each function's rewards in their group. Default: mean, std + ε, ddof 1; a group of one gets 0. */
  readonly functionConventions?: Pick<GroupConventions, "center" | "scale" | "singleton">;
  /**
   * Over what `"normalizeThenSum"` normalises the sum: the `"rows"`, or the kept `"tokens"`, where long rows weigh more, by (x − mean)
   * / sqrt(variance + 1e-8). Default `"rows"`.
   */
  readonly normalizeOver?: "rows" | "tokens";
  /** Added to the std of that last step over rows, >= 0. With 0, equal sums stay 0. Default: `epsilon`. */
  readonly finalEpsilon?: number;
}

const AGGREGATIONS = ["sumThenNormalize", "normalizeThenSum"] as const;
const SCALES = ["group", "batch", "none"] as const;
const OVER = ["rows", "tokens"] as const;

/** Rollouts with the rewards of several functions. Without `shape` and `offsets` a row is one position. */
export interface MultiRewardBatch extends RowLayout, GroupLayout {
  /** An array per reward function, one number per row each, NaN where it abstains; or one such array. */
  readonly rewards: RewardColumns;
  /** 1 = a token of the response; the others get advantage 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface MultiRewardAdvantageOptions
  extends MultiRewardConventions, PresetOption<"multiRewardAdvantage">, BackendOption, CollectiveOption {
  /** Weight of each reward function. Default: all 1. */
  readonly weights?: ArrayLike<number>;
}

/** Advantages are 0 for a row on which every function abstained. */
export interface MultiRewardAdvantageResult extends RowAdvantages {
  /** The weighted sum of each row: of rewards, or of normalised rewards. NaN where every function abstained. */
  readonly rewards: FloatArray;
  /** The std of each row's group, or of the batch; without epsilon. NaN for a lone scorable row among others. */
  readonly stds: FloatArray;
  /** 1 where that std is exactly 0: the scores are equal. */
  readonly zeroStd: Uint8Array;
  /** `reward`, `reward_std`, `frac_reward_zero_std`: means over the rows that have them. */
  readonly metrics: Readonly<Record<"reward" | "reward_std" | "frac_reward_zero_std", number>>;
}

/** Normalises with abstaining NaN; a group in which one row alone has a score gives 0. */
function normalize(
  op: string,
  values: FloatArray,
  groups: Groups,
  conventions: GroupConventions,
  backend: BackendOption,
) {
  return normalizeItems(op, { values, groups }, { nan: "abstain", singleton: "zero", ...conventions, ...backend });
}

/** The std behind each row. One number has a std where it is all there is, and none where its siblings abstained. */
function stdsOfRows({ stds, counts, groupIds }: GroupNormalizeResult, { offsets }: Groups): Float64Array {
  return Float64Array.from(groupIds, (g) => {
    const size = offsets[g + 1]! - offsets[g]!;
    return counts[g]! < 2 && size > 1 ? NaN : stds[g]!;
  });
}

interface Normalized {
  readonly advantages: Float64Array;
  readonly sums: Float64Array;
  readonly stds: Float64Array;
}

function sumThenNormalize(
  op: string,
  given: CheckedColumns,
  groups: Groups,
  scale: (typeof SCALES)[number],
  epsilon: number,
  backend: BackendOption,
): Normalized {
  const sums = weightedSums(given, backend);
  const own = normalize(op, sums, groups, { scale: scale === "group" ? "std" : "none", epsilon }, backend);
  const centred = Float64Array.from(own.normalized);
  if (scale !== "batch") return { advantages: centred, sums, stds: stdsOfRows(own, groups) };
  const everything = oneGroup(given.B);
  const batch = normalize(op, sums, everything, {}, backend);
  const divisor = (batch.stds[0] ?? 0) + epsilon;
  // A batch of equal scores has nothing to divide; with epsilon 0 it would be 0/0.
  const advantages = centred.map((x) => (x === 0 ? 0 : x / divisor));
  return { advantages, sums, stds: stdsOfRows(batch, everything) };
}

function normalizeThenSum(
  op: string,
  given: CheckedColumns,
  groups: Groups,
  epsilon: number,
  { functionConventions, finalEpsilon = epsilon, normalizeOver }: MultiRewardConventions,
  backend: BackendOption,
): Normalized {
  const columns = given.columns.map((column) => {
    const conventions = { epsilon, ...functionConventions };
    const { normalized } = normalize(op, asFloat(column, "float64"), groups, conventions, backend);
    // An abstaining function still abstains.
    return normalized.map((z, b) => (Number.isNaN(column[b]) ? NaN : z));
  });
  const sums = weightedSums({ ...given, columns }, backend);
  const everything = oneGroup(given.B);
  const batch = normalize(op, sums, everything, { epsilon: finalEpsilon }, backend);
  const advantages = normalizeOver === "tokens" ? sums.map((x) => (Number.isNaN(x) ? 0 : x)) : batch.normalized;
  return { advantages: Float64Array.from(advantages), sums, stds: stdsOfRows(batch, everything) };
}

/** The rewards and groups of all workers; the rows here are begin … end − 1. */
function gatherRewards(op: string, collective: Collective | undefined, given: CheckedColumns, groups: Groups) {
  if (!collective) return { given, groups, begin: 0, end: given.B };
  needAgreement(op, "the number of reward functions", collective, given.columns.length);
  const gathered = given.columns.map((column) => gatherFloats(op, collective, column));
  const { values, begin, end } = gathered[0]!;
  const columns = gathered.map((column) => column.values);
  return { given: { ...given, columns, B: values.length }, groups: gatherGroups(op, collective, groups), begin, end };
}

function rounded(values: Float64Array, dtype: FloatDType): FloatArray {
  return dtype === "float64" ? values : Float32Array.from(values);
}

/**
 * Advantages from the rewards of several functions, with weights w_f; NaN says that a function abstains on a row.
 *
 *     R_b = Σ_f w_f·r_bf over the functions that have a reward
 *     "sumThenNormalize"   a_b = (R_b − mean of the group) / (std + ε)      std of the group or the batch, or no division
 *     "normalizeThenSum"   z_bf = (r_bf − mean) / (std + ε) per function and group,  R_b = Σ_f w_f·z_bf,
 *                          a_b = (R_b − mean) / (std + ε) over the rows of the batch, or over its kept tokens
 *
 * Means and stds (ddof 1) are over the rows that have a number. Rows without any, and rows whose siblings all abstained, get
 * 0; equal scores give exact zeros. In float64 throughout. With a `collective` groups, batch and metrics span its workers.
 *
 * @param batch `groups` (a label per row, or `"all"`) or `groupOffsets`
 * @param options preset `"trl"`: ε = 1e-4
 * @returns in the widest type of the rewards; rowAdvantages in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 * @see Liu et al. 2026, GDPO (normalise, then sum)
 */
export function multiRewardAdvantage(
  batch: MultiRewardBatch,
  options: MultiRewardAdvantageOptions = {},
): MultiRewardAdvantageResult {
  const op = "multiRewardAdvantage";
  const resolved = resolvePreset(op, options.preset, options);
  const local = needRewardColumns(op, batch.rewards, options.weights);
  const localGroups = needGroups(op, batch, local.B);
  const rows = needRowsOf(op, batch, local.B);
  const mask = optionalMask(op, "mask", batch.mask, rows.n, rows.meaning);
  const { aggregation = "sumThenNormalize", scale = "group" } = resolved;
  needWord(op, "scale", scale, SCALES);
  const epsilon = needNumber(op, "epsilon", resolved.epsilon ?? 1e-6, { min: 0 });
  const backend: BackendOption = { backend: options.backend };
  const separately = needWord(op, "aggregation", aggregation, AGGREGATIONS) === 1;
  const overTokens = needWord(op, "normalizeOver", resolved.normalizeOver ?? "rows", OVER) === 1 && separately;
  if (resolved.finalEpsilon !== undefined) needNumber(op, "finalEpsilon", resolved.finalEpsilon, { min: 0 });
  const { given, groups, begin, end } = gatherRewards(op, options.collective, local, localGroups);
  const { advantages, sums, stds } = separately
    ? normalizeThenSum(op, given, groups, epsilon, resolved, backend)
    : sumThenNormalize(op, given, groups, scale, epsilon, backend);

  const zeroStd = Uint8Array.from(stds, (std) => (std === 0 ? 1 : 0));
  const numbers = (values: Float64Array): number[] => Array.from(values).filter((x) => !Number.isNaN(x));
  const dtype = widestFloat(...given.columns);
  const rowAdvantages = advantages.slice(begin, end);
  const where = { layout: layoutOfRows(rows), mask };
  const tokens = () => spreadRows(op, where, rowAdvantages, "float64", backend);
  const spread = { ...where.layout, mask: mask ?? undefined, ...backend, collective: options.collective };
  return {
    advantages: overTokens
      ? roundedTo(dtype, whitenTokens(tokens(), { where: spread }, undefined))
      : spreadRows(op, where, rowAdvantages, dtype, backend),
    rowAdvantages,
    rewards: rounded(sums.slice(begin, end), dtype),
    stds: rounded(stds.slice(begin, end), dtype),
    zeroStd: zeroStd.slice(begin, end),
    metrics: {
      reward: average(numbers(sums)),
      reward_std: average(numbers(stds)),
      frac_reward_zero_std: average(Array.from(zeroStd)),
    },
  };
}

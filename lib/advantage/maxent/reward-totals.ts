// One reward a completion from those of several reward functions.
import { needFloats } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { allocateFloat, widestFloat } from "../../core/float-arrays";
import { dtypeError, optionError, shapeError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import { type PresetOption, resolvePreset } from "../../presets";

export interface RewardTotalConventions {
  /** Products and partial sums are kept in float64, or rounded to float32 one by one; then totals are float32. Default `"float64"`. */
  readonly rounding?: "float64" | "float32";
}

export interface RewardTotalsOptions extends RewardTotalConventions, PresetOption<"rewardTotals"> {
  /** One per reward function; NaN removes the function. Default: 1 each. */
  readonly weights?: ArrayLike<number>;
  /** Completions; needed where there is no reward function. Default: the length of the first array. */
  readonly count?: number;
}

export interface RewardTotals<Totals extends FloatArray = FloatArray> {
  /** One per completion; float64 if a reward is (and `rounding` does not say float32), else float32. */
  readonly totals: Totals;
  /** The rewards as they came, unweighted, NaN kept: one float64 array per reward function. */
  readonly perReward: readonly Float64Array[];
}

const ROUNDINGS = ["float64", "float32"] as const;

function needWeights(op: string, weights: ArrayLike<number> | undefined, functions: number): readonly number[] {
  if (weights === undefined) return new Array<number>(functions).fill(1);
  if (weights.length !== functions)
    throw shapeError(op, "weights.length", weights.length, `${functions}, one for each reward function`);
  return Array.from(weights, (weight: unknown, r) => {
    if (typeof weight !== "number") throw optionError(op, `weights[${r}]`, weight, "a number");
    return weight;
  });
}

/** As rewardTotals, for the public function `op`. */
export function totalsOf(
  op: string,
  rewards: readonly FloatArray[],
  options: Omit<RewardTotalsOptions, "preset">,
): RewardTotals {
  if (!Array.isArray(rewards)) throw dtypeError(op, "rewards", rewards, "one float array for each reward function");
  const first: unknown = rewards[0];
  const length = ArrayBuffer.isView(first) ? (first as FloatArray).length : 0;
  const count = needNumber(op, "count", options.count ?? length, { min: 0, integer: true });
  const columns = rewards.map((column, r) => needFloats(op, `rewards[${r}]`, column, count, "one per completion"));
  const weights = needWeights(op, options.weights, columns.length);
  const single = needWord(op, "rounding", options.rounding ?? "float64", ROUNDINGS) === 1;
  const round = single ? Math.fround : (x: number) => x;

  const totals = allocateFloat(single ? "float32" : widestFloat(...columns), count);
  for (let i = 0; i < count; ++i) {
    let total = 0;
    columns.forEach((column, r) => {
      const product = round(column[i]! * weights[r]!);
      if (!Number.isNaN(product)) total = round(total + product);
    });
    totals[i] = total;
  }
  return { totals, perReward: columns.map((column) => Float64Array.from(column)) };
}

/**
 * Weighted sum of the rewards of each completion, in the order of the functions:
 *
 *     total_i = Σ_r weights_r·rewards_r,i        a product that is NaN adds nothing
 *
 * So NaN says that a reward function does not apply to a completion; where none applies the total is 0. A weight of 0 removes an
 * infinite reward too. Infinities pass, opposite ones make NaN. Preset `"maxent"` rounds each product and sum to float32.
 *
 * @param rewards one float array per reward function, one number per completion each
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE or _OPTION, naming the argument
 */
export function rewardTotals(
  rewards: readonly Float32Array[],
  options?: RewardTotalsOptions,
): RewardTotals<Float32Array>;
export function rewardTotals(rewards: readonly FloatArray[], options?: RewardTotalsOptions): RewardTotals;
export function rewardTotals(rewards: readonly FloatArray[], options: RewardTotalsOptions = {}): RewardTotals {
  return totalsOf("rewardTotals", rewards, resolvePreset("rewardTotals", options.preset, options));
}

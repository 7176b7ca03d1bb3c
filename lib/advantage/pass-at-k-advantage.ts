// Only the best rollout of a group is rewarded, by its lead over the second best.
import { type PresetOption, resolvePreset } from "../presets";
import {
  compareScores,
  needScores,
  type OutcomeAdvantageResult,
  type OutcomeBatch,
  type OutcomeOptions,
} from "./outcome";
import type { GroupConventions } from "../ops/group";

/** Best of the group against the second best. */
export interface PassAtKConventions {
  /** Divide by the group's std + epsilon, or not. Default `"std"`. */
  readonly scale?: NonNullable<GroupConventions["scale"]>;
  /** Added to the std, >= 0. Default 1e-6. */
  readonly epsilon?: number;
  /** A NaN score makes its whole group NaN, or abstains: left out of the statistics, advantage 0. Default `"propagate"`. */
  readonly nan?: NonNullable<GroupConventions["nan"]>;
}

export interface PassAtKAdvantageOptions extends PassAtKConventions, OutcomeOptions, PresetOption<"passAtKAdvantage"> {}

/**
 * Advantages for the best of k (GRPO pass@k): a_best = (s_best − s_second) / (std + ε), 0 for every other row.
 *
 * Equal best scores lead by nothing: the whole group is 0, and so is a group of one. `scale: "none"` leaves the division out.
 *
 * @param batch rewards per row or per token, groups, and where the tokens lie
 * @returns per token in the type of the rewards, per row and per group in float64
 * @throws SurprisalError as `grpoAdvantage`
 */
export function passAtKAdvantage(batch: OutcomeBatch, options: PassAtKAdvantageOptions = {}): OutcomeAdvantageResult {
  const op = "passAtKAdvantage";
  const { scale = "std", epsilon = 1e-6, nan } = resolvePreset(op, options.preset, options);
  return compareScores(op, needScores(op, batch, options), {
    center: "runnerUp",
    scale,
    epsilon,
    singleton: "zero",
    nan,
  });
}

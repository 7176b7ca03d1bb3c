// Scores less the mean of the group's other scores.
import { type PresetOption, resolvePreset } from "../presets";
import {
  type BaselineConventions,
  compareScores,
  needScores,
  type OutcomeAdvantageResult,
  type OutcomeBatch,
  type OutcomeOptions,
} from "./outcome";

export type { BaselineConventions } from "./outcome";

export interface RlooAdvantageOptions extends BaselineConventions, OutcomeOptions, PresetOption<"rlooAdvantage"> {}

/**
 * Leave-one-out advantages (RLOO): a_b = s_b − mean of the group's other scores = (s_b − mean)·n/(n − 1).
 *
 * `rlooWithKlAdvantage` does the same for rewards of several functions with a KL penalty.
 *
 * @param batch rewards per row or per token, groups, and where the tokens lie
 * @returns per token in the type of the rewards, per row and per group in float64
 * @throws SurprisalError as `grpoAdvantage`
 * @see Ahmadian et al. 2024, Back to Basics (leave one out)
 */
export function rlooAdvantage(batch: OutcomeBatch, options: RlooAdvantageOptions = {}): OutcomeAdvantageResult {
  const op = "rlooAdvantage";
  const { singleton = "zero", nan } = resolvePreset(op, options.preset, options);
  return compareScores(op, needScores(op, batch, options), { center: "leaveOneOut", scale: "none", singleton, nan });
}

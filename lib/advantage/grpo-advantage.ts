// Advantages of rollouts relative to their group: GRPO, Dr. GRPO and their kin.
import type { GroupConventions } from "../ops/group";
import { type PresetOption, resolvePreset } from "../presets";
import {
  compareScores,
  needScores,
  type OutcomeAdvantageResult,
  type OutcomeBatch,
  type OutcomeOptions,
} from "./outcome";

export interface GrpoAdvantageOptions extends GroupConventions, OutcomeOptions, PresetOption<"grpoAdvantage"> {}

/**
 * Advantages of rollouts relative to their group (GRPO): the scores of one prompt's rollouts, centred and scaled.
 *
 *     a_b = (s_b − mean) / (std + ε)        the default: ddof 1, ε = 1e-6, a group of one gets 0
 *     a_b = s_b − mean                      scale "none" (Dr. GRPO)
 *
 * Equal scores give exact zeros. The score is summed and the statistics are taken in float64, whatever the input type.
 *
 * @param batch rewards per row or per token, groups (`"all"`: one), and where the tokens lie
 * @param options `preset` takes a trainer's conventions
 * @returns per token in the type of the rewards, per row and per group in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 * @see Shao et al. 2024, DeepSeekMath (outcome supervision); Liu et al. 2025, Understanding R1-Zero-Like Training
 */
export function grpoAdvantage(batch: OutcomeBatch, options: GrpoAdvantageOptions = {}): OutcomeAdvantageResult {
  const op = "grpoAdvantage";
  const { center, scale, ddof, epsilon, varianceFloor, singleton, nan } = resolvePreset(op, options.preset, options);
  return compareScores(op, needScores(op, batch, options), {
    center,
    scale,
    ddof,
    epsilon,
    varianceFloor,
    singleton,
    nan,
  });
}

// Group-relative advantages in the form that all outcome estimators share. groupAdvantage is the same for rewards alone.
import type { GroupConventions } from "../ops/group";
import { type PresetOption, resolvePreset } from "../presets";
import { compareScores, needScores, type OutcomeAdvantageResult, type OutcomeBatch, type OutcomeOptions } from "./outcome";

export interface GrpoAdvantageOptions extends GroupConventions, OutcomeOptions, PresetOption<"groupAdvantage"> {}

/**
 * Advantages of rollouts relative to their group (GRPO), with the options of `groupAdvantage`:
 *
 *     a_b = (s_b − mean) / (std + ε) at the kept tokens;   scale "none": a_b = s_b − mean (Dr. GRPO)
 *
 * @param batch rewards per row or per token, groups, and where the tokens lie
 * @returns per token in the type of the rewards, per row and per group in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 * @see Shao et al. 2024, DeepSeekMath (outcome supervision); Liu et al. 2025, Understanding R1-Zero-Like Training
 */
export function grpoAdvantage(batch: OutcomeBatch, options: GrpoAdvantageOptions = {}): OutcomeAdvantageResult {
  const op = "grpoAdvantage";
  const { center, scale, ddof, epsilon, varianceFloor, singleton, nan } = resolvePreset("groupAdvantage", options.preset, options);
  return compareScores(op, needScores(op, batch, options), {
    ...(center && { center }),
    ...(scale && { scale }),
    ...(ddof !== undefined && { ddof }),
    ...(epsilon !== undefined && { epsilon }),
    ...(varianceFloor !== undefined && { varianceFloor }),
    ...(singleton && { singleton }),
    ...(nan && { nan }),
  });
}

// Scores less a baseline that counts each rollout by its length.
import { keptPerRow } from "../ops/reduce/count-kept";
import { type PresetOption, resolvePreset } from "../presets";
import {
  type BaselineConventions,
  compareScores,
  needScores,
  type OutcomeAdvantageResult,
  type OutcomeBatch,
  type OutcomeOptions,
} from "./outcome";

export interface OpoAdvantageOptions extends BaselineConventions, OutcomeOptions, PresetOption<"opoAdvantage"> {}

export interface OpoAdvantageResult extends OutcomeAdvantageResult {
  /** Kept tokens of each row: what it weighs in the baseline. */
  readonly lengths: Float64Array;
}

/**
 * Advantages against the length-weighted mean of the group (OPO): a_b = s_b − Σ_i c_i·s_i / Σ_i c_i, c = kept tokens of a row.
 *
 * The baseline is in `means`. A row without kept tokens has no say in it, whatever its score.
 *
 * @param batch rewards per row or per token, groups, and where the tokens lie
 * @returns per token in the type of the rewards, per row and per group in float64
 * @throws SurprisalError as `grpoAdvantage`
 * @see Hao et al. 2025, On-Policy RL with Optimal Reward Baseline
 */
export function opoAdvantage(batch: OutcomeBatch, options: OpoAdvantageOptions = {}): OpoAdvantageResult {
  const op = "opoAdvantage";
  const { singleton = "zero", nan } = resolvePreset(op, options.preset, options);
  const scored = needScores(op, batch, options);
  const lengths = keptPerRow(op, scored.batch.rows, scored.batch.mask, options);
  return { ...compareScores(op, scored, { scale: "none", singleton, nan, weights: lengths }), lengths };
}

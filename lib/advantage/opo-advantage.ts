// Scores less a baseline that counts each rollout by its length.
import { rowBegin, rowEnd } from "../core/rows";
import { type PresetOption, resolvePreset } from "../presets";
import type { BaselineConventions } from "../presets/estimator-conventions";
import type { CheckedBatch } from "./batch";
import { compareScores, needScores, type OutcomeAdvantageResult, type OutcomeBatch, type OutcomeOptions } from "./outcome";

export interface OpoAdvantageOptions extends BaselineConventions, OutcomeOptions, PresetOption<"opoAdvantage"> {}

export interface OpoAdvantageResult extends OutcomeAdvantageResult {
  /** Kept tokens of each row: what it weighs in the baseline. */
  readonly lengths: Float64Array;
}

function keptLengths({ rows, mask }: CheckedBatch): Float64Array {
  return Float64Array.from({ length: rows.B }, (_, b) => {
    const begin = rowBegin(rows, b);
    const end = rowEnd(rows, b);
    return mask ? mask.subarray(begin, end).reduce((count, kept) => count + (kept !== 0 ? 1 : 0), 0) : end - begin;
  });
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
  const { singleton = "zero" } = resolvePreset(op, options.preset, options);
  const scored = needScores(op, batch, options);
  const lengths = keptLengths(scored.batch);
  return { ...compareScores(op, scored, { scale: "none", singleton, weights: lengths }), lengths };
}

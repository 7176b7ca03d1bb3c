// Centred scores, stretched by the share of rollouts that have one.
import { needNumber } from "../core/option-checks";
import { type PresetOption, resolvePreset } from "../presets";
import {
  type BaselineConventions,
  compareScores,
  needScores,
  type OutcomeAdvantageResult,
  type OutcomeBatch,
  type OutcomeOptions,
} from "./outcome";

export interface GpgAdvantageOptions extends BaselineConventions, OutcomeOptions, PresetOption<"gpgAdvantage"> {
  /** Divides the advantages, > 0. Default 1. */
  readonly normalizer?: number;
}

export interface GpgAdvantageResult extends OutcomeAdvantageResult {
  /** α: rows of the batch over rows whose score is not 0. */
  readonly alpha: number;
}

/**
 * Group policy gradient (GPG): a_b = α·(s_b − mean) / normalizer, α = rows / max(#{s ≠ 0}, 1) over the batch.
 *
 * @param batch rewards per row or per token, groups, and where the tokens lie
 * @returns per token in the type of the rewards, per row and per group in float64
 * @throws SurprisalError as `grpoAdvantage`
 * @see Chu et al. 2025, GPG: A Simple and Strong Reinforcement Learning Baseline for Model Reasoning
 */
export function gpgAdvantage(batch: OutcomeBatch, options: GpgAdvantageOptions = {}): GpgAdvantageResult {
  const op = "gpgAdvantage";
  const { singleton = "zero", nan } = resolvePreset(op, options.preset, options);
  const normalizer = needNumber(op, "normalizer", options.normalizer ?? 1, { min: 0, above: true });
  const scored = needScores(op, batch, options);
  // A row that abstains is none of the batch.
  const scores = nan === "abstain" ? scored.scores.filter((score) => !Number.isNaN(score)) : scored.scores;
  const here = Int32Array.of(scores.length, scores.filter((score) => score !== 0).length);
  const [rows, scoring] = options.collective ? options.collective.allReduce(here, "sum") : here;
  const alpha = rows! / Math.max(scoring!, 1);
  return { ...compareScores(op, scored, { scale: "none", singleton, nan, gain: alpha / normalizer }), alpha };
}

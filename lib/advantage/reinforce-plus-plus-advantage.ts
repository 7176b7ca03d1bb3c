// Discounted returns, or outcome rewards less the group's mean, whitened over the batch.
import type { BackendOption } from "../backend/select";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { floatDType } from "../core/float-arrays";
import { layoutOfRows, rowBegin, rowEnd, type Rows } from "../core/row-layout";
import { discountedReturns } from "../ops/scan";
import { type PresetOption, resolvePreset } from "../presets";
import {
  type BaselineConventions,
  compareScores,
  needScores,
  type OutcomeAdvantageResult,
  type OutcomeBatch,
  type OutcomeOptions,
} from "./outcome";
import { spreadRows } from "./rewarded-batch";
import {
  needTokenBatch,
  roundedTo,
  type TokenRewardBatch,
  type WhitenedScanConventions,
  type Whitening,
  whitenTokens,
} from "./token-rewards";

/** Outcome rewards less the group's mean, whitened over tokens. */
export interface WhitenedBaselineConventions extends BaselineConventions {
  /** Default: ddof 1, 1e-8 added to the variance. */
  readonly whitening?: Whitening;
}

export interface ReinforcePlusPlusOptions
  extends WhitenedScanConventions, PresetOption<"reinforcePlusPlusAdvantage">, BackendOption, CollectiveOption {
  /** Discount of one step, in [0, 1]. Default 1. */
  readonly gamma?: number;
}

/** Per token. */
export interface ReinforcePlusPlusResult {
  /** Whitened over the kept tokens, 0 under the mask. */
  readonly advantages: FloatArray;
  /** Discounted returns, before whitening; 0 under the mask, but for `transformMasked`. */
  readonly returns: FloatArray;
}

/**
 * REINFORCE++: discounted returns G[t] = r[t] + γ·G(next), whitened over the kept tokens of the batch.
 *
 * A masked token inside a row is skipped. Preset `"verl-2026-01"` cuts the return there: what was rewarded behind a masked token does
 * not reach the tokens before it. Returns of masked tokens are then what is earned from there to the cut, as upstream.
 *
 * @returns in the type of the rewards; computed in float64, rounded once
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Hu et al. 2025, REINFORCE++
 */
export function reinforcePlusPlusAdvantage(
  batch: TokenRewardBatch,
  options: ReinforcePlusPlusOptions = {},
): ReinforcePlusPlusResult {
  const op = "reinforcePlusPlusAdvantage";
  const { maskMode, whitening, transformMasked = false } = resolvePreset(op, options.preset, options);
  const checked = needTokenBatch(op, batch, [], options);
  const returns = discountedReturns(checked.rewards, {
    ...checked.where,
    gamma: options.gamma ?? 1,
    transformMasked,
    maskMode,
  });
  return {
    advantages: roundedTo(checked.dtype, whitenTokens(returns, checked, whitening)),
    returns: roundedTo(checked.dtype, returns),
  };
}

/** The mask without the rows that are left out. */
function withoutRows(rows: Rows, mask: Uint8Array | null, left: readonly boolean[]): Uint8Array | null {
  if (!left.some(Boolean)) return mask;
  const kept = mask ? mask.slice() : new Uint8Array(rows.n).fill(1);
  left.forEach((out, b) => {
    if (out) kept.fill(0, rowBegin(rows, b), rowEnd(rows, b));
  });
  return kept;
}

export interface ReinforcePlusPlusBaselineOptions
  extends WhitenedBaselineConventions, OutcomeOptions, PresetOption<"reinforcePlusPlusBaselineAdvantage"> {}

/**
 * REINFORCE++ with a group baseline: s_b − mean of the group at each kept token, whitened over the kept tokens of the batch.
 *
 * A long row counts more in the whitening than a short one. Constant groups give exact zeros before it; the batch's mean is
 * subtracted from them, too.
 *
 * @param batch rewards per row or per token, groups, and where the tokens lie
 * @returns per token in the type of the rewards; `rowAdvantages` are before whitening
 * @throws SurprisalError as `grpoAdvantage`
 * @see Hu et al. 2025, REINFORCE++ (the form with a group baseline)
 */
export function reinforcePlusPlusBaselineAdvantage(
  batch: OutcomeBatch,
  options: ReinforcePlusPlusBaselineOptions = {},
): OutcomeAdvantageResult {
  const op = "reinforcePlusPlusBaselineAdvantage";
  const { singleton = "zero", nan, whitening } = resolvePreset(op, options.preset, options);
  const scored = needScores(op, batch, options);
  const compared = compareScores(op, scored, { scale: "none", singleton, nan });
  const { rows, mask, rewards } = scored.batch;
  const tokens = spreadRows(op, scored.batch, compared.rowAdvantages, "float64", scored.backend);
  const counted = nan === "abstain" ? withoutRows(rows, mask, Array.from(scored.scores, Number.isNaN)) : mask;
  const where = { ...layoutOfRows(rows), mask: counted ?? undefined, ...scored.backend, ...scored.together };
  const advantages = roundedTo(floatDType(rewards), whitenTokens(tokens, { where }, whitening));
  return { ...compared, advantages, returns: advantages };
}

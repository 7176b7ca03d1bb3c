// One policy loss from its form: weights of the aggregation, the native pass, the entropy bonus, and what is reported.
import type { FloatArray } from "../../core/dtype";
import { optionalMask } from "../../core/arrays";
import { optionError } from "../../core/errors";
import { needFlag, needNumber, needWord } from "../../core/option-checks";
import type { RowForm, RowLossOptions, TokenForm, TokenLossOptions } from "../../ops/loss";
import { spreadRows } from "../../ops/group/broadcast";
import { needBounds } from "../../ops/loss/bounds";
import { evaluateLoss } from "../../ops/loss/evaluate-loss";
import { gapSums } from "../../ops/loss/kl-estimates";
import type { TokenTerms } from "../../ops/loss/logit-gradient";
import {
  type CheckedKl,
  type LossForm,
  type LossInputs,
  needKlParameters,
  NO_KL,
  refuseTerms,
} from "../../ops/loss/loss-inputs";
import { rowForm } from "../../ops/loss/row-loss";
import { tokenForm } from "../../ops/loss/token-loss";
import { overallMoments } from "../../ops/reduce/moments";
import { usedAccumulation, weighRows } from "../aggregation";
import { applyBonus, type Bonus, bonusSlopes } from "../entropy-bonus";
import type { CheckedPolicyBatch, CheckedPolicyInputs } from "./policy-batch";
import type { Evaluation, PolicyLossResult } from "./policy-loss-result";
import { type LossMetrics, policyMetrics } from "./policy-metrics";
import { ownImportance, withImportanceKl } from "./importance-kl-term";
import { METRIC_NAMES, type PolicyLossOptions } from "./policy-loss-options";

export interface TokenFormCall {
  readonly skeleton: "token";
  readonly form: TokenForm &
    Partial<Pick<TokenLossOptions, "ratioCap" | "logClamp" | "clipLow" | "clipHigh" | "boundsPer">>;
}

/** A form of the token map or of the row-coupled map with its parameters, framework names resolved. */
export type FormCall =
  | TokenFormCall
  | {
      readonly skeleton: "row";
      readonly form: RowForm & Partial<Pick<RowLossOptions, "ratioCap" | "logClamp" | "maxLogRatio" | "boundsPer">>;
      /** Whole-row log-probs in place of the batch's. */
      readonly oldLogProbs?: FloatArray;
    };

/** What entropies add to a loss, by row; null without a bonus. */
function bonusOf(
  op: string,
  { rows, mask }: CheckedPolicyInputs,
  options: PolicyLossOptions,
  aggregated: Float64Array,
): Bonus | null {
  const { entropyBonus } = options;
  if (!entropyBonus) return null;
  const { aggregation = options.entropyAggregation } = entropyBonus;
  const coefficient = needNumber(op, "entropyBonus.coefficient", entropyBonus.coefficient);
  const chosen = optionalMask(op, "entropyBonus.mask", entropyBonus.mask, rows.n, rows.meaning);
  const both = chosen && mask ? chosen.map((on, i) => (on !== 0 && mask[i] !== 0 ? 1 : 0)) : (chosen ?? mask);
  const where = { rows, mask: both };
  const weights = aggregation
    ? weighRows(op, "entropyBonus.aggregation", where, { ...options, mode: aggregation })
    : aggregated;
  return { slopes: bonusSlopes(coefficient, weights), where };
}

function needEntropies(op: string, entropies: FloatArray | null): FloatArray {
  if (entropies) return entropies;
  throw optionError(op, "entropies", undefined, "entropies per token, since entropyBonus is given");
}

/** Mean of a − b over kept tokens, or null where one of them is not given. */
function meanGap(
  op: string,
  { rows, mask }: CheckedPolicyInputs,
  a: FloatArray | null,
  b: FloatArray | null,
  { backend }: PolicyLossOptions,
): number | null {
  if (!a || !b) return null;
  const { rowSums, counts } = gapSums(op, a, b, { rows, mask }, backend);
  const kept = counts.reduce((sum, count) => sum + count, 0);
  return kept > 0 ? rowSums.reduce((sum, x) => sum + x, 0) / kept : 0;
}

function meanEntropyOf(
  op: string,
  { rows, mask }: CheckedPolicyInputs,
  entropies: FloatArray | null,
  { backend }: PolicyLossOptions,
): number | null {
  return entropies && overallMoments(op, entropies, { rows, mask }, backend).means[0]!;
}

/** The KL term as the native pass takes it. */
function klOf(
  op: string,
  { referenceLogProbs }: CheckedPolicyInputs,
  { kl, klClamps, klImportanceCorrected }: PolicyLossOptions,
  rowWeights: Float64Array,
): CheckedKl {
  if (kl === undefined) return NO_KL;
  if (!referenceLogProbs)
    throw optionError(op, "referenceLogProbs", undefined, "log-probs of the reference policy, since kl is given");
  if (ownImportance(op, kl) !== null) return NO_KL;
  const { kind = "k3", gradientKind, logClamp, valueClamp, importanceCorrected, coefficient } = kl;
  const clamps = klClamps?.[kind];
  return {
    reference: referenceLogProbs,
    weights: rowWeights,
    parameters: needKlParameters(op, "kl.", {
      kind,
      gradientKind,
      timesRatio: needFlag(op, "kl.importanceCorrected", importanceCorrected ?? klImportanceCorrected) === 1,
      coefficient: needNumber(op, "kl.coefficient", coefficient),
      logClamp: logClamp ?? clamps?.logClamp,
      valueClamp: valueClamp ?? clamps?.valueClamp,
    }),
  };
}

const OUTPUTS = ["losses", "ratios", "klValues", "clipped", "gradLogProbs"] as const;

/** What a row weighs, for losses that say it themselves, from the aggregation's weights. */
export type OwnWeights = (aggregated: Float64Array) => Float64Array;

/** A policy loss but for the log-probs. */
export interface PolicyPlan {
  readonly batch: CheckedPolicyInputs;
  readonly options: PolicyLossOptions;
  readonly form: LossForm;
  readonly inputs: LossInputs;
  /** What a kept token of each row weighs in the KL term and the entropy bonus. */
  readonly aggregated: Float64Array;
  /** And in the policy term. */
  readonly rowWeights: Float64Array;
  readonly bonus: Bonus | null;
}

/** Everything that does not depend on the log-probs: the weights, and the inputs of the native pass. */
export function planPolicy(
  op: string,
  batch: CheckedPolicyInputs,
  options: PolicyLossOptions,
  call: FormCall,
  weights?: OwnWeights,
): PolicyPlan {
  needWord(op, "metricNames", options.metricNames ?? "verl", METRIC_NAMES);
  const { rows, mask, termMask, rowMask } = batch;
  const mode = options.aggregation ?? "tokenMean";
  const aggregated = weighRows(op, "aggregation", { rows, mask }, { ...options, mode });
  const own = weights ? weights(aggregated) : aggregated;
  const rowWeights = rowMask ? own.map((weight, b) => (rowMask[b] === 0 ? 0 : weight)) : own;
  const form = call.skeleton === "token" ? tokenForm(op, call.form) : rowForm(op, call.form);
  refuseTerms(op, form, termMask);
  const inputs: LossInputs = {
    rows,
    old: (call.skeleton === "row" && call.oldLogProbs) || batch.oldLogProbs,
    advantage: batch.advantages,
    factor: batch.rolloutWeights,
    rowWeights,
    mask,
    termMask,
    marks: (call.form as { readonly marks?: Uint8Array }).marks ?? null,
    kl: klOf(op, batch, options, aggregated),
    bounds: needBounds(op, call.form, rows, form),
  };
  return { batch, options, form, inputs, aggregated, rowWeights, bonus: bonusOf(op, batch, options, aggregated) };
}

/** The same as a loss of tokens whose log-probs will come from logits. */
export function termsOf(op: string, { form, inputs, bonus, options }: PolicyPlan): TokenTerms {
  const entropyWeights = bonus && spreadRows(op, bonus.slopes, bonus.where, options.backend);
  return { form, inputs, entropyWeights };
}

/** The plan carried out on checked log-probs and entropies. */
export function carryOut(op: string, plan: PolicyPlan, logProbs: FloatArray, entropies: FloatArray | null): Evaluation {
  const { batch, options, form, inputs, aggregated, rowWeights } = plan;
  const { backend } = options;
  const result = evaluateLoss(op, { form, logProbs, inputs, stream: null }, { outputs: OUTPUTS, backend });
  const bonus = plan.bonus && applyBonus(op, needEntropies(op, entropies), plan.bonus, backend);
  const { reference, parameters } = inputs.kl;
  const klLoss = reference ? weighted(aggregated, result.rowFigures.kl, parameters.coefficient) : 0;
  const entropyLoss = bonus ? bonus.loss : 0;
  const { oldLogProbs, samplerLogProbs } = batch;
  const evaluation: Evaluation = {
    rows: batch.rows,
    mask: batch.mask,
    figures: result.figures,
    rowFigures: result.rowFigures,
    samplerGap: meanGap(op, batch, samplerLogProbs, oldLogProbs, options),
    oldGap: inputs.old === oldLogProbs ? null : meanGap(op, batch, oldLogProbs, logProbs, options),
    meanEntropy: meanEntropyOf(op, batch, entropies, options),
    entropyCoefficient: options.entropyBonus?.coefficient ?? null,
    accumulation: usedAccumulation({ ...options, mode: options.aggregation ?? "tokenMean" }),
    loss: result.total + entropyLoss,
    policyLoss: result.total - klLoss,
    klLoss,
    entropyLoss,
    gradLogProbs: result.gradLogProbs,
    gradEntropies: bonus ? bonus.gradEntropies : undefined,
    losses: result.losses,
    ratios: result.ratios,
    kl: reference ? result.klValues : undefined,
    clipped: result.clipped,
    rowWeights,
    klRowWeights: aggregated,
  };
  return withImportanceKl(op, evaluation, batch, logProbs, options);
}

/** Evaluates `call` on a checked batch. */
export function evaluatePolicy(
  op: string,
  batch: CheckedPolicyBatch,
  options: PolicyLossOptions,
  call: FormCall,
  weights?: OwnWeights,
): Evaluation {
  return carryOut(op, planPolicy(op, batch, options, call, weights), batch.logProbs, batch.entropies);
}

/** factor · Σ_b weight[b]·figure[b], in row order; a weight of 0 leaves the row out. */
function weighted(weights: Float64Array, figure: Float64Array, factor: number): number {
  return factor === 0
    ? 0
    : factor * weights.reduce((sum, weight, b) => (weight === 0 ? sum : sum + weight * figure[b]!), 0);
}

/** The public result of a policy loss: the evaluation with its metrics. */
export function policyResult(e: Evaluation, options: PolicyLossOptions, metrics: LossMetrics): PolicyLossResult {
  const {
    loss,
    policyLoss,
    klLoss,
    entropyLoss,
    gradLogProbs,
    gradEntropies,
    losses,
    ratios,
    kl,
    clipped,
    rowWeights,
  } = e;
  return {
    loss,
    policyLoss,
    klLoss,
    entropyLoss,
    metrics: policyMetrics(e, options, metrics),
    gradLogProbs,
    gradEntropies,
    losses,
    ratios,
    kl,
    clipped,
    rowWeights,
  };
}

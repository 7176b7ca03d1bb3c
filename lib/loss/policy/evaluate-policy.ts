// One policy loss from its form: weights of the aggregation, the native pass, the entropy bonus, and what is reported.
import type { FloatArray } from "../../core/dtype";
import { optionalMask } from "../../core/arrays";
import { argumentError } from "../../core/errors";
import { needFlag, needNumber, needWord } from "../../core/option-checks";
import {
  klEstimates,
  type LossKl,
  type RowForm,
  type RowLossOptions,
  type TokenForm,
  type TokenLossOptions,
} from "../../ops/loss";
import type { LossInputOptions } from "../../ops/loss/types";
import { evaluateRowLoss } from "../../ops/loss/row-loss";
import { evaluateTokenLoss } from "../../ops/loss/token-loss";
import { type AggregationOptions, evaluateWeights, usedAccumulation } from "../aggregation";
import { moments } from "../../ops/reduce";
import { broadcastRows } from "../../ops/group/broadcast";
import { type EntropyBonusOptions, entropySlopes, evaluateEntropyBonus } from "../entropy-bonus";
import {
  type CheckedPolicyBatch,
  type CheckedPolicyInputs,
  needPolicyBatch,
  needPolicyInputs,
  type PolicyBatch,
  type PolicyInputs,
} from "./policy-batch";
import type { Evaluation, PolicyLossResult } from "./policy-loss-result";
import { type LossMetrics, policyMetrics } from "./policy-metrics";
import { type EntropyBonus, METRIC_NAMES, type PolicyLossOptions } from "./policy-loss-options";

export interface TokenFormCall {
  readonly skeleton: "token";
  readonly form: TokenForm & Partial<Pick<TokenLossOptions, "ratioCap" | "logClamp" | "clipLow" | "clipHigh">>;
}

/** A form of the token map or of the row-coupled map with its parameters, framework names resolved. */
export type FormCall =
  | TokenFormCall
  | {
      readonly skeleton: "row";
      readonly form: RowForm & Partial<Pick<RowLossOptions, "ratioCap" | "logClamp" | "maxLogRatio">>;
      /** Whole-row log-probs in place of the batch's. */
      readonly oldLogProbs?: FloatArray;
    };

/** The counts of the options, without those that are not given. */
function countsOf({
  tokens,
  rows,
  length,
  workers,
  accumulation,
  emptyRows,
  backend,
}: PolicyLossOptions): Partial<AggregationOptions> {
  return {
    tokens,
    rows,
    length,
    workers,
    accumulation,
    emptyRows,
    backend,
  };
}

/** The aggregation's weights, over all kept tokens. */
function weightsOf(op: string, batch: CheckedPolicyInputs, options: PolicyLossOptions): Float64Array {
  return evaluateWeights(op, "aggregation", {
    mode: options.aggregation ?? "tokenMean",
    ...batch.layout,
    mask: batch.mask ?? undefined,
    ...countsOf(options),
  });
}

const BONUS_NAMES = { coefficient: "entropyBonus.coefficient", mode: "entropyBonus.aggregation" };

/** The bonus as a function of its own takes it. */
function bonusOptions(
  op: string,
  batch: CheckedPolicyInputs,
  bonus: EntropyBonus,
  options: PolicyLossOptions,
  weights: Float64Array,
): EntropyBonusOptions {
  const chosen = optionalMask(op, "entropyBonus.mask", bonus.mask, batch.rows.n, batch.rows.meaning);
  const kept =
    chosen && batch.mask ? chosen.map((on, i) => (on !== 0 && batch.mask![i] !== 0 ? 1 : 0)) : (chosen ?? batch.mask);
  return {
    coefficient: bonus.coefficient,
    mode: bonus.aggregation ?? options.aggregation ?? "tokenMean",
    rowWeights: bonus.aggregation === undefined ? weights : undefined,
    ...batch.layout,
    mask: kept ?? undefined,
    ...countsOf(options),
  };
}

/** −coefficient·Σ W·H and its gradient. */
function bonusOf(
  op: string,
  batch: CheckedPolicyBatch,
  bonus: EntropyBonus,
  options: PolicyLossOptions,
  weights: Float64Array,
) {
  if (!batch.entropies)
    throw argumentError(
      "ERR_SURPRISAL_OPTION",
      op,
      "entropies",
      undefined,
      "entropies per token, since entropyBonus is given",
    );
  return evaluateEntropyBonus(op, BONUS_NAMES, batch.entropies, bonusOptions(op, batch, bonus, options, weights));
}

/** Mean of a − b over kept tokens, or null where one of them is not given. */
function meanGap(
  batch: CheckedPolicyBatch,
  a: FloatArray | null,
  b: FloatArray | null,
  { backend }: PolicyLossOptions,
): number | null {
  if (!a || !b) return null;
  const { rowSums, counts } = klEstimates(a, b, {
    kind: "k1",
    ...batch.layout,
    mask: batch.mask ?? undefined,
    backend,
  });
  const kept = counts.reduce((sum, count) => sum + count, 0);
  return kept > 0 ? rowSums.reduce((sum, x) => sum + x, 0) / kept : 0;
}

function meanEntropyOf(batch: CheckedPolicyBatch, { backend }: PolicyLossOptions): number | null {
  if (!batch.entropies) return null;
  return moments(batch.entropies, { ...batch.layout, mask: batch.mask ?? undefined, backend }).means[0]!;
}

/** The KL term as the native pass takes it. */
function klOf(
  op: string,
  batch: CheckedPolicyInputs,
  { kl, klClamps }: PolicyLossOptions,
  rowWeights: Float64Array,
): LossKl | undefined {
  if (kl === undefined) return undefined;
  const { referenceLogProbs } = batch;
  if (!referenceLogProbs)
    throw argumentError(
      "ERR_SURPRISAL_OPTION",
      op,
      "referenceLogProbs",
      undefined,
      "log-probs of the reference policy, since kl is given",
    );
  const { kind = "k3", gradientKind, logClamp, valueClamp, importanceCorrected, coefficient } = kl;
  const clamps = klClamps?.[kind];
  return {
    referenceLogProbs,
    kind,
    gradientKind,
    timesRatio: needFlag(op, "kl.importanceCorrected", importanceCorrected) === 1,
    coefficient: needNumber(op, "kl.coefficient", coefficient),
    rowWeights,
    logClamp: logClamp ?? clamps?.logClamp,
    valueClamp: valueClamp ?? clamps?.valueClamp,
  };
}

const OUTPUTS = ["losses", "ratios", "klValues", "clipped", "gradLogProbs"] as const;

/** What a row weighs, for losses that say it themselves, from the aggregation's weights. */
export type OwnWeights = (aggregated: Float64Array, batch: CheckedPolicyInputs) => Float64Array;

/** Everything that does not depend on the log-probs: the weights, and the options of the native pass but for the form. */
function planPolicy(op: string, batch: CheckedPolicyInputs, options: PolicyLossOptions, weights?: OwnWeights) {
  needWord(op, "metricNames", options.metricNames ?? "verl", METRIC_NAMES);
  const aggregated = weightsOf(op, batch, options);
  const own = weights ? weights(aggregated, batch) : aggregated;
  const { rowMask } = batch;
  const rowWeights = rowMask ? own.map((weight, b) => (rowMask[b] === 0 ? 0 : weight)) : own;
  const kl = klOf(op, batch, options, aggregated);
  const shared = {
    ...batch.layout,
    advantages: batch.advantages,
    advantagesPer: batch.advantagesPer,
    factors: batch.rolloutWeights ?? undefined,
    factorsPer: batch.rolloutWeights ? batch.rolloutWeightsPer : undefined,
    mask: batch.mask ?? undefined,
    termMask: batch.termMask ?? undefined,
    kl,
    rowWeights,
    backend: options.backend,
  };
  return { aggregated, rowWeights, kl, shared };
}

interface TokenLossPlan {
  /** The options of the token loss. */
  readonly loss: LossInputOptions & TokenFormCall["form"] & { readonly oldLogProbs?: FloatArray };
  /** d loss / d entropies, [n]; null without a bonus. */
  readonly entropyWeights: Float64Array | null;
}

/** A policy loss as a loss of tokens whose log-probs are yet to come. */
export function planTokenLoss(
  op: string,
  given: PolicyInputs,
  options: PolicyLossOptions,
  form: TokenFormCall["form"],
): TokenLossPlan {
  const batch = needPolicyInputs(op, given);
  const { aggregated, shared } = planPolicy(op, batch, options);
  const bonus =
    options.entropyBonus &&
    entropySlopes(op, BONUS_NAMES, bonusOptions(op, batch, options.entropyBonus, options, aggregated));
  return {
    loss: { ...shared, oldLogProbs: batch.oldLogProbs ?? undefined, ...form },
    entropyWeights: bonus ? (broadcastRows(op, "rowWeights", bonus.slopes, bonus.where) as Float64Array) : null,
  };
}

/** Evaluates `call` on the batch. */
export function evaluatePolicy(
  op: string,
  given: PolicyBatch,
  options: PolicyLossOptions,
  call: FormCall,
  weights?: OwnWeights,
): Evaluation {
  const batch = needPolicyBatch(op, given);
  const { aggregated, rowWeights, kl, shared } = planPolicy(op, batch, options, weights);
  const oldLogProbs = (call.skeleton === "row" && call.oldLogProbs) || batch.oldLogProbs;
  const arrays = { logProbs: batch.logProbs, oldLogProbs: oldLogProbs ?? undefined, outputs: OUTPUTS };
  const result =
    call.skeleton === "token"
      ? evaluateTokenLoss(op, { ...shared, ...arrays, ...call.form })
      : evaluateRowLoss(op, { ...shared, ...arrays, ...call.form });

  const bonus = options.entropyBonus ? bonusOf(op, batch, options.entropyBonus, options, aggregated) : null;
  const klLoss = kl ? weighted(aggregated, result.rowFigures.kl, kl.coefficient!) : 0;
  const entropyLoss = bonus ? bonus.loss : 0;
  return {
    batch,
    figures: result.figures,
    rowFigures: result.rowFigures,
    samplerGap: meanGap(batch, batch.samplerLogProbs, batch.oldLogProbs, options),
    oldGap: oldLogProbs === batch.oldLogProbs ? null : meanGap(batch, batch.oldLogProbs, batch.logProbs, options),
    meanEntropy: meanEntropyOf(batch, options),
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
    kl: kl && result.klValues,
    clipped: result.clipped,
    rowWeights,
  };
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
    metrics: policyMetrics(e, options.metricNames ?? "verl", metrics),
    gradLogProbs,
    gradEntropies,
    losses,
    ratios,
    kl,
    clipped,
    rowWeights,
  };
}

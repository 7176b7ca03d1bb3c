// One policy loss from its form: weights of the aggregation, the native pass, the entropy bonus, and what is reported.
import type { FloatArray } from "../../core/dtype";
import { optionalMask } from "../../core/arrays";
import { argumentError } from "../../core/errors";
import { needFlag, needNumber, needWord } from "../../core/options";
import { klEstimates, type LossFigures, type LossKl, type RowForm, type RowLossOptions, type TokenForm, type TokenLossOptions } from "../../ops/loss";
import type { LossInputOptions } from "../../ops/loss/options";
import { evaluateRowLoss } from "../../ops/loss/row-loss";
import { evaluateTokenLoss } from "../../ops/loss/token-loss";
import { type AggregationOptions, evaluateWeights, usedAccumulation } from "../aggregation";
import { moments } from "../../ops/reduce";
import { broadcastRows } from "../../ops/group/broadcast";
import { type EntropyBonusOptions, entropySlopes, evaluateEntropyBonus } from "../entropy-bonus";
import { type CheckedPolicyBatch, type CheckedPolicyInputs, needPolicyBatch, needPolicyInputs, type PolicyBatch, type PolicyInputs } from "./batch";
import { type LossMetrics, policyMetrics } from "./metrics";
import { type EntropyBonus, METRIC_NAMES, type PolicyLossOptions } from "./options";

/** What a loss answers. Arrays per token are 0 under the mask, in the widest float type of the inputs. */
export interface PolicyLossResult {
  /** The loss to minimise: policy term + KL penalty − entropy bonus, float64. */
  readonly loss: number;
  /** The policy term alone. */
  readonly policyLoss: number;
  /** The KL penalty, coefficient included; 0 without one. */
  readonly klLoss: number;
  /** −coefficient · Σ W·H; 0 without a bonus. */
  readonly entropyLoss: number;
  /** Scalars under the names of `metricNames`. */
  readonly metrics: Readonly<Record<string, number>>;
  /** d loss / d logProbs, [n]. */
  readonly gradLogProbs: FloatArray;
  /** d loss / d entropies, [n]; only with an entropy bonus. */
  readonly gradEntropies?: FloatArray;
  /** The policy term before aggregation: per token, or per row for losses of whole rows. */
  readonly losses: FloatArray;
  /** Ratios, per token or per row. */
  readonly ratios: FloatArray;
  /** KL estimates per token; only with a KL term. */
  readonly kl?: FloatArray;
  /** 1 where clipping cuts a kept token's gradient off, [n]. */
  readonly clipped: Uint8Array;
  /** What a kept token of each row weighs, [rows]. */
  readonly rowWeights: Float64Array;
}

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

/** What metrics are made of. */
export interface Evaluation extends Omit<PolicyLossResult, "metrics"> {
  readonly batch: CheckedPolicyBatch;
  /** Sums over the batch. */
  readonly figures: LossFigures<number>;
  /** The same of each row. */
  readonly rowFigures: LossFigures<Float64Array>;
  /** Mean of u − o over kept tokens, nats; null without sampler and old log-probs. */
  readonly samplerGap: number | null;
  /** Mean of o − ℓ over kept tokens where the ratio is not to o; else null, and in the figures. */
  readonly oldGap: number | null;
  /** Of all kept tokens, nats; null without entropies. */
  readonly meanEntropy: number | null;
  /** Null without a bonus. */
  readonly entropyCoefficient: number | null;
  /** What divided the weights because gradients of several batches are added. */
  readonly accumulation: number;
}

/** The counts of the options, without those that are not given. */
function countsOf({ tokens, rows, length, workers, accumulation, emptyRows, backend }: PolicyLossOptions): Partial<AggregationOptions> {
  return {
    ...(tokens !== undefined && { tokens }),
    ...(rows !== undefined && { rows }),
    ...(length !== undefined && { length }),
    ...(workers !== undefined && { workers }),
    ...(accumulation !== undefined && { accumulation }),
    ...(emptyRows !== undefined && { emptyRows }),
    ...(backend !== undefined && { backend }),
  };
}

const maskOption = (mask: Uint8Array | null) => (mask ? { mask } : {});

/** The aggregation's weights, over all kept tokens. */
function weightsOf(op: string, batch: CheckedPolicyInputs, options: PolicyLossOptions): Float64Array {
  return evaluateWeights(op, "aggregation", {
    mode: options.aggregation ?? "tokenMean",
    ...batch.layout,
    ...maskOption(batch.mask),
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
  const kept = chosen && batch.mask ? chosen.map((on, i) => (on !== 0 && batch.mask![i] !== 0 ? 1 : 0)) : (chosen ?? batch.mask);
  return {
    coefficient: bonus.coefficient,
    mode: bonus.aggregation ?? options.aggregation ?? "tokenMean",
    ...(bonus.aggregation === undefined && { rowWeights: weights }),
    ...batch.layout,
    ...maskOption(kept),
    ...countsOf(options),
  };
}

/** −coefficient·Σ W·H and its gradient. */
function bonusOf(op: string, batch: CheckedPolicyBatch, bonus: EntropyBonus, options: PolicyLossOptions, weights: Float64Array) {
  if (!batch.entropies)
    throw argumentError("ERR_SURPRISAL_OPTION", op, "entropies", undefined, "entropies per token, since entropyBonus is given");
  return evaluateEntropyBonus(op, BONUS_NAMES, batch.entropies, bonusOptions(op, batch, bonus, options, weights));
}

/** Mean of a − b over kept tokens, or null where one of them is not given. */
function meanGap(batch: CheckedPolicyBatch, a: FloatArray | null, b: FloatArray | null, { backend }: PolicyLossOptions): number | null {
  if (!a || !b) return null;
  const { rowSums, counts } = klEstimates(a, b, {
    kind: "k1",
    ...batch.layout,
    ...maskOption(batch.mask),
    ...(backend && { backend }),
  });
  const kept = counts.reduce((sum, count) => sum + count, 0);
  return kept > 0 ? rowSums.reduce((sum, x) => sum + x, 0) / kept : 0;
}

function meanEntropyOf(batch: CheckedPolicyBatch, { backend }: PolicyLossOptions): number | null {
  if (!batch.entropies) return null;
  return moments(batch.entropies, { ...batch.layout, ...maskOption(batch.mask), ...(backend && { backend }) }).means[0]!;
}

/** The KL term as the native pass takes it. */
function klOf(op: string, batch: CheckedPolicyInputs, { kl, klClamps }: PolicyLossOptions, rowWeights: Float64Array): LossKl | undefined {
  if (kl === undefined) return undefined;
  const { referenceLogProbs } = batch;
  if (!referenceLogProbs)
    throw argumentError("ERR_SURPRISAL_OPTION", op, "referenceLogProbs", undefined, "log-probs of the reference policy, since kl is given");
  const { kind = "k3", gradientKind, logClamp, valueClamp, importanceCorrected, coefficient } = kl;
  const given = { ...(logClamp !== undefined && { logClamp }), ...(valueClamp !== undefined && { valueClamp }) };
  return {
    referenceLogProbs,
    kind,
    ...(gradientKind && { gradientKind }),
    timesRatio: needFlag(op, "kl.importanceCorrected", importanceCorrected) === 1,
    coefficient: needNumber(op, "kl.coefficient", coefficient),
    rowWeights,
    ...klClamps?.[kind],
    ...given,
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
    ...(batch.rolloutWeights && { factors: batch.rolloutWeights, factorsPer: batch.rolloutWeightsPer }),
    ...maskOption(batch.mask),
    ...(batch.termMask && { termMask: batch.termMask }),
    ...(kl && { kl }),
    rowWeights,
    ...(options.backend && { backend: options.backend }),
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
export function planTokenLoss(op: string, given: PolicyInputs, options: PolicyLossOptions, form: TokenFormCall["form"]): TokenLossPlan {
  const batch = needPolicyInputs(op, given);
  const { aggregated, shared } = planPolicy(op, batch, options);
  const bonus = options.entropyBonus && entropySlopes(op, BONUS_NAMES, bonusOptions(op, batch, options.entropyBonus, options, aggregated));
  return {
    loss: { ...shared, ...(batch.oldLogProbs && { oldLogProbs: batch.oldLogProbs }), ...form },
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
  const arrays = { logProbs: batch.logProbs, ...(oldLogProbs && { oldLogProbs }), outputs: OUTPUTS };
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
    ...(bonus && { gradEntropies: bonus.gradEntropies }),
    losses: result.losses,
    ratios: result.ratios,
    ...(kl && { kl: result.klValues }),
    clipped: result.clipped,
    rowWeights,
  };
}

/** factor · Σ_b weight[b]·figure[b], in row order; a weight of 0 leaves the row out. */
function weighted(weights: Float64Array, figure: Float64Array, factor: number): number {
  return factor === 0 ? 0 : factor * weights.reduce((sum, weight, b) => (weight === 0 ? sum : sum + weight * figure[b]!), 0);
}

/** The public result of a policy loss: the evaluation with its metrics. */
export function policyResult(e: Evaluation, options: PolicyLossOptions, metrics: LossMetrics): PolicyLossResult {
  const { loss, policyLoss, klLoss, entropyLoss, gradLogProbs, gradEntropies, losses, ratios, kl, clipped, rowWeights } = e;
  return {
    loss,
    policyLoss,
    klLoss,
    entropyLoss,
    metrics: policyMetrics(e, options.metricNames ?? "verl", metrics),
    gradLogProbs,
    ...(gradEntropies && { gradEntropies }),
    losses,
    ratios,
    ...(kl && { kl }),
    clipped,
    rowWeights,
  };
}

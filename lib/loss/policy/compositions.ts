// Policy losses by composition: what papers and trainers name, made of what is here. They go by their names alone; docs/recipes.md
// shows each as a program, with its formula and source.
import { optionalFloats } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { floatDType, widestFloat } from "../../core/float-arrays";
import { type GroupLayout, groupingOf, namesGroups, needGroups } from "../../core/groups";
import { needNumber } from "../../core/option-checks";
import { eachKept, layoutOfRows, needRows } from "../../core/row-layout";
import { segments } from "../../ops/delim";
import { gapSums } from "../../ops/loss/kl-estimates";
import { endValues } from "../../ops/reduce";
import { weighRows } from "../aggregation";
import type { ClipRange } from "./clip-range";
import { dppoLoss, type DppoLossOptions, type DppoLossResult } from "./dppo-loss";
import { evaluatePolicy, policyResult } from "./evaluate-policy";
import { type CheckedPolicyBatch, needPolicyBatch, needWholeRows, type PolicyBatch } from "./policy-batch";
import type { PolicyLossOptions } from "./policy-loss-options";
import type { PolicyLossResult } from "./policy-loss-result";
import { rowMeanWeights } from "./row-weights";
import { sequenceForm } from "./sequence-form";

const METRICS = { verl: { "actor/ppo_kl": "-logRatio" }, trl: "none" } as const;
const CLIPPED = { verl: { "actor/pg_clipfrac": "clipped", "actor/ppo_kl": "-logRatio" }, trl: "none" } as const;

export type DppoOfOneMeasure = Omit<DppoLossOptions, "measure">;

/** DPPO with a bound on how far the probability of a token moves. */
export function dppoTvLoss(batch: PolicyBatch, options: DppoOfOneMeasure): DppoLossResult {
  return dppoLoss(batch, { ...options, measure: "probability" });
}

/** DPPO with a bound on the KL of a token against all others. */
export function dppoKlLoss(batch: PolicyBatch, options: DppoOfOneMeasure): DppoLossResult {
  return dppoLoss(batch, { ...options, measure: "binaryKl" });
}

/** The batch with its rollout weights times one more weight a token. */
function weighed(batch: CheckedPolicyBatch, weightAt: (b: number, i: number) => number): CheckedPolicyBatch {
  const { rows, rolloutWeights: given } = batch;
  const array = new Float64Array(rows.n);
  eachKept(batch, (i, b) => (array[i] = weightAt(b, i) * (given ? given.array[given.perToken ? i : b]! : 1)));
  return { ...batch, rolloutWeights: { array, perToken: true } };
}

/** The result in the type of the inputs: weights and targets that are made here are wider than float32 inputs. */
function inTypeOf(batch: CheckedPolicyBatch, result: PolicyLossResult): PolicyLossResult {
  const { logProbs, oldLogProbs, advantages, referenceLogProbs, samplerLogProbs, rolloutWeights, entropies } = batch;
  const inputs = [
    logProbs,
    oldLogProbs,
    advantages.array,
    referenceLogProbs,
    samplerLogProbs,
    rolloutWeights?.array,
    entropies,
  ];
  if (widestFloat(...inputs) === "float64") return result;
  const narrow = (array: FloatArray): FloatArray =>
    floatDType(array) === "float64" ? Float32Array.from(array) : array;
  const { gradLogProbs, gradEntropies, losses, ratios, kl } = result;
  return {
    ...result,
    gradLogProbs: narrow(gradLogProbs),
    gradEntropies: gradEntropies && narrow(gradEntropies),
    losses: narrow(losses),
    ratios: narrow(ratios),
    kl: kl && narrow(kl),
  };
}

export interface ToprBatch extends PolicyBatch {
  /** One per row: rows above 0 are the good ones. Default: rows whose first kept token has an advantage above 0. */
  readonly rewards?: FloatArray;
}

export interface ToprOptions extends PolicyLossOptions {
  /** w⁺ and w⁻ >= 0. Default 1. */
  readonly positiveWeight?: number;
  readonly negativeWeight?: number;
}

/** TOPR: −w⁺·A·ℓ in good rows, −w⁻·min(r, 1)·A·ℓ in the others, r a constant. */
export function toprLoss(batch: ToprBatch, options: ToprOptions = {}): PolicyLossResult {
  const op = "toprLoss";
  const positive = needNumber(op, "positiveWeight", options.positiveWeight ?? 1, { min: 0 });
  const negative = needNumber(op, "negativeWeight", options.negativeWeight ?? 1, { min: 0 });
  const checked = needPolicyBatch(op, batch);
  const { rows, mask, logProbs, oldLogProbs: old, advantages } = checked;
  const rewards = optionalFloats(op, "rewards", batch.rewards, rows.B, "one per row");
  const ofRows = rewards ?? (advantages.perToken ? null : advantages.array);
  const verdict =
    ofRows ?? endValues(advantages.array, { ...layoutOfRows(rows), mask: mask ?? undefined, at: "first" });
  const given = weighed(checked, (b, i) =>
    verdict[b]! > 0 ? positive : negative * Math.min(old ? Math.exp(logProbs[i]! - old[i]!) : 1, 1),
  );
  const form = { skeleton: "token", form: { form: "linear" } } as const;
  return inTypeOf(checked, policyResult(evaluatePolicy(op, given, options, form), options, METRICS));
}

export type SegmentRatioOptions = ClipRange & PolicyLossOptions;

/**
 * One clipped ratio for each run of kept tokens, the geometric mean of its tokens' with gradient through it; a token weighs what its
 * row gives it.
 *
 * @returns `losses`, `ratios` and `clipped` per token
 */
export function segmentRatioLoss(batch: PolicyBatch, options: SegmentRatioOptions): PolicyLossResult {
  const op = "segmentRatioLoss";
  const form = sequenceForm(op, "clip", options);
  const checked = needPolicyBatch(op, batch);
  const { rows, mask, advantages } = checked;
  const none = { array: new Float64Array(rows.n), perToken: true };
  // The rows' weights, the KL term and the bonus: those of a loss of rows without advantages.
  const plain = { skeleton: "token", form: { form: "linear" } } as const;
  const beside = evaluatePolicy(op, { ...checked, advantages: none, rolloutWeights: null }, options, plain);
  const runs = segments({ ...layoutOfRows(rows), mask: mask ?? undefined });
  const ofRuns: CheckedPolicyBatch = {
    ...weighed(checked, (b) => beside.rowWeights[b]!),
    rows: needRows(op, { offsets: runs.offsets }),
    advantages: weighed({ ...checked, rolloutWeights: advantages }, () => 1).rolloutWeights!,
    rowMask: null,
  };
  const settings = { backend: options.backend, aggregation: "tokenSum" } as const;
  const e = evaluatePolicy(op, ofRuns, settings, form);
  const { policyLoss, losses, ratios, clipped, figures } = e;
  const loss = policyLoss + beside.klLoss + beside.entropyLoss;
  const gradLogProbs = e.gradLogProbs.map((g, i) => g + beside.gradLogProbs[i]!);
  const evaluation = { ...beside, loss, policyLoss, gradLogProbs, losses, ratios, clipped, figures };
  return inTypeOf(checked, policyResult(evaluation, options, CLIPPED));
}

export interface FlowRlBatch extends PolicyBatch {
  /** The learnt log-partition of each row's prompt, [rows]. Default 0. */
  readonly logZ?: FloatArray;
}

export interface FlowRlOptions extends PolicyLossOptions {
  /** β > 0, nats a unit of reward. Default 15. */
  readonly beta?: number;
  /** ε >= 0: the weight of a row lies in [1 − ε, 1 + ε]. Default 0.2. */
  readonly clip?: number;
}

/**
 * FlowRL: the mean over rows of w·d², d = log Z + mean of ℓ − q − β·A; q is `referenceLogProbs`, A one per row, and w the clipped ratio
 * of the row to `oldLogProbs`, a constant.
 *
 * @returns also d loss / d log Z of each row; a learner of log Z adds those of a prompt
 */
export function flowRlLoss(
  batch: FlowRlBatch,
  options: FlowRlOptions = {},
): PolicyLossResult & { readonly gradLogZ: Float64Array } {
  const op = "flowRlLoss";
  const beta = needNumber(op, "beta", options.beta ?? 15, { min: 0, above: true });
  const clip = needNumber(op, "clip", options.clip ?? 0.2, { min: 0, infinite: true });
  const checked = needWholeRows(op, batch);
  const { rows, logProbs, oldLogProbs, referenceLogProbs: q } = checked;
  if (!q) throw optionError(op, "referenceLogProbs", undefined, "log-probs of the reference policy");
  const logZ = optionalFloats(op, "logZ", batch.logZ, rows.B, "one per row");
  const sums = oldLogProbs && gapSums(op, logProbs, oldLogProbs, checked, options.backend).rowSums;
  const targets = Float64Array.from(
    { length: rows.B },
    (_, b) => beta * checked.advantages.array[b]! - (logZ?.[b] ?? 0),
  );
  const given = { ...checked, oldLogProbs: q, advantages: { array: targets, perToken: false } };
  const form = { skeleton: "row", form: { form: "squared", reduce: "mean", coefficient: 1 } } as const;
  const e = evaluatePolicy(op, given, options, form, () =>
    rowMeanWeights(op, checked, options).map((weight, b) =>
      sums ? weight * Math.min(Math.max(Math.exp(sums[b]!), 1 - clip), 1 + clip) : weight,
    ),
  );
  const { rowSums, counts } = gapSums(op, logProbs, q, checked, options.backend);
  const gradLogZ = e.rowWeights.map((weight, b) =>
    weight === 0 ? 0 : 2 * weight * (rowSums[b]! / Math.max(counts[b]!, 1) - targets[b]!),
  );
  return { ...inTypeOf(checked, policyResult(e, options, METRICS)), gradLogZ };
}

export interface RealBatch extends PolicyBatch, GroupLayout {}

export interface RealOptions extends PolicyLossOptions {
  /** τ > 0, nats. */
  readonly tau: number;
}

/**
 * REAL: the mean over groups of ln(1 + Σ_good e^(−s/τ)) + ln(1 + Σ_bad e^(s/τ)), s the mean of ℓ − o over a row; rows with an advantage
 * above 0 are good. Without `groups` all rows are one; `rows` counts groups.
 */
export function realLoss(batch: RealBatch, options: RealOptions): PolicyLossResult {
  const op = "realLoss";
  const tau = needNumber(op, "tau", options.tau, { min: 0, above: true });
  const checked = needWholeRows(op, batch);
  const { rows, rowMask, logProbs, oldLogProbs, advantages } = checked;
  const { ids, G } = needGroups(op, namesGroups(batch) ? groupingOf(batch) : { groups: "all" }, rows.B);
  const counted = rowMeanWeights(op, checked, options).map((weight, b) => (rowMask?.[b] === 0 ? 0 : weight));
  const R = options.rows ?? Math.max(new Set(ids.filter((_, b) => counted[b] !== 0)).size, 1);
  const { rowSums, counts } = gapSums(op, logProbs, oldLogProbs ?? logProbs, checked, options.backend);
  const sign = (b: number): number => (advantages.array[b]! > 0 ? 1 : -1);
  const sums = new Float64Array(2 * G).fill(1);
  const place = (b: number): number => 2 * ids[b]! + (sign(b) > 0 ? 0 : 1);
  const terms = Float64Array.from(rowSums, (sum, b) =>
    counted[b] === 0 ? 0 : Math.exp((-sign(b) * sum) / Math.max(counts[b]!, 1) / tau),
  );
  terms.forEach((term, b) => (sums[place(b)]! += term));
  const shares = terms.map((term, b) => (sign(b) * term) / sums[place(b)]! / tau);
  const given = { ...checked, advantages: { array: shares, perToken: false } };
  const form = { skeleton: "token", form: { form: "linear" } } as const;
  const e = evaluatePolicy(op, given, options, form, () =>
    weighRows(op, "aggregation", checked, { ...options, mode: "rowMean", rows: R }),
  );
  const factor = (options.workers ?? 1) / (options.accumulation ?? 1) / R;
  const policyLoss = factor * sums.reduce((sum, x) => sum + Math.log(x), 0);
  const evaluation = { ...e, policyLoss, loss: e.loss - e.policyLoss + policyLoss };
  return inTypeOf(checked, policyResult(evaluation, options, METRICS));
}

// A loss of tokens at the ratio of their row: the geometric mean of the tokens' ratios, as GSPO has it, for CISPO and SAPO.
import { needWord } from "../../core/option-checks";
import { rowBegin, rowEnd } from "../../core/row-layout";
import { evaluatePolicy, policyResult, type TokenFormCall } from "./evaluate-policy";
import type { CheckedPolicyBatch } from "./policy-batch";
import type { PolicyLossOptions } from "./policy-loss-options";
import type { LossMetrics } from "./policy-metrics";
import type { PolicyLossResult } from "./policy-loss-result";

const RATIO_LEVELS = ["token", "sequence"] as const;

export interface RatioLevelOption {
  /**
   * `"token"`, the default, or `"sequence"`: every token of a row has the ratio exp(mean of ℓ − o over the row's kept tokens), and where a
   * gradient goes through it, each of them gets an equal share.
   */
  readonly ratioLevel?: (typeof RATIO_LEVELS)[number];
}

export function ofRowRatio(op: string, { ratioLevel }: RatioLevelOption): boolean {
  return needWord(op, "ratioLevel", ratioLevel ?? "token", RATIO_LEVELS) === 1;
}

/** Log-probs of an old policy to which each kept token has the mean log ratio of its row. */
function levelled({ rows, mask, logProbs, oldLogProbs }: CheckedPolicyBatch): Float64Array {
  const old = Float64Array.from(logProbs);
  if (!oldLogProbs) return old;
  for (let b = 0; b < rows.B; ++b) {
    let [sum, kept] = [0, 0];
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i)
      if (mask?.[i] !== 0) {
        sum += logProbs[i]! - oldLogProbs[i]!;
        ++kept;
      }
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i) if (mask?.[i] !== 0) old[i]! -= sum / kept;
  }
  return old;
}

/** Every kept token's number becomes the mean of its row's. */
function shared({ rows, mask }: CheckedPolicyBatch, values: Float64Array): Float64Array {
  const means = new Float64Array(values.length);
  for (let b = 0; b < rows.B; ++b) {
    let [sum, kept] = [0, 0];
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i)
      if (mask?.[i] !== 0) {
        sum += values[i]!;
        ++kept;
      }
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i) if (mask?.[i] !== 0) means[i] = sum / kept;
  }
  return means;
}

/**
 * The loss of `form` at the rows' ratios. What moves with the ratio is shared among the row's tokens: the policy term where `through`
 * says so, and the KL estimates where they are multiplied by the ratio; what moves with the token's own log-prob stays with it.
 */
export function evaluateAtRowRatio(
  op: string,
  form: TokenFormCall["form"],
  metrics: LossMetrics,
  batch: CheckedPolicyBatch,
  options: PolicyLossOptions,
  through: boolean,
): PolicyLossResult {
  const { rows, mask } = batch;
  const call = { skeleton: "token", form } as const;
  const flat = { ...batch, oldLogProbs: levelled(batch) };
  const evaluation = evaluatePolicy(op, flat, options, call);
  const { kl, kl: estimates, gradLogProbs } = evaluation;
  const corrected = options.kl && (options.kl.importanceCorrected ?? options.klImportanceCorrected ?? false);
  const policy = kl
    ? evaluatePolicy(op, flat, { ...options, kl: undefined, entropyBonus: undefined }, call)
    : evaluation;
  const moving = new Float64Array(rows.n);
  for (let b = 0; b < rows.B; ++b)
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i) {
      if (mask?.[i] === 0) continue;
      if (through) moving[i] = policy.gradLogProbs[i]!;
      if (corrected) moving[i]! += evaluation.klRowWeights[b]! * options.kl.coefficient * estimates![i]!;
    }
  const spread = shared(batch, moving);
  const gradient = gradLogProbs.map((own, i) => (mask?.[i] === 0 ? 0 : own - moving[i]! + spread[i]!));
  return policyResult({ ...evaluation, gradLogProbs: gradient }, options, metrics);
}

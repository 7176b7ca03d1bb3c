// A loss of tokens at the ratio of their row: the geometric mean of the tokens' ratios, as GSPO has it, for CISPO and SAPO.
import { needWord } from "../../core/option-checks";
import { eachKept, type MaskedRows } from "../../core/row-layout";
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

/** Every kept token has the mean of its row's kept tokens. */
function levelled(where: MaskedRows, values: ArrayLike<number>): Float64Array {
  const [sums, counts] = [new Float64Array(where.rows.B), new Float64Array(where.rows.B)];
  eachKept(where, (i, b) => {
    sums[b]! += values[i]!;
    ++counts[b]!;
  });
  const means = new Float64Array(where.rows.n);
  eachKept(where, (i, b) => (means[i] = sums[b]! / counts[b]!));
  return means;
}

/** Log-probs of an old policy to which each kept token has the mean log ratio of its row. */
function oldOfRows(batch: CheckedPolicyBatch): Float64Array {
  const { logProbs, oldLogProbs } = batch;
  const current = Float64Array.from(logProbs);
  if (!oldLogProbs) return current;
  const ratios = levelled(
    batch,
    current.map((l, i) => l - oldLogProbs[i]!),
  );
  return current.map((l, i) => l - ratios[i]!);
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
  const call = { skeleton: "token", form } as const;
  const flat = { ...batch, oldLogProbs: oldOfRows(batch) };
  const evaluation = evaluatePolicy(op, flat, options, call);
  const { kl, kl: estimates, gradLogProbs } = evaluation;
  const corrected = options.kl && (options.kl.importanceCorrected ?? options.klImportanceCorrected ?? false);
  const policy = kl
    ? evaluatePolicy(op, flat, { ...options, kl: undefined, entropyBonus: undefined }, call)
    : evaluation;
  const moving = new Float64Array(batch.rows.n);
  eachKept(batch, (i, b) => {
    if (through) moving[i] = policy.gradLogProbs[i]!;
    if (corrected) moving[i]! += evaluation.klRowWeights[b]! * options.kl.coefficient * estimates![i]!;
  });
  const spread = levelled(batch, moving);
  const gradient = gradLogProbs.map((own, i) => (batch.mask?.[i] === 0 ? 0 : own - moving[i]! + spread[i]!));
  return policyResult({ ...evaluation, gradLogProbs: gradient }, options, metrics);
}

// A quadratic pull back to the old policy, beside a policy loss.
import { needNumber } from "../../core/option-checks";
import { evaluateLoss } from "../../ops/loss/evaluate-loss";
import { NO_KL } from "../../ops/loss/loss-inputs";
import { tokenForm } from "../../ops/loss/token-loss";
import type { CheckedPolicyBatch } from "./policy-batch";
import type { PolicyLossOptions } from "./policy-loss-options";
import type { Evaluation } from "./policy-loss-result";

/** The evaluation with β/2·(ℓ − o)² on every kept token, times the rollout weights; unchanged for β = 0 or without an old policy. */
export function withProximity(
  op: string,
  evaluation: Evaluation,
  { rows, mask, logProbs, oldLogProbs, rolloutWeights }: CheckedPolicyBatch,
  beta: number,
  { backend }: PolicyLossOptions,
): Evaluation {
  needNumber(op, "proximity", beta, { min: 0 });
  if (beta === 0 || !oldLogProbs) return evaluation;
  const inputs = {
    rows,
    old: null,
    advantage: { array: oldLogProbs, perToken: true },
    factor: rolloutWeights,
    rowWeights: evaluation.rowWeights.map((weight) => beta * weight),
    mask,
    termMask: null,
    marks: null,
    kl: NO_KL,
  };
  const loss = { form: tokenForm(op, { form: "squared" }), logProbs, inputs, stream: null };
  const outputs = ["losses", "gradLogProbs"] as const;
  const { total, losses, gradLogProbs } = evaluateLoss(op, loss, { outputs, backend });
  return {
    ...evaluation,
    loss: evaluation.loss + total,
    policyLoss: evaluation.policyLoss + total,
    losses: evaluation.losses.map((x, i) => x + beta * losses[i]!),
    gradLogProbs: evaluation.gradLogProbs.map((x, i) => x + gradLogProbs[i]!),
  };
}

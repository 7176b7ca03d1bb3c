// A KL term whose estimates are multiplied by another ratio than the policy's own: to the sampler, or to the policy as it stands.
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { needNumber } from "../../core/option-checks";
import { layoutOfRows, rowBegin, rowEnd } from "../../core/row-layout";
import { evaluateKlEstimates } from "../../ops/loss/kl-estimates";
import { timesImportance } from "../importance-kl";
import type { CheckedPolicyInputs } from "./policy-batch";
import type { KlTerm, PolicyLossOptions } from "./policy-loss-options";
import type { Evaluation } from "./policy-loss-result";

/** The ratio that a KL term names, null for the policy's own or none. */
export function ownImportance(op: string, { importanceCorrected }: KlTerm): "self" | "sampler" | null {
  if (importanceCorrected === "self" || importanceCorrected === "sampler") return importanceCorrected;
  if (importanceCorrected === undefined || typeof importanceCorrected === "boolean") return null;
  throw optionError(op, "kl.importanceCorrected", importanceCorrected, 'true, false, "self" or "sampler"');
}

/** The evaluation with the KL term that it lacks; unchanged where the native pass had it, or there is none. */
export function withImportanceKl(
  op: string,
  evaluation: Evaluation,
  { rows, mask, referenceLogProbs, samplerLogProbs }: CheckedPolicyInputs,
  logProbs: FloatArray,
  { kl, klClamps, backend }: PolicyLossOptions,
): Evaluation {
  const ratioTo = kl === undefined ? null : ownImportance(op, kl);
  if (!kl || !ratioTo || !referenceLogProbs) return evaluation;
  if (ratioTo === "sampler" && !samplerLogProbs)
    throw optionError(
      op,
      "samplerLogProbs",
      undefined,
      'log-probs of the sampler, since kl.importanceCorrected is "sampler"',
    );
  const { kind = "k3", gradientKind } = kl;
  const coefficient = needNumber(op, "kl.coefficient", kl.coefficient);
  const bound = { min: 0, above: true, infinite: true } as const;
  const clamps = {
    logClamp: needNumber(op, "kl.logClamp", kl.logClamp ?? klClamps?.[kind]?.logClamp ?? Infinity, bound),
    valueClamp: needNumber(op, "kl.valueClamp", kl.valueClamp ?? klClamps?.[kind]?.valueClamp ?? Infinity, bound),
  };
  const plain = evaluateKlEstimates(op, logProbs, referenceLogProbs, {
    kind,
    gradientKind,
    ...clamps,
    valueClamp: Infinity,
    ...layoutOfRows(rows),
    mask: mask ?? undefined,
    backend,
  });
  const base = ratioTo === "sampler" ? samplerLogProbs : null;
  const { values, gradLogProbs } = timesImportance(plain, logProbs, referenceLogProbs, base, clamps, mask);
  const gradient = evaluation.gradLogProbs.slice();
  let klLoss = 0;
  let total = 0;
  for (let b = 0; b < rows.B; ++b) {
    const weight = coefficient * evaluation.klRowWeights[b]!;
    if (weight === 0) continue;
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i) {
      if (mask?.[i] === 0) continue;
      total += values[i]!;
      klLoss += weight * values[i]!;
      gradient[i]! += weight * gradLogProbs[i]!;
    }
  }
  return {
    ...evaluation,
    loss: evaluation.loss + klLoss,
    klLoss,
    kl: values,
    gradLogProbs: gradient,
    figures: { ...evaluation.figures, kl: total },
  };
}

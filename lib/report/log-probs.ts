// Log-probs of a step in numbers: who computed them, how likely the tokens were, and what cannot be a log-prob.
import { keptOf } from "./measures";
import type { ReportRollout } from "./model";
import type { LogProbSource, LogProbSummary, StepSummary } from "./summary";

const FIELDS = {
  sampler: "samplerLogProbs",
  recomputed: "recomputedLogProbs",
  old: "oldLogProbs",
  reference: "referenceLogProbs",
} as const satisfies Record<LogProbSource, keyof ReportRollout>;

/** A log-prob of 1 may be rounded to a little above 0. */
const ROUNDING = 1e-6;

function summaryOf(rollouts: readonly ReportRollout[], field: keyof ReportRollout): LogProbSummary | undefined {
  let [tokens, sum, nonFinite, positive, least] = [0, 0, 0, 0, Infinity];
  for (const rollout of rollouts) {
    const values = keptOf(rollout, rollout[field] as Float64Array | undefined);
    tokens += values.length;
    for (let token = 0; token < values.length; ++token) {
      const value = values[token]!;
      if (value > ROUNDING) ++positive;
      if (Number.isFinite(value)) {
        sum += value;
        least = Math.min(least, value);
      } else ++nonFinite;
    }
  }
  if (tokens === 0) return undefined;
  const finite = tokens - nonFinite;
  return { tokens, nll: finite > 0 ? -sum / finite : null, least: finite > 0 ? least : null, nonFinite, positive };
}

/** By source; a source that no rollout has is absent. */
export function logProbsOf(rollouts: readonly ReportRollout[]): StepSummary["logProbs"] {
  const found = Object.entries(FIELDS).map(([source, field]) => [source, summaryOf(rollouts, field)] as const);
  return Object.fromEntries(found.filter(([, summary]) => summary !== undefined));
}

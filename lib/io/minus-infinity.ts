// −∞ as inference servers write it, whose JSON has no word for it.
import type { Rollout } from "./record";

/** vLLM's log-prob of what cannot happen. One that is computed never comes to this number. */
const WRITTEN = -9999;

const LOG_PROBS = ["samplerLogProbs", "recomputedLogProbs", "oldLogProbs", "referenceLogProbs"] as const;

/** A log-prob as it is meant. */
export const meantBy = (logProb: number): number => (logProb === WRITTEN ? -Infinity : logProb);

const countIn = (logProbs: Float64Array): number => logProbs.filter((logProb) => logProb === WRITTEN).length;

/** A rollout whose log-probs of −9999 are −∞, and how many they are. Itself where there is none. */
export function withMinusInfinity(rollout: Rollout): { readonly rollout: Rollout; readonly count: number } {
  const { topK } = rollout;
  const fields = LOG_PROBS.filter((name) => rollout[name]?.includes(WRITTEN));
  const listed = topK?.logProbs.includes(WRITTEN) ? countIn(topK.logProbs) : 0;
  if (fields.length === 0 && listed === 0) return { rollout, count: 0 };
  const meant = Object.fromEntries(fields.map((name) => [name, rollout[name]!.map(meantBy)]));
  return {
    rollout: topK
      ? { ...rollout, ...meant, topK: { ...topK, logProbs: topK.logProbs.map(meantBy) } }
      : { ...rollout, ...meant },
    count: fields.reduce((sum, name) => sum + countIn(rollout[name]!), listed),
  };
}

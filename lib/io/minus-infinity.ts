// −∞ as inference servers write it, whose JSON has no word for it.
import type { Rollout } from "./record";

/** Log-probs of what cannot happen: vLLM's, and float32's lowest number, which llama.cpp writes. One that is computed never comes to these. */
const WRITTEN: readonly number[] = [-9999, -3.4028234663852886e38];

const LOG_PROBS = ["samplerLogProbs", "recomputedLogProbs", "oldLogProbs", "referenceLogProbs"] as const;

const isWritten = (logProb: number): boolean => WRITTEN.includes(logProb);

/** A log-prob as it is meant. */
export const meantBy = (logProb: number): number => (isWritten(logProb) ? -Infinity : logProb);

const countIn = (logProbs: Float64Array): number => logProbs.filter(isWritten).length;

/** A rollout whose log-probs that servers write for −∞ are that, and how many they are. Itself where there is none. */
export function withMinusInfinity(rollout: Rollout): { readonly rollout: Rollout; readonly count: number } {
  const { topK } = rollout;
  const fields = LOG_PROBS.filter((name) => rollout[name]?.some(isWritten));
  const listed = topK ? countIn(topK.logProbs) : 0;
  if (fields.length === 0 && listed === 0) return { rollout, count: 0 };
  const meant = Object.fromEntries(fields.map((name) => [name, rollout[name]!.map(meantBy)]));
  return {
    rollout: topK
      ? { ...rollout, ...meant, topK: { ...topK, logProbs: topK.logProbs.map(meantBy) } }
      : { ...rollout, ...meant },
    count: fields.reduce((sum, name) => sum + countIn(rollout[name]!), listed),
  };
}

// The calls that one training step makes of a collective: written down while the functions run.
import {
  aggregateLoss,
  type Collective,
  empgAdvantage,
  grpoAdvantage,
  logprobTogether,
  updateRunningMoments,
  whiten,
} from "../../lib";
import { openCollective } from "../../lib/collective";
import type { Call } from "./machine";

/** One rank that notes what it is asked for. */
function noting(calls: Call[]): Collective {
  const own = openCollective("single");
  const note = (call: Call["call"], bytes: number): void => {
    calls.push({ call, bytes });
  };
  return {
    rank: 0,
    size: 1,
    allReduce(values, reduction) {
      note("allReduce", values.byteLength);
      return own.allReduce(values, reduction);
    },
    allGather(values) {
      note("allGather", values.byteLength);
      return own.allGather(values);
    },
    broadcast(values, root) {
      note("broadcast", values.byteLength);
      return own.broadcast(values, root);
    },
    barrier() {
      note("barrier", 0);
    },
    subgroup: () => noting(calls),
  };
}

/** GRPO with EMPG's modulation, whitening, loss weights by tokens and running moments of the rewards, for some rows on this rank. */
export function callsOfStep(rows: number): Call[] {
  const calls: Call[] = [];
  const collective = noting(calls);
  const tokens = 8;
  const n = rows * tokens;
  const shape = [rows, tokens] as const;
  const mask = new Uint8Array(n).fill(1);
  const rewards = Float64Array.from({ length: rows }, (_, i) => i % 3);
  const groups = Int32Array.from({ length: rows }, (_, i) => i >> 3);
  const run = { collective, backend: "js" } as const;
  const { advantages } = grpoAdvantage({ rewards, groups, mask, shape }, run);
  const ids = Int32Array.from({ length: n }, (_, i) => (i % tokens === 0 ? 1 : i % tokens === 7 ? 2 : 3));
  const entropies = Float32Array.from({ length: n }, (_, i) => i % 5);
  const modulated = empgAdvantage(
    { tokens: ids, entropies, advantages, mask, shape },
    { start: [1], end: [2], ...run },
  );
  const white = whiten(modulated.advantages, { shape, mask, over: "all", ...run });
  aggregateLoss(white, { shape, mask, mode: "tokenMean", ...run });
  updateRunningMoments({ count: 0, mean: 0, m2: 0 }, rewards, { collective });
  return calls;
}

/** Log-probs of tokens over shards of a vocabulary, forward; the backward pass sends nothing. */
export function callsOfVocabulary(tokens: number, columns: number): Call[] {
  const calls: Call[] = [];
  const few = 4;
  logprobTogether(new Float32Array(few * columns), new Int32Array(few), {
    shape: [few, columns],
    collective: noting(calls),
    backend: "js",
  });
  // What is more than a number grows with the tokens.
  return calls.map(({ call, bytes }) => ({ call, bytes: bytes > 8 ? (bytes / few) * tokens : bytes }));
}

// Log-probs over the ids that a sampler kept, with the entropy of the whole vocabulary beside them, and their gradient.
import { fromHalfBits, keptLogprob, keptLogprobBackward, type LogitDType, toHalfBits } from "../../../lib";
import { rowOracle } from "../../../test/oracle/logprob";
import { rng } from "../../../test/support/rng";
import { roundingOf } from "../budgets";
import { largest } from "../inputs";
import type { Budget, Case } from "../measure";

const N = 6;
const MAP = { temperature: 0.7 };
const INPUTS: Readonly<Record<string, (V: number) => Float32Array>> = {
  random: (V) => rng(51).normal(N * V, 0, 3),
  "hot, 1e4": (V) => rng(52).normal(N * V, 1e4, 12),
  flat: (V) => new Float32Array(N * V).fill(-1.5),
};
/** Two parts below the smallest normal float32 may be lost. */
const SMALLEST = 2 * 2 ** -126;
const ofValue: Budget = { says: "1e-6·|x| + 1e-12", allowed: (want) => 1e-6 * Math.abs(want) + 1e-12 };

function caseOf(input: string, dtype: LogitDType, V: number): Case[] {
  const x = INPUTS[input]!(V);
  const logits = dtype === "float32" ? x : toHalfBits(x, dtype);
  const numbers = dtype === "float32" ? x : fromHalfBits(toHalfBits(x, dtype), dtype);
  const rows = Array.from({ length: N }, (_, n) => Float64Array.from(numbers.subarray(n * V, (n + 1) * V)));
  const targets = Int32Array.from({ length: N }, (_, n) => (7 * n + 3) % V);
  // From the target alone to a third of the vocabulary; the target is listed in every other row.
  const sets = rows.map((_, n) => {
    const others = Array.from({ length: V }, (_, id) => id).filter((id) => id % 3 === n % 3 && id !== targets[n]);
    return n === 0 ? [] : n % 2 === 0 ? [targets[n]!, ...others] : others;
  });
  const offsets = Int32Array.from([0, ...sets].map((_, n) => sets.slice(0, n).flat().length));
  const kept = { ids: Int32Array.from(sets.flat()), offsets };
  const columns = sets.map((set, n) => [targets[n]!, ...set.filter((id) => id !== targets[n])]);
  const ofKept = rows.map((row, n) =>
    rowOracle(
      Float64Array.from(columns[n]!, (id) => row[id]!),
      MAP,
    ),
  );
  const ofAll = rows.map((row) => rowOracle(row, MAP));
  const gradLogProbs = rng(53).f32(N, -2, 2);
  const gradEntropies = rng(54).f32(N, -1, 1);
  const parts = rows.map((_, n) => {
    const share = ofKept[n]!.gradient([[0, gradLogProbs[n]!]], 0);
    const spread = new Float64Array(V);
    columns[n]!.forEach((id, k) => (spread[id] = share[k]!));
    return [spread, ofAll[n]!.gradient([], gradEntropies[n]!)] as const;
  });
  const scales = parts.map(([a, b]) => Math.max(largest(a), largest(b)));
  const gradient: Budget = {
    says: "2e-6 of the row's largest term; each part and their sum rounded",
    allowed: (_, i) => {
      const scale = scales[Math.floor(i / V)]!;
      return 2e-6 * scale + SMALLEST + 3 * roundingOf(dtype, 2 * scale);
    },
  };
  const options = { ...MAP, shape: [N, V] as const, dtype };
  return [
    {
      op: "keptLogprob",
      dtype,
      input,
      want: {
        logProbs: { values: ofKept.map((row) => row.logprob(0)), budget: ofValue },
        entropies: { values: ofAll.map((row) => row.entropy), budget: ofValue },
      },
      run: (backend) => {
        const { logProbs, entropies } = keptLogprob(logits, targets, kept, { ...options, backend });
        return { logProbs, entropies: entropies! };
      },
    },
    {
      op: "keptLogprobBackward",
      dtype,
      input,
      want: {
        gradient: { values: parts.flatMap(([a, b]) => Array.from(a, (g, j) => g + b[j]!)), budget: gradient },
      },
      run: (backend) => {
        const where = { ...options, backend };
        const { state } = keptLogprob(logits, targets, kept, where);
        const got = keptLogprobBackward(logits, targets, kept, state, { ...where, gradLogProbs, gradEntropies });
        return { gradient: dtype === "float32" ? got : fromHalfBits(got, dtype) };
      },
    },
  ];
}

export default function keptLogprobCases(reduced: boolean): Case[] {
  const V = reduced ? 41 : 300;
  return Object.keys(INPUTS).flatMap((input) =>
    (["float32", "float16", "bfloat16"] as const).flatMap((dtype) => caseOf(input, dtype, V)),
  );
}

// Rows of logits: forward, backward, and both over two shards of the vocabulary.
import {
  fromHalfBits,
  type LogitDType,
  type LogitMapOptions,
  logprob,
  logprobBackward,
  logprobMerge,
  logprobPartial,
  toHalfBits,
} from "../../../lib";
import { type RowOracle, rowOracle } from "../../../test/oracle/logprob";
import { rng } from "../../../test/support/rng";
import { exact, roundingOf, unstated } from "../budgets";
import type { Budget, Case } from "../measure";

type Rows = readonly (readonly number[])[];
interface Kind {
  readonly map?: LogitMapOptions;
  readonly rows: (V: number, N: number) => Rows;
}

const noise = (seed: number, V: number, N: number, mean: number, std: number): Rows =>
  Array.from({ length: N }, (_, n) => Array.from(rng(seed + n).normal(V, mean, std)));

/** Noise of size 1, and one logit that stands `gap` above the mean. */
const peaked = (gap: number) => (V: number, N: number) =>
  noise(20, V, N, 0, 0.5).map((row, n) => row.map((x, j) => (j === (7 * n + 3) % V ? gap : x)));

const KINDS: Readonly<Record<string, Kind>> = {
  random: { rows: (V, N) => noise(1, V, N, 0, 3) },
  "random, temperature 0.7": { map: { temperature: 0.7 }, rows: (V, N) => noise(2, V, N, 0, 3) },
  "random, softcap 30": { map: { softcap: 30 }, rows: (V, N) => noise(3, V, N, 0, 20) },
  peaked: { rows: peaked(20) },
  "nearly deterministic": { rows: peaked(28) },
  flat: { rows: (V, N) => Array.from({ length: N }, (_, n) => new Array<number>(V).fill(n - 1.5)) },
  "−∞ masked": { rows: (V, N) => noise(4, V, N, 0, 3).map((row) => row.map((x, j) => (j % 3 === 1 ? -Infinity : x))) },
  "hot, 1e4": { rows: (V, N) => noise(5, V, N, 1e4, 12) },
  "two equal maxima": { rows: (V, N) => peaked(15)(V, N).map((row) => row.map((x, j) => (j === V - 1 ? 15 : x))) },
};

/** The rows as the type holds them. */
function stored(rows: Rows, dtype: LogitDType) {
  const flat = Float32Array.from(rows.flat());
  if (dtype === "float32") return { logits: flat, numbers: flat };
  const bits = toHalfBits(flat, dtype);
  return { logits: bits, numbers: fromHalfBits(bits, dtype) };
}

/** |error| <= 1e-6·|want| + 1e-12, promised for rows of entropy 1e-9 and above. */
function millionth(oracles: readonly RowOracle[], perRow: number): Budget {
  const says = "1e-6·|x| + 1e-12";
  if (oracles.some(({ entropy }) => entropy < 1e-9)) return { says: `${says} from H = 1e-9 on`, allowed: undefined };
  return { says, allowed: (want, i) => (i < oracles.length * perRow ? 1e-6 * Math.abs(want) + 1e-12 : 0) };
}

function caseOf(input: string, { map = {}, rows }: Kind, dtype: LogitDType, V: number, N: number): Case[] {
  const { logits, numbers } = stored(rows(V, N), dtype);
  const raw = Array.from({ length: N }, (_, n) => Float64Array.from(numbers.subarray(n * V, (n + 1) * V)));
  const oracles = raw.map((row) => rowOracle(row, map));
  const maxima = raw.map((row) => row.reduce((a, b) => Math.max(a, b)));
  // The most likely id, and one that is anywhere but masked.
  const targets = Int32Array.from(
    raw.flatMap((row, n) => [row.indexOf(maxima[n]!), 3 * ((11 * n + 5) % Math.floor(V / 3))]),
  );
  const K = 2;
  const gradLogProbs = rng(6).f32(N * K, -2, 2);
  const gradEntropies = rng(7).f32(N, -1, 1);
  const pairs = (n: number) =>
    Array.from({ length: K }, (_, k) => [targets[n * K + k]!, gradLogProbs[n * K + k]!] as const);

  const ofEntropy = millionth(oracles, 1);
  const forward = {
    logProbs: {
      values: oracles.flatMap((row, n) => pairs(n).map(([id]) => row.logprob(id))),
      budget: millionth(oracles, K),
    },
    entropies: { values: oracles.map((row) => row.entropy), budget: ofEntropy },
    maxLogits: { values: maxima, budget: exact },
    log1pSums: { values: oracles.map((row) => row.log1pSum), budget: unstated },
    meanGaps: { values: oracles.map((row) => row.meanGap), budget: unstated },
    logSumExps: { values: oracles.map((row) => row.logSumExp), budget: unstated },
    sumSquares: { values: oracles.map((row) => row.sumSquare), budget: unstated },
  };
  // The row's largest term of either part.
  const scales = oracles.map((row, n) =>
    [row.gradient(pairs(n), 0), row.gradient([], gradEntropies[n]!)].reduce(
      (m, part) => part.reduce((a, g) => Math.max(a, Math.abs(g)), m),
      0,
    ),
  );
  const gradient = {
    values: oracles.flatMap((row, n) => Array.from(row.gradient(pairs(n), gradEntropies[n]!))),
    budget: {
      says: "2e-6 of the row's largest term, rounded",
      allowed: (want: number, i: number) => {
        const before = 2e-6 * scales[Math.floor(i / V)]! + 1e-38;
        return before + roundingOf(dtype, Math.abs(want) + before);
      },
    },
  };
  const options = { ...map, shape: [N, V] as const, dtype };
  const cut = Math.floor(V / 3);
  const shard = (begin: number, end: number) => logits.filter((_, i) => i % V >= begin && i % V < end);
  const shards = [
    { columns: shard(0, cut), begin: 0, size: cut },
    { columns: shard(cut, V), begin: cut, size: V - cut },
  ];
  return [
    {
      op: "logprob",
      dtype,
      input,
      want: forward,
      run: (backend) => ({ ...logprob(logits, targets, { ...options, backend }) }),
    },
    {
      op: "logprobBackward",
      dtype,
      input,
      want: { gradient },
      run: (backend) => {
        const state = logprob(logits, targets, { ...options, backend });
        const got = logprobBackward(logits, targets, state, { ...options, backend, gradLogProbs, gradEntropies });
        return { gradient: dtype === "float32" ? got : fromHalfBits(got, dtype) };
      },
    },
    {
      op: "logprobPartial, logprobMerge",
      dtype,
      input,
      want: forward,
      run: (backend) => {
        const states = shards.map(({ columns, begin, size }) =>
          logprobPartial(columns, targets, {
            ...map,
            shape: [N, size],
            dtype,
            vocabStart: begin,
            vocabSize: V,
            backend,
          }),
        );
        return { ...logprobMerge(states, { ...map, rows: N, backend }) };
      },
    },
  ];
}

export default function logprobCases(reduced: boolean): Case[] {
  const kinds = Object.entries(KINDS).flatMap(([input, kind]) =>
    (["float32", "float16", "bfloat16"] as const)
      .filter((dtype) => !reduced || dtype === "float32")
      // 1025: just past a block, no multiple of a vector.
      .flatMap((dtype) => caseOf(input, kind, dtype, reduced ? 257 : 1025, 6)),
  );
  const long = reduced ? [] : caseOf("random, V 151936", KINDS["random"]!, "float32", 151_936, 1);
  return [...kinds, ...long];
}

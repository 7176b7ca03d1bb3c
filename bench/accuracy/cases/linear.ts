// A linear head: forward, and all gradients; over all ids, and over kept ones.
import {
  fromHalfBits,
  type HeadDType,
  type HeadView,
  keptLinearLogprob,
  keptLinearLogprobBackward,
  linearLogprob,
  linearLogprobBackward,
  type LogitMapOptions,
  toHalfBits,
} from "../../../lib";
import { headOracle } from "../../../test/oracle/linear";
import { rng } from "../../../test/support/rng";
import { roundingOf, unstated } from "../budgets";
import type { Budget, Case, FloatName } from "../measure";

interface Kind {
  readonly map: LogitMapOptions;
  /** Of the weights: logits have that standard deviation. */
  readonly size: number;
}

const KINDS: Readonly<Record<string, Kind>> = {
  random: { map: {}, size: 3 },
  "random, softcap 30": { map: { softcap: 30, temperature: 0.7 }, size: 20 },
  "nearly flat": { map: {}, size: 0.01 },
};

const LOGIT = 2e-6; // of Σ |hidden · weight|: what a logit may be off

function stored(values: Float64Array, dtype: HeadDType): { readonly view: HeadView; readonly numbers: Float64Array } {
  if (dtype === "float64") return { view: values, numbers: values };
  if (dtype === "float32")
    return { view: Float32Array.from(values), numbers: Float64Array.from(Float32Array.from(values)) };
  const view = toHalfBits(values, dtype);
  return { view, numbers: Float64Array.from(fromHalfBits(view, dtype)) };
}

function numbersOf(view: HeadView, dtype: HeadDType): ArrayLike<number> {
  return dtype === "float16" || dtype === "bfloat16"
    ? fromHalfBits(view as Uint16Array, dtype)
    : (view as Float32Array);
}

/** Every third id of each row, and the target, listed or not. */
function keptOf(N: number, V: number, targets: Int32Array) {
  const lists = Array.from({ length: N }, (_, n) =>
    Array.from({ length: V }, (__, id) => id).filter((id) => id % 3 === n % 3),
  );
  return {
    ids: Int32Array.from(lists.flat()),
    offsets: Int32Array.from([0, ...lists], (_, n) => lists.slice(0, n).flat().length),
    sets: lists.map((ids, n) => [targets[n]!, ...ids.filter((id) => id !== targets[n])]),
  };
}

function caseOf(
  input: string,
  { map, size }: Kind,
  dtype: HeadDType,
  [N, D, V]: readonly [number, number, number],
): Case[] {
  const r = rng(31);
  const hidden = stored(Float64Array.from(r.normal(N * D)), dtype);
  const weight = stored(Float64Array.from(r.normal(V * D, 0, size / Math.sqrt(D))), dtype);
  const targets = r.i32(N, 0, V);
  const [gradLogProbs, gradEntropies] = [r.f32(N, -2, 2), r.f32(N, -1, 1)];
  const oracle = headOracle({ N, D, V, map, targets, hidden: hidden.numbers, weight: weight.numbers });
  const gradients = oracle.gradients(gradLogProbs, gradEntropies);
  const wide: FloatName = dtype === "float64" ? "float64" : "float32";
  // Every |hidden · weight| summed, at most: what the error of a logit is a share of, in z.
  const absolute = { hidden: hidden.numbers.map(Math.abs), weight: weight.numbers.map(Math.abs) };
  const reach = Math.max(
    ...Array.from({ length: N * V }, (_, i) => {
      let sum = 0;
      for (let d = 0; d < D; ++d)
        sum += absolute.hidden[Math.floor(i / V) * D + d]! * absolute.weight[(i % V) * D + d]!;
      return sum;
    }),
  );
  const ofZ = dtype === "float64" ? 1e-14 * reach * D : (LOGIT * reach) / (map.temperature ?? 1);
  const exactly = dtype === "float64"; // sums and results: nothing but the logits' own error and a few operations
  const inRow: Budget = {
    says: "2e-6 of Σ |hidden·weight|, twice, rounded",
    allowed: (want) => 2 * ofZ + (exactly ? 1e-14 : 1e-6) * Math.abs(want) + roundingOf(wide, want),
  };
  // On the CPU a g below 2^-100 is 0: what its products would be, at most.
  const largest = Math.max(...absolute.hidden, ...absolute.weight);
  const lost = exactly ? 1e-38 : 2 ** -100 * Math.max(N, V) * largest;
  // p moves by its share 2·ofZ, ln p + H by as much.
  const ofSum = (sizes: readonly number[], to: FloatName): Budget => ({
    says: "3e-6 of the terms' sizes beside p's error, rounded; slopes below 2^-100 are 0 on cpu",
    allowed: (want, i) =>
      ((exactly ? 1e-13 : 3e-6) + 4 * ofZ) * sizes[i]! * (1 + Math.log(V)) + roundingOf(to, want) + lost,
  });
  const options = { ...map, shape: [N, D] as const, dtype };
  const kept = keptOf(N, V, targets);
  // A row is a head of its own: the rows of weight that its list names, the target's first.
  const rows = kept.sets.map((ids, n) =>
    headOracle({
      N: 1,
      D,
      V: ids.length,
      map,
      targets: [0],
      hidden: hidden.numbers.subarray(n * D, (n + 1) * D),
      weight: ids.flatMap((id) => Array.from(weight.numbers.subarray(id * D, (id + 1) * D))),
    }),
  );
  const ofRows = rows.map((row, n) => row.gradients([gradLogProbs[n]!], undefined));
  const spread = (of: (n: number) => readonly number[]): number[] => {
    const all = new Array<number>(V * D).fill(0);
    kept.sets.forEach((ids, n) =>
      ids.forEach((id, k) =>
        of(n)
          .slice(k * D, (k + 1) * D)
          .forEach((x, d) => (all[id * D + d]! += x)),
      ),
    );
    return all;
  };
  const sizesOfHidden = ofRows.flatMap(({ sizes }) => sizes.hidden);
  const sizesOfWeight = spread((n) => ofRows[n]!.sizes.weight);
  return [
    {
      op: "keptLinearLogprob",
      dtype,
      input,
      want: { logProbs: { values: rows.map(({ logProbs }) => logProbs[0]!), budget: inRow } },
      run: (backend) => {
        const { logProbs } = keptLinearLogprob(hidden.view, weight.view, targets, kept, {
          ...options,
          entropies: false,
          backend,
        });
        return { logProbs };
      },
    },
    {
      op: "keptLinearLogprobBackward",
      dtype,
      input,
      want: {
        gradHidden: { values: ofRows.flatMap((row) => row.hidden), budget: ofSum(sizesOfHidden, dtype) },
        gradWeight: {
          values: spread((n) => ofRows[n]!.weight),
          budget: ofSum(sizesOfWeight, wide),
        },
      },
      run: (backend) => {
        const where = { ...options, entropies: false, backend };
        const { state } = keptLinearLogprob(hidden.view, weight.view, targets, kept, where);
        const got = keptLinearLogprobBackward(hidden.view, weight.view, targets, state, {
          ...where,
          gradLogProbs,
        });
        return { gradHidden: numbersOf(got.gradHidden!, dtype), gradWeight: got.gradWeight! };
      },
    },
    {
      op: "linearLogprob",
      dtype,
      input,
      want: {
        logProbs: { values: oracle.logProbs, budget: inRow },
        entropies: { values: oracle.entropies, budget: inRow },
        logSumExps: { values: oracle.logSumExps, budget: unstated },
        sumSquares: { values: oracle.sumSquares, budget: unstated },
      },
      run: (backend) => ({ ...linearLogprob(hidden.view, weight.view, targets, { ...options, backend }) }),
    },
    {
      op: "linearLogprobBackward",
      dtype,
      input,
      want: {
        gradHidden: { values: gradients.hidden, budget: ofSum(gradients.sizes.hidden, dtype) },
        gradWeight: { values: gradients.weight, budget: ofSum(gradients.sizes.weight, wide) },
      },
      run: (backend) => {
        const state = linearLogprob(hidden.view, weight.view, targets, { ...options, backend });
        const got = linearLogprobBackward(hidden.view, weight.view, targets, state, {
          ...options,
          backend,
          gradLogProbs,
          gradEntropies,
        });
        return { gradHidden: numbersOf(got.gradHidden!, dtype), gradWeight: got.gradWeight! };
      },
    },
  ];
}

export default function linearCases(reduced: boolean): Case[] {
  return Object.entries(KINDS).flatMap(([input, kind]) =>
    (["float32", "float16", "bfloat16", "float64"] as const)
      .filter((dtype) => !reduced || dtype === "float32")
      // Past a tile of 64 rows and one of 64 ids, and two steps of 32 of a row.
      .flatMap((dtype) => caseOf(input, kind, dtype, reduced ? [5, 20, 70] : [70, 65, 200])),
  );
}

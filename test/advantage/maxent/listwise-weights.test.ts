import fc from "fast-check";
import {
  listwiseWeights,
  maxentTemperature,
  rewardDistribution,
  uniformListwiseWeights,
  weightEntropies,
} from "../../../lib";
import { groupSoftmaxOracle, partition } from "../../oracle/group";
import { groupEntropyOracle } from "../../oracle/group-weights";
import { eachBackend } from "../../support/each-backend";
import { errorCode } from "../../support/error-code";
import { rng } from "../../support/rng";

// Logarithms, a division by the temperature and a sum of a few terms.
const F64 = { atol: 1e-13, rtol: 1e-10 };

const groups = [0, 1, 0, 2, 1, 1, 0, 1, 2, 3];
const parts = partition(groups);
const r = rng(11);
const rewards = r.f64(10, -1, 1);
const referenceLogProbs = r.f64(10, -2, -0.1);
const sums = (w: ArrayLike<number>): number[] => parts.map((items) => items.reduce((sum, i) => sum + w[i]!, 0));

/** The objective that the weights maximise, of one prompt. */
function objective(
  w: readonly number[],
  q: readonly number[],
  l: readonly number[],
  tau: number,
  beta: number,
): number {
  const total = l.reduce((sum, x) => sum + Math.exp(x), 0);
  return w.reduce((sum, x, i) => {
    if (x === 0) return sum;
    const reference = Math.exp(l[i]!) / total;
    return sum + x * Math.log(q[i]!) - tau * x * Math.log(x) - beta * x * Math.log(x / reference);
  }, 0);
}

test("the temperature is tau + beta, or tau, and refuses what is no coefficient", () => {
  expect([
    maxentTemperature(0.5, 0.25),
    maxentTemperature(0.5, 0.25, "tau+beta"),
    maxentTemperature(0.5, 0.25, "tau"),
  ]).toEqual([0.75, 0.75, 0.5]);
  expect(maxentTemperature(0, 0)).toBe(0);
  for (const [tau, beta] of [
    [-1, 0],
    [NaN, 0],
    [Infinity, 0],
    [0, -0.1],
    [0, NaN],
  ] as const)
    expect(errorCode(() => maxentTemperature(tau, beta))).toBe("ERR_SURPRISAL_OPTION");
  expect(errorCode(() => maxentTemperature(1, 1, "beta" as never))).toBe("ERR_SURPRISAL_OPTION");
});

eachBackend((backend) => {
  test("uniformFallback evens out the groups that have nothing to weigh by, and touches no other", () => {
    const given = { groups, temperature: 0.5, beta: 1, backend };
    const hidden = referenceLogProbs.map((l, i) => (groups[i] === 1 ? -Infinity : l));
    const broken = listwiseWeights(rewards, { ...given, least: 0.1, referenceLogProbs: hidden });
    const out = { weights: new Float64Array(10) };
    const even = listwiseWeights(rewards, {
      ...given,
      least: 0.1,
      referenceLogProbs: hidden,
      uniformFallback: true,
      out,
    });
    expect(even).toBe(out.weights);
    groups.forEach((group, i) => {
      expect(broken[i]! >= 0).toBe(group !== 1);
      expect(even[i]).toBe(group === 1 ? 1 / 4 : broken[i]);
    });
  });

  const targets = rewardDistribution(rewards, { groups, temperature: 0.5, backend });

  describe("rewardDistribution", () => {
    test("sums to 1 in each prompt and keeps every share at the floor", () => {
      const q = rewardDistribution(rewards, { groups, temperature: 0.01, floor: 0.05, backend });
      expect(sums(q)).toBeAllClose([1, 1, 1, 1], F64);
      expect(Math.min(...q)).toBeGreaterThanOrEqual(0.05 * (1 - 1e-15));
    });

    test("without a floor it is the softmax, and a shift of a prompt's rewards changes nothing", () => {
      const q = rewardDistribution(rewards, { groups, temperature: 0.5, floor: 0, backend });
      expect(q).toBeAllClose(groupSoftmaxOracle(rewards, parts, 0.5), F64);
      const shifted = rewards.map((x, i) => x + 8 * groups[i]!);
      expect(rewardDistribution(shifted, { groups, temperature: 0.5, floor: 0, backend })).toBeAllClose(q, F64);
    });

    test("nothing overflows: huge float32 rewards at a tiny temperature pick the best", () => {
      const huge = Float32Array.of(1e38, 3e38, -3e38);
      const q = rewardDistribution(huge, { groups: "all", temperature: 1e-8, backend });
      expect(q).toBeAllClose([1e-6, 1 - 2e-6, 1e-6], { atol: 1e-12, rtol: 1e-7 });
    });

    test("a floor above 1/n is uniform and keeps no order upside down", () => {
      expect(rewardDistribution(Float64Array.of(1, 2, 3), { groups: "all", floor: 0.5, backend })).toBeAllClose(
        [1 / 3, 1 / 3, 1 / 3],
        F64,
      );
    });

    test("+Infinity, negative temperatures and floors, and groups that do not cover the rewards are refused", () => {
      expect(errorCode(() => rewardDistribution(Float64Array.of(1, Infinity), { groups: "all", backend }))).toBe(
        "ERR_SURPRISAL_VALUE",
      );
      expect(errorCode(() => rewardDistribution(rewards, { groups: "all", temperature: -1, backend }))).toBe(
        "ERR_SURPRISAL_OPTION",
      );
      expect(errorCode(() => rewardDistribution(rewards, { groups: "all", floor: -1e-6, backend }))).toBe(
        "ERR_SURPRISAL_OPTION",
      );
      expect(errorCode(() => rewardDistribution(rewards, { groupOffsets: Int32Array.of(0, 9), backend }))).toBe(
        "ERR_SURPRISAL_RANGE",
      );
      expect(errorCode(() => rewardDistribution(Int32Array.of(1, 2) as never, { groups: "all", backend }))).toBe(
        "ERR_SURPRISAL_DTYPE",
      );
    });
  });

  describe("listwiseWeights", () => {
    test("sum to 1 in each prompt, and no other weights make the objective larger", () => {
      fc.assert(
        fc.property(
          fc.array(
            fc.tuple(fc.double({ min: 0.01, max: 1, noNaN: true }), fc.double({ min: -5, max: 0, noNaN: true })),
            { minLength: 2, maxLength: 6 },
          ),
          fc.double({ min: 0.05, max: 3, noNaN: true }),
          fc.double({ min: 0, max: 3, noNaN: true }),
          fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 }),
          (items, tau, beta, direction) => {
            const q = items.map(([x]) => x);
            const l = items.map(([, x]) => x);
            const options = {
              groups: "all",
              temperature: maxentTemperature(tau, beta),
              beta,
              referenceLogProbs: Float64Array.from(l),
              backend,
            } as const;
            const w = Array.from(listwiseWeights(Float64Array.from(q), options));
            expect(w.reduce((sum, x) => sum + x, 0)).toBeCloseTo(1, 12);
            const best = objective(w, q, l, tau, beta);
            const total = q.reduce((sum, _, i) => sum + direction[i]! + 1e-3, 0);
            for (const step of [1e-3, 0.1, 0.5]) {
              const other = w.map((x, i) => (1 - step) * x + (step * (direction[i]! + 1e-3)) / total);
              expect(objective(other, q, l, tau, beta)).toBeLessThanOrEqual(best + 1e-12);
            }
          },
        ),
        { numRuns: 40 },
      );
    });

    test("temperature 1 without reference gives the targets back", () => {
      expect(listwiseWeights(targets, { groups, temperature: 1, backend })).toBeAllClose(targets, F64);
    });

    test("tau to infinity is uniform", () => {
      const temperature = maxentTemperature(1e14, 0.5);
      const w = listwiseWeights(targets, { groups, temperature, beta: 0.5, referenceLogProbs, backend });
      expect(w).toBeAllClose(uniformListwiseWeights({ groups, backend }), { atol: 1e-12, rtol: 0 });
    });

    test("the temperature to 0 is the set of the best, shared exactly; at 0 it is the limit itself", () => {
      const q = Float32Array.of(0.375, 0.25, 0.375, 0.2, 0.2, 0.6);
      const groupOffsets = Int32Array.of(0, 3, 6);
      for (const temperature of [0, 1e-300, 1e-5])
        expect([...listwiseWeights(q, { groupOffsets, temperature, backend })]).toEqual([0.5, 0, 0.5, 0, 0, 1]);
      const l = Float32Array.of(-2, -1, 0, 0, 0, 0);
      expect([...listwiseWeights(q, { groupOffsets, temperature: 0, beta: 1, referenceLogProbs: l, backend })]).toEqual(
        [0, 0, 1, 0, 0, 1],
      );
    });

    test("beta to infinity is the reference", () => {
      const beta = 1e11;
      const w = listwiseWeights(targets, {
        groups,
        temperature: maxentTemperature(0.5, beta),
        beta,
        referenceLogProbs,
        backend,
      });
      expect(w).toBeAllClose(groupSoftmaxOracle(referenceLogProbs, parts, 1), { atol: 1e-10, rtol: 0 });
    });

    test("a shift of a prompt's log-probs, or a factor of its targets, changes nothing", () => {
      const options = { groups, temperature: 0.7, beta: 0.3, backend } as const;
      const w = listwiseWeights(targets, { ...options, referenceLogProbs });
      const l = referenceLogProbs.map((x, i) => x - 16 * groups[i]!);
      const q = targets.map((x, i) => x * 2 ** groups[i]!) as Float64Array;
      expect(listwiseWeights(q, { ...options, referenceLogProbs: l })).toBeAllClose(w, F64);
    });

    test("without beta the reference is not read; NaN stays in its prompt", () => {
      const poison = new Float64Array(10).fill(NaN);
      const bare = listwiseWeights(targets, { groups, temperature: 0.7, backend });
      expect(
        listwiseWeights(targets, { groups, temperature: 0.7, beta: 0, referenceLogProbs: poison, backend }),
      ).toEqual(bare);
      const one = referenceLogProbs.map((x, i) => (i === 4 ? NaN : x));
      const w = listwiseWeights(targets, { groups, temperature: 0.7, beta: 0.1, referenceLogProbs: one, backend });
      expect(Array.from(w, Number.isNaN)).toEqual(groups.map((g) => g === 1));
    });

    test("other labels, and any order of the completions, move the weights along", () => {
      const options = { temperature: 0.7, beta: 0.3, backend } as const;
      const w = listwiseWeights(targets, { ...options, groups, referenceLogProbs });
      expect(
        listwiseWeights(targets, { ...options, groups: groups.map((g) => `p${7 - g}`), referenceLogProbs }),
      ).toEqual(w);
      const order = parts.flat();
      const sizes = parts.map((items) => items.length);
      const groupOffsets = Int32Array.from([
        0,
        ...sizes.map((_, g) => sizes.slice(0, g + 1).reduce((a, b) => a + b, 0)),
      ]);
      const sorted = listwiseWeights(
        Float64Array.from(order, (i) => targets[i]!),
        {
          ...options,
          groupOffsets,
          referenceLogProbs: Float64Array.from(order, (i) => referenceLogProbs[i]!),
        },
      );
      expect(sorted).toEqual(Float64Array.from(order, (i) => w[i]!));
    });

    test("a matrix is a prompt a row", () => {
      const q = Float32Array.of(0.5, 0.3, 0.2, 0.1, 0.1, 0.8);
      const options = { temperature: 0.5, backend } as const;
      expect(listwiseWeights(q, { ...options, shape: [2, 3] })).toEqual(
        listwiseWeights(q, { ...options, groupOffsets: Int32Array.of(0, 3, 6) }),
      );
      expect(errorCode(() => listwiseWeights(q, { ...options, shape: [2, 2] }))).toMatch(/SHAPE|RANGE/);
      expect(errorCode(() => listwiseWeights(q, { ...options, shape: [2, 3], groups: [0, 0, 0, 1, 1, 1] }))).toBe(
        "ERR_SURPRISAL_OPTION",
      );
    });

    test("token counts reweigh where they are given; those below 1 count as 1", () => {
      const q = Float64Array.of(0.5, 0.25, 0.25);
      const w = listwiseWeights(q, { groups: "all", temperature: 1, tokenCounts: Float64Array.of(2, -3, 8), backend });
      expect(w).toBeAllClose([1 / 3.25, 0.25 / 3.25, 2 / 3.25], F64);
    });

    test("what callers get wrong", () => {
      const code = (change: object): string | undefined =>
        errorCode(() => listwiseWeights(targets, { groups, temperature: 1, backend, ...change }));
      for (const change of [
        { temperature: -1 },
        { temperature: NaN },
        { temperature: undefined },
        { beta: -0.5 },
        { beta: 0.5 },
        { least: -1 },
      ])
        expect(code(change)).toBe("ERR_SURPRISAL_OPTION");
      expect(code({ referenceLogProbs: new Float64Array(9) })).toBe("ERR_SURPRISAL_SHAPE");
      // Only the preset lets one side be empty.
      expect(code({ referenceLogProbs: new Float64Array(0) })).toBe("ERR_SURPRISAL_SHAPE");
      expect(
        listwiseWeights(targets, {
          groups: "all",
          temperature: 1,
          referenceLogProbs: new Float64Array(0),
          preset: "maxent",
          backend,
        }),
      ).toHaveLength(0);
    });
  });

  test("uniform weights are 1/n, and need to know n", () => {
    expect([...uniformListwiseWeights({ groupOffsets: Int32Array.of(0, 3, 3, 4), backend })]).toEqual([
      1 / 3,
      1 / 3,
      1 / 3,
      1,
    ]);
    expect([...uniformListwiseWeights({ groups: "all", count: 2, backend })]).toEqual([0.5, 0.5]);
    expect(errorCode(() => uniformListwiseWeights({ groups: "all", backend }))).toBe("ERR_SURPRISAL_OPTION");
  });

  test("entropies follow the chain rule; a NaN is seen by mean, min and max wherever it stands", () => {
    const w = listwiseWeights(targets, { groups, temperature: 0.7, backend });
    const { entropies, mean, min, max, deviations } = weightEntropies(w, { groups, backend });
    const want = groupEntropyOracle(w, parts);
    expect(entropies).toBeAllClose(want, { atol: 1e-12, rtol: 1e-10 });
    expect([mean, min, max]).toBeAllClose([want.reduce((a, b) => a + b, 0) / 4, Math.min(...want), Math.max(...want)], {
      atol: 1e-12,
      rtol: 1e-10,
    });
    expect(deviations).toBeAllClose(
      Array.from(w, (x, i) => x - 1 / parts[groups[i]!]!.length),
      F64,
    );
    const late = weightEntropies(Float32Array.of(0.5, 0.5, NaN, 1), { groupOffsets: Int32Array.of(0, 2, 4), backend });
    expect([late.mean, late.min, late.max]).toEqual([NaN, NaN, NaN]);
  });
});

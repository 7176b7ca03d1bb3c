// Softmax with a floor and at temperature 0, tilted weights, and their entropy.
import fc from "fast-check";
import { groupEntropy, groupSoftmax, groupTilt } from "surprisal";
import { groupEntropyOracle, groupTiltOracle } from "../oracle/group-weights";
import { groupSoftmaxOracle, partition } from "../oracle/group";
import { eachBackend } from "../support/each-backend";
import { errorCode } from "../support/error-code";
import { rng } from "../support/rng";

// Some dozen float64 terms, logarithms and powers among them.
const F64 = { atol: 1e-14, rtol: 1e-12 };
const F32 = { atol: 1e-9, rtol: 1.2e-7 };

// Label and number of a group are the same: 0, 1, 2, 3 appear in this order.
const labels = Int32Array.from({ length: 41 }, (_, i) => (i * 5) % 4);
const groups = partition(labels);

/** Sum of each group. */
const sums = (weights: ArrayLike<number>): number[] =>
  groups.map((items) => items.reduce((sum, i) => sum + weights[i]!, 0));

eachBackend((backend) => {
  describe("groupSoftmax with a floor", () => {
    const values = rng(1).f64(41, -4, 4);

    test.each([0, 1e-6, 0.02, 1 / 11, 0.5])("floor %p: mixed with the uniform weights, summing to 1", (floor) => {
      const got = groupSoftmax(values, { groups: labels, temperature: 0.7, floor, backend });
      const p = groupSoftmaxOracle(values, groups, 0.7);
      const want = Float64Array.from(p, (x, i) => {
        const n = groups.find((items) => items.includes(i))!.length;
        const f = Math.min(floor, 1 / n);
        return (1 - n * f) * x + f;
      });
      expect(got).toBeAllClose(want, F64);
      expect(sums(got)).toBeAllClose([1, 1, 1, 1], F64);
    });

    test("uniform weights and a group of one stay what they are, to the last bit", () => {
      const got = groupSoftmax(Float64Array.of(2, 2, 2, 9), {
        groupOffsets: Int32Array.of(0, 3, 4),
        floor: 1e-6,
        backend,
      });
      expect([...got]).toEqual([1 / 3, 1 / 3, 1 / 3, 1]);
    });

    test("a floor above 1/count is uniform and never turns the order round", () => {
      const got = groupSoftmax(Float64Array.of(1, 2, 3), { groups: "all", floor: 0.5, backend });
      expect(got).toBeAllClose([1 / 3, 1 / 3, 1 / 3], F64);
    });

    test.each([-1e-9, NaN, Infinity])("refuses the floor %p", (floor) => {
      expect(errorCode(() => groupSoftmax(values, { groups: "all", floor, backend }))).toBe("ERR_SURPRISAL_OPTION");
    });
  });

  describe("groupSoftmax at temperature 0", () => {
    const cold = (...x: number[]): number[] => [
      ...groupSoftmax(Float64Array.from(x), { groups: "all", temperature: 0, backend }),
    ];

    test("equal largest numbers share, however close the next one is", () => {
      expect(cold(1, 3, 3 - 2 ** -51, 3)).toEqual([0, 0.5, 0, 0.5]);
      expect(cold(-5)).toEqual([1]);
      expect(cold(0, -0)).toEqual([0.5, 0.5]);
    });

    test("it is what small temperatures tend to", () => {
      const values = Float64Array.from(rng(2).i32(41, 0, 4));
      const limit = groupSoftmax(values, { groups: labels, temperature: 0, backend });
      expect(groupSoftmax(values, { groups: labels, temperature: 1e-3, backend })).toEqual(limit);
      expect(groupSoftmax(values, { groups: labels, temperature: Number.MIN_VALUE, backend })).toEqual(limit);
    });

    test("NaN, +infinity and nothing but -infinity have no weights", () => {
      expect(cold(1, NaN)).toEqual([NaN, NaN]);
      expect(cold(0, Infinity)).toEqual([NaN, NaN]);
      expect(cold(-Infinity, -Infinity)).toEqual([NaN, NaN]);
      expect(cold(-Infinity, 0)).toEqual([0, 1]);
    });
  });

  test.each([255, 256, 257, 700])("softmax and tilt of groups of %i items", (size) => {
    const many = Int32Array.from({ length: 2 * size }, (_, i) => i % 2);
    const [values, apart] = [rng(size).f64(2 * size, 0.1, 1), partition(many)];
    const options = { temperature: 0.5, backend };
    expect(groupSoftmax(values, { ...options, groups: many })).toBeAllClose(
      groupSoftmaxOracle(values, apart, 0.5),
      F64,
    );
    expect(groupTilt(values, { ...options, groups: many })).toBeAllClose(
      groupTiltOracle(values, apart, { ...options, coefficient: 0 }),
      F64,
    );
  });

  describe("groupTilt", () => {
    const r = rng(3);
    const values = r.f64(41, 0.01, 1);
    const logFactors = r.f64(41, -3, 0);
    const counts = Float64Array.from(r.i32(41, -1, 30));

    test.each([
      [1, 0],
      [0.3, 0.2],
      [2, 5],
      [0.05, 1],
    ])("equals the definition at temperature %p, coefficient %p", (temperature, coefficient) => {
      const options = { groups: labels, logFactors, counts, temperature, coefficient, backend } as const;
      expect(groupTilt(values, options)).toBeAllClose(groupTiltOracle(values, groups, options), F64);
      const narrow = { ...options, logFactors: Float32Array.from(logFactors), counts: Float32Array.from(counts) };
      const given = Float32Array.from(values);
      expect(groupTilt(given, narrow)).toBeAllClose(groupTiltOracle(given, groups, narrow), F32);
    });

    test("weights sum to 1, and neither the scale of the values nor a shift of the log-factors matters", () => {
      fc.assert(
        fc.property(
          fc.array(
            fc.tuple(fc.double({ min: 0.01, max: 1, noNaN: true }), fc.double({ min: -9, max: 0, noNaN: true })),
            {
              minLength: 1,
              maxLength: 9,
            },
          ),
          fc.double({ min: 0.1, max: 5, noNaN: true }),
          fc.double({ min: 0, max: 3, noNaN: true }),
          (items, temperature, coefficient) => {
            const x = Float64Array.from(items, ([value]) => value);
            const l = Float64Array.from(items, ([, factor]) => factor);
            const options = { groups: "all", logFactors: l, temperature, coefficient, backend } as const;
            const weights = groupTilt(x, options);
            expect(Array.from(weights).reduce((sum, w) => sum + w, 0)).toBeCloseTo(1, 12);
            const moved = groupTilt(
              x.map((v) => 8 * v),
              { ...options, logFactors: l.map((v) => v + 4) },
            );
            expect(moved).toBeAllClose(weights, { atol: 1e-13, rtol: 1e-10 });
          },
        ),
        { numRuns: 60 },
      );
    });

    test("temperature 1 without factors gives the values back; a high one flattens; a low one is the set of the largest", () => {
      const p = groupSoftmax(r.f64(41, -2, 2), { groups: labels, backend });
      expect(groupTilt(p, { groups: labels, backend })).toBeAllClose(p, F64);
      const flat = groupTilt(p, { groups: labels, temperature: 1e15, backend });
      expect(flat).toBeAllClose(
        Array.from(labels, (g) => 1 / groups[g]!.length),
        F64,
      );
      const tied = Float32Array.of(0.3, 0.4, 0.1, 0.4);
      expect([...groupTilt(tied, { groups: "all", temperature: 0, backend })]).toEqual([0, 0.5, 0, 0.5]);
      expect([...groupTilt(tied, { groups: "all", temperature: 1e-300, backend })]).toEqual([0, 0.5, 0, 0.5]);
    });

    test("a large coefficient over as large a temperature leaves the log-factors alone", () => {
      const got = groupTilt(values, { groups: labels, logFactors, coefficient: 1e12, temperature: 1e12, backend });
      expect(got).toBeAllClose(groupSoftmaxOracle(logFactors, groups, 1), { atol: 1e-11, rtol: 1e-9 });
    });

    test("log-factors are not read at coefficient 0", () => {
      const poisoned = new Float64Array(41).fill(NaN);
      const bare = groupTilt(values, { groups: labels, backend });
      expect(groupTilt(values, { groups: labels, logFactors: poisoned, coefficient: 0, backend })).toEqual(bare);
    });

    test("zeros, -infinity and NaN stay in their group", () => {
      const x = Float64Array.of(0, 0.5, 0, 0, 0.5, NaN, 1, 1, 0.5, 0.5);
      const l = Float64Array.of(0, 0, 0, 0, 0, 0, -Infinity, -1, -Infinity, -Infinity);
      const groupOffsets = Int32Array.of(0, 2, 4, 6, 8, 10, 10);
      expect([...groupTilt(x, { logFactors: l, groupOffsets, backend })]).toEqual([
        0,
        1,
        NaN,
        NaN,
        NaN,
        NaN,
        0,
        1,
        NaN,
        NaN,
      ]);
      // Lifted to `least`, two zeros are equal.
      expect([...groupTilt(x, { groupOffsets, least: 1e-12, backend })].slice(2, 4)).toEqual([0.5, 0.5]);
    });

    test("regrouping the same items under other labels and in another order moves the weights along", () => {
      const names = Array.from(labels, (g) => `prompt ${g}`);
      expect(groupTilt(values, { groups: names, logFactors, backend })).toEqual(
        groupTilt(values, { groups: labels, logFactors, backend }),
      );
      const order = Array.from({ length: 41 }, (_, i) => (i * 7) % 41);
      const turned = groupTilt(
        values.map((_, i) => values[order[i]!]!),
        {
          groups: labels.map((_, i) => labels[order[i]!]!),
          logFactors: logFactors.map((_, i) => logFactors[order[i]!]!),
          backend,
        },
      );
      const straight = groupTilt(values, { groups: labels, logFactors, backend });
      expect(turned).toBeAllClose(
        straight.map((_, i) => straight[order[i]!]!),
        F64,
      );
    });

    test("what callers get wrong", () => {
      expect(errorCode(() => groupTilt(values, { groups: "all", logFactors: new Float64Array(40), backend }))).toBe(
        "ERR_SURPRISAL_SHAPE",
      );
      expect(errorCode(() => groupTilt(values, { groups: "all", counts: labels as never, backend }))).toBe(
        "ERR_SURPRISAL_DTYPE",
      );
      for (const name of ["temperature", "coefficient", "least"] as const)
        for (const value of [-1, NaN, Infinity])
          expect(errorCode(() => groupTilt(values, { groups: "all", [name]: value, backend }))).toBe(
            "ERR_SURPRISAL_OPTION",
          );
      expect(errorCode(() => groupTilt(values, { groups: "all", out: { weights: values }, backend }))).toBe(
        "ERR_SURPRISAL_BUFFER",
      );
      expect(
        errorCode(() => groupTilt(values, { groups: "all", logFactors, out: { weights: logFactors }, backend })),
      ).toBe("ERR_SURPRISAL_BUFFER");
    });
  });

  describe("groupEntropy", () => {
    const values = rng(4).f64(41, 0, 1);

    test("equals the chain rule, normalised here or by the caller", () => {
      const want = groupEntropyOracle(values, groups);
      const got = groupEntropy(values, { groups: labels, normalize: true, backend });
      expect(got.entropies).toBeAllClose(want, F64);
      expect(got.evennesses).toBeAllClose(
        want.map((h, g) => h / Math.log(groups[g]!.length)),
        F64,
      );
      const totals = sums(values);
      const p = values.map((x, i) => x / totals[got.groupIds[i]!]!);
      expect(groupEntropy(p, { groups: labels, backend }).entropies).toBeAllClose(want, F64);
    });

    test("uniform is ln count and evenness 1, one-hot is 0, and zeros add nothing", () => {
      const x = Float64Array.of(0.25, 0.25, 0.25, 0.25, 0, 1, 0, 1);
      const { entropies, evennesses } = groupEntropy(x, { groupOffsets: Int32Array.of(0, 4, 7, 8, 8), backend });
      expect(entropies).toBeAllClose([Math.log(4), 0, 0, 0], F64);
      expect(evennesses).toBeAllClose([1, 0, 0, 0], F64);
    });

    test("values as they are need not be a distribution; least bounds the logarithm", () => {
      const { entropies } = groupEntropy(Float64Array.of(-0.5, 0.5, 1), { groups: "all", least: 1e-12, backend });
      expect(entropies[0]).toBeCloseTo(0.5 * Math.log(1e-12) - 0.5 * Math.log(0.5), 12);
      const { entropies: raised } = groupEntropy(Float64Array.of(0, 0), {
        groups: "all",
        least: 1e-12,
        normalize: true,
        backend,
      });
      expect(raised[0]).toBeCloseTo(Math.LN2, 14);
    });

    test("NaN stays in its group; a sum of 0 has no entropy", () => {
      const x = Float64Array.of(NaN, 1, 0.5, 0.5, NaN, 0, 0);
      const groupOffsets = Int32Array.of(0, 2, 4, 5, 7);
      const { entropies, evennesses } = groupEntropy(x, { groupOffsets, normalize: true, backend });
      expect([...entropies]).toEqual([NaN, Math.LN2, NaN, NaN]);
      expect([...evennesses]).toEqual([NaN, 1, NaN, NaN]);
    });

    test("what callers get wrong", () => {
      expect(errorCode(() => groupEntropy(values, { groups: "all", least: -1, backend }))).toBe("ERR_SURPRISAL_OPTION");
      expect(errorCode(() => groupEntropy(labels as never, { groups: "all", backend }))).toBe("ERR_SURPRISAL_DTYPE");
      expect(errorCode(() => groupEntropy(values, { groups: [1], backend }))).toBe("ERR_SURPRISAL_SHAPE");
    });
  });

  test("no items and empty groups give empty and zero results", () => {
    const none = new Float32Array(0);
    const groupOffsets = Int32Array.of(0, 0, 0);
    expect(groupTilt(none, { groupOffsets, backend })).toEqual(none);
    expect([...groupEntropy(none, { groupOffsets, backend }).entropies]).toEqual([0, 0]);
    expect(groupSoftmax(none, { groups: "all", floor: 0.1, temperature: 0, backend })).toEqual(none);
  });
});

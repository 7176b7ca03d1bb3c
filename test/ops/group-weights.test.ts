import { groupLogSumExp, groupNormalize, groupWeigh, SurprisalError } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

// A few dozen float64 terms in another order.
const F64 = { atol: 1e-13, rtol: 1e-12 };

const groups = Array.from({ length: 41 }, (_, i) => i % 4);

function errorOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

eachBackend((backend) => {
  describe("weights", () => {
    const r = rng(1);
    const values = r.f64(41, -2, 2);
    const weights = Float64Array.from(r.i32(41, 0, 5));
    /** Each item as often as it weighs. */
    const repeated = [...values].flatMap((x, i) => Array.from({ length: weights[i]! }, () => ({ x, i })));
    const long = Float64Array.from(repeated, ({ x }) => x);
    const longGroups = repeated.map(({ i }) => groups[i]!);

    test.each([
      ["mean", "none"],
      ["mean", "std"],
      ["leaveOneOut", "none"],
      ["none", "std"],
      ["runnerUp", "none"],
    ] as const)("an item of weight w counts like w items (%s, %s)", (center, scale) => {
      const weighted = groupNormalize(values, { groups, weights, center, scale, backend });
      const expanded = groupNormalize(long, {
        groups: longGroups,
        center: center === "leaveOneOut" ? "mean" : center,
        scale,
        backend,
      });
      const order = [...new Set(groups)].map((g) => [...new Set(longGroups)].indexOf(g));
      expect(weighted.means).toBeAllClose(
        order.map((g) => expanded.means[g]!),
        F64,
      );
      expect(weighted.stds).toBeAllClose(
        order.map((g) => expanded.stds[g]!),
        F64,
      );
      if (center === "runnerUp") return; // repeated winners are equal, so nobody leads there
      repeated.forEach(({ i }, k) => {
        const total = [...weights].reduce((sum, w, j) => (groups[j] === groups[i] ? sum + w : sum), 0);
        const stretch = center === "leaveOneOut" ? total / (total - weights[i]!) : 1;
        expect(weighted.normalized[i]).toBeCloseTo(expanded.normalized[k]! * stretch, 11);
      });
    });

    test("weight 0 leaves an item out, whatever it holds", () => {
      const some = Float64Array.of(1, 2, NaN, 6);
      const got = groupNormalize(some, { groups: "all", weights: Float64Array.of(1, 3, 0, 1), scale: "none", backend });
      expect(got.means[0]).toBeCloseTo(2.6, 12);
      expect(got.normalized[3]).toBeCloseTo(3.4, 12);
    });

    test("a group of weight 0 has no mean and results 0", () => {
      const got = groupNormalize(Float64Array.of(1, 2), { groups: "all", weights: new Float64Array(2), backend });
      expect([got.means[0], got.stds[0], ...got.normalized]).toEqual([NaN, NaN, 0, 0]);
    });

    test("equal numbers of any weight give exact zeros", () => {
      const got = groupNormalize(new Float32Array(9).fill(0.97), {
        groups: "all",
        weights: rng(2).f32(9, 0.1, 5),
        scale: "none",
        backend,
      });
      expect([...got.normalized]).toEqual(new Array(9).fill(0));
      expect(got.means[0]).toBe(Math.fround(0.97));
    });

    test.each([[-1], [NaN], [Infinity]])("refuses the weight %p", (weight) => {
      const error = errorOf(() =>
        groupNormalize(Float64Array.of(1, 2), { groups: "all", weights: Float64Array.of(1, weight), backend }),
      );
      expect(error).toBeInstanceOf(SurprisalError);
      expect((error as SurprisalError).code).toBe("ERR_SURPRISAL_VALUE");
    });
  });

  test("a gain multiplies the results and nothing else", () => {
    const values = rng(3).f64(41, -2, 2);
    const plain = groupNormalize(values, { groups, backend });
    const gained = groupNormalize(values, { groups, gain: 2.5, backend });
    expect(gained.normalized).toBeAllClose(
      plain.normalized.map((x) => 2.5 * x),
      F64,
    );
    expect([gained.means, gained.stds]).toEqual([plain.means, plain.stds]);
    expect(errorOf(() => groupNormalize(values, { groups: "all", gain: -1, backend }))).toMatchObject({
      code: "ERR_SURPRISAL_OPTION",
    });
    expect(errorOf(() => groupNormalize(values, { groups: "all", gain: Infinity, backend }))).toMatchObject({
      code: "ERR_SURPRISAL_OPTION",
    });
  });

  describe("center runnerUp", () => {
    test("the sole winner keeps its lead, the rest is 0", () => {
      const values = rng(4).f64(41, -2, 2);
      const got = groupNormalize(values, { groups, center: "runnerUp", scale: "none", backend });
      for (const g of [0, 1, 2, 3]) {
        const items = groups.flatMap((label, i) => (label === g ? [i] : [])).sort((i, j) => values[j]! - values[i]!);
        expect(got.normalized[items[0]!]).toBe(values[items[0]!]! - values[items[1]!]!);
        expect(items.slice(1).map((i) => got.normalized[i])).toEqual(items.slice(1).map(() => 0));
      }
    });

    test("equal winners lead by nothing", () => {
      const got = groupNormalize(Float32Array.of(3, 1, 3, 2), {
        groups: "all",
        center: "runnerUp",
        scale: "none",
        backend,
      });
      expect([...got.normalized]).toEqual([0, 0, 0, 0]);
    });

    test("NaN spreads or abstains", () => {
      const values = Float32Array.of(3, NaN, 1);
      const options = { groups: "all", center: "runnerUp", scale: "none", backend } as const;
      expect([...groupNormalize(values, options).normalized]).toEqual([NaN, NaN, NaN]);
      expect([...groupNormalize(values, { ...options, nan: "abstain" }).normalized]).toEqual([2, 0, 0]);
    });
  });

  describe("groupLogSumExp", () => {
    test.each([0.3, 1, 7])("equals the logarithm of the sum, temperature %p", (temperature) => {
      const values = rng(5).f64(41, -3, 3);
      const { logSumExps, softMeans } = groupLogSumExp(values, { groups, temperature, backend });
      const sums = [0, 1, 2, 3].map((g) =>
        [...values].reduce((sum, x, i) => (groups[i] === g ? sum + Math.exp(x / temperature) : sum), 0),
      );
      const sizes = [11, 10, 10, 10];
      expect(logSumExps).toBeAllClose(sums.map(Math.log), F64);
      expect(softMeans).toBeAllClose(
        sums.map((sum, g) => temperature * Math.log(sum / sizes[g]!)),
        F64,
      );
    });

    test("equal numbers have themselves as soft mean, exactly, however large", () => {
      const { softMeans } = groupLogSumExp(new Float64Array(7).fill(1e5 + 0.1), {
        groups: "all",
        temperature: 0.01,
        backend,
      });
      expect(softMeans[0]).toBe(1e5 + 0.1);
    });

    test("infinities, NaN and emptiness follow the formula", () => {
      const values = Float64Array.of(-Infinity, -Infinity, -Infinity, 0, Infinity, 1, NaN, 1);
      const { logSumExps, softMeans } = groupLogSumExp(values, {
        groupOffsets: Int32Array.of(0, 2, 4, 6, 8, 8),
        backend,
      });
      expect([...logSumExps]).toEqual([-Infinity, 0, Infinity, NaN, -Infinity]);
      expect([...softMeans]).toEqual([-Infinity, -Math.LN2, Infinity, NaN, NaN]);
    });

    test("refuses a temperature of 0", () => {
      expect(
        errorOf(() => groupLogSumExp(Float64Array.of(1), { groups: "all", temperature: 0, backend })),
      ).toMatchObject({
        code: "ERR_SURPRISAL_OPTION",
      });
    });
  });

  describe("groupWeigh", () => {
    test("powers of magnitudes, with a floor", () => {
      const got = groupWeigh(
        Float64Array.of(-2, 0, 3),
        { form: "power", power: 2 },
        { groups: "all", floor: 0.5, backend },
      );
      expect(got).toBeAllClose([4.5, 0.5, 9.5], F64);
    });

    test("extremes of each group; equal extremes count as largest; NaN is none", () => {
      const form = { form: "extremes", atMax: 4, atMin: 2, between: 1 } as const;
      const values = Float32Array.of(1, 3, 2, 3, 5, 5, NaN, 1, 2);
      const got = groupWeigh(values, form, { groupOffsets: Int32Array.of(0, 4, 6, 9), backend });
      expect([...got]).toEqual([2, 4, 1, 4, 4, 4, NaN, 2, 4]);
    });

    test.each([
      ["a negative power", { form: "power", power: -1 }],
      ["NaN as a weight", { form: "extremes", atMax: NaN, atMin: 0, between: 0 }],
      ["an unknown form", { form: "rank" } as never],
    ] as const)("refuses %s", (_, form) => {
      expect(errorOf(() => groupWeigh(Float32Array.of(1, 2), form, { groups: "all", backend }))).toMatchObject({
        code: "ERR_SURPRISAL_OPTION",
      });
    });
  });
});

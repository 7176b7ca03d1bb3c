import { groupNormalize, type GroupConventions } from "../../lib/ops/group";
import { groupNormalizeOracle, partition } from "../oracle/group";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const FLOATS = [
  ["float32", Float32Array],
  ["float64", Float64Array],
] as const;
const DEFAULTS: Required<GroupConventions> = {
  center: "mean",
  scale: "std",
  ddof: 1,
  epsilon: 1e-6,
  varianceFloor: 0,
  singleton: "zero",
  nan: "propagate",
};

/** One rounding of the result for float32. For float64 both sides add up to 64 deviations of up to 10, in any order. */
const TOLERANCE = { float32: { rtol: 1.2e-7, atol: 1e-12 }, float64: { rtol: 1e-14, atol: 1e-12 } };

/** Random labels where every group has two items or more, and groups lie interleaved. */
function raggedLabels(seed: number, n: number, groups: number): Int32Array {
  return rng(seed)
    .i32(n, 0, groups)
    .map((label, i) => (i < 2 * groups ? i % groups : label));
}

eachBackend((backend) => {
  test("the usual call, which has a way of its own, is that of weights of 1: on js to the bit", () => {
    const r = rng(31);
    // Groups of 8, of one size and of several; constant ones and singletons among them.
    const sizes = [...new Array<number>(40).fill(8), ...new Array<number>(20).fill(12), ...r.i32(90, 1, 70)];
    const groupOffsets = Int32Array.from(
      [0, ...sizes].map(
        (
          (sum) => (size: number) =>
            (sum += size)
        )(0),
      ),
    );
    const values = Float64Array.from(r.normal(groupOffsets.at(-1)!), (x, i) => (i % 300 < 40 ? 0.7 : x));
    const weights = new Float64Array(values.length).fill(1);
    const plain = groupNormalize(values, { groupOffsets, backend });
    const weighted = groupNormalize(values, { groupOffsets, weights, backend });
    for (const name of ["normalized", "means", "stds"] as const)
      if (backend === "js") expect(plain[name]).toEqual(weighted[name]);
      else expect(plain[name]).toBeAllClose(weighted[name], TOLERANCE.float64);
    expect(Array.from(plain.counts)).toEqual(Array.from(weighted.counts));
  });

  describe.each(FLOATS)("%s", (dtype, Floats) => {
    const tolerance = TOLERANCE[dtype];

    test.each<[string, Partial<GroupConventions>]>([
      ["the default", {}],
      ["population std, no epsilon", { ddof: 0, epsilon: 0 }],
      ["mean only", { scale: "none" }],
      ["leave one out", { center: "leaveOneOut", scale: "none" }],
      ["leave one out, scaled", { center: "leaveOneOut", epsilon: 1e-4 }],
      ["scale only", { center: "none" }],
      ["by the others", { center: "leaveOneOut", scale: "others" }],
      ["by the others, uncentred, population", { center: "none", scale: "others", ddof: 0 }],
      ["by the mean", { scale: "mean", epsilon: 0.1 }],
      ["by the signed mean", { scale: "signedMean", epsilon: 0.1 }],
      ["neither", { center: "none", scale: "none" }],
      ["large epsilon", { epsilon: 0.5 }],
      ["a floor under the variance", { varianceFloor: 2, epsilon: 0 }],
    ])("matches the definition by pairs: %s", (_, options) => {
      const labels = raggedLabels(1, 300, 11);
      const values = Floats.from(rng(2).normal(300, 1, 2));
      const got = groupNormalize(values, { ...options, groups: labels, backend });
      const want = groupNormalizeOracle(values, partition(labels), { ...DEFAULTS, ...options });
      expect(got.normalized).toBeAllClose(want.normalized, tolerance);
      expect(got.means).toBeAllClose(want.means, tolerance);
      expect(got.stds).toBeAllClose(want.stds, tolerance);
      expect(got.normalized).toBeInstanceOf(Floats);
      expect(Array.from(got.counts)).toEqual(partition(labels).map((items) => items.length));
    });

    test.each([
      ["three times 0.1", 0.1, 3],
      ["seven times 0.7", 0.7, 7],
      ["sixteen times 0.97", 0.97, 16],
      ["a huge constant", 1e30, 5],
      ["zeros of both signs", 0, 4],
    ])("a constant group gives exact zeros: %s", (_, value, n) => {
      const values = new Floats(n).fill(value);
      if (value === 0) values[1] = -0;
      for (const center of ["mean", "leaveOneOut"] as const)
        for (const options of [
          { epsilon: 0 },
          { epsilon: 1e-9 },
          { scale: "none" },
          { ddof: 0, epsilon: 0 },
        ] as const) {
          const got = groupNormalize(values, { groups: "all", ...options, center, backend });
          expect(Array.from(got.normalized, Math.abs)).toEqual(new Array(n).fill(0));
          expect(got.stds[0]).toBe(0);
          expect(got.means[0]).toBe(values[0]);
        }
    });

    test("the others of a group decide: equal others divide nothing, and a pair has no others to speak of", () => {
      const out = { centers: new Floats(9), spreads: new Floats(9) };
      const values = Floats.of(0, 0, 0, 1, 3, 5, 2, 2, 7);
      const options = { center: "leaveOneOut", scale: "others", epsilon: 1e-6, backend } as const;
      const got = groupNormalize(values, { ...options, groupOffsets: Int32Array.of(0, 4, 6, 8, 9), out });
      const std = Math.sqrt(1 / 3); // of 0, 0, 1
      const down = -1 / 3 / (std + 1e-6);
      expect(got.normalized).toBeAllClose([down, down, down, 1, -2, 2, 0, 0, 0], tolerance);
      expect(out.centers).toBeAllClose([1 / 3, 1 / 3, 1 / 3, 0, 5, 3, 2, 2, 7], tolerance);
      expect(out.spreads).toBeAllClose([std, std, std, 0, 0, 0, 0, 0, 0], tolerance);
    });

    test("a mean that is not above 0 gives 0, or turns the sign", () => {
      const values = Floats.of(-1, -3, 1, -1);
      const given = { groups: [0, 0, 1, 1], epsilon: 0, backend } as const;
      expect([...groupNormalize(values, { ...given, scale: "mean" }).normalized].map(Math.abs)).toEqual([0, 0, 0, 0]);
      const signed = groupNormalize(values, { ...given, scale: "signedMean" }).normalized;
      expect([...signed.slice(0, 2)]).toEqual([-0.5, 0.5]);
    });

    test("weights of 0 and NaN have a center where the group has one", () => {
      const out = { centers: new Floats(4), spreads: new Floats(4) };
      groupNormalize(Floats.of(1, 3, 9, NaN), {
        groups: "all",
        weights: Floats.of(1, 1, 0, 1),
        nan: "abstain",
        scale: "none",
        out,
        backend,
      });
      expect([...out.centers]).toEqual([2, 2, 2, NaN]);
      expect([...out.spreads]).toEqual([1, 1, 1, NaN]);
    });

    test("a constant group that is not centred is only scaled", () => {
      const got = groupNormalize(Floats.of(3, 3), {
        groups: "all",
        center: "none",
        varianceFloor: 0.25,
        epsilon: 0.5,
        backend,
      });
      expect(Array.from(got.normalized)).toEqual([3, 3]);
      expect(got.stds[0]).toBe(0.5);
    });

    test("a group of one, or of none, as standard: mean 0 and std 1, and the number stays", () => {
      const given = {
        groupOffsets: Int32Array.of(0, 1, 1, 3, 5),
        singleton: "standard",
        epsilon: 0.25,
        backend,
      } as const;
      const got = groupNormalize(Floats.of(-4, 1, 3, 7, NaN), { ...given, nan: "abstain" });
      expect([...got.means]).toEqual([0, 0, 2, 0]);
      expect(got.stds).toBeAllClose([1, 1, Math.SQRT2, 1], tolerance);
      expect([...got.counts]).toEqual([1, 0, 2, 1]);
      const scaled = Math.SQRT1_2 / (1 + 0.25 * Math.SQRT1_2); // 1 / (sqrt 2 + 0.25)
      expect(got.normalized).toBeAllClose([-4 / 1.25, -scaled, scaled, 7 / 1.25, 0], tolerance);
      expect([...groupNormalize(Floats.of(-4, 1, 3, 7, NaN), given).means]).toEqual([0, 0, 2, NaN]);
      const nothing = groupNormalize(Floats.of(NaN, NaN), {
        groups: "all",
        singleton: "standard",
        nan: "abstain",
        backend,
      });
      expect([nothing.means[0], nothing.stds[0], ...nothing.normalized]).toEqual([0, 1, 0, 0]);
    });

    test("a group of one is 0 or stays raw", () => {
      const values = Floats.of(2, -4);
      const options = { groups: [0, 1], epsilon: 0.25, backend } as const;
      const got = groupNormalize(values, options);
      expect(Array.from(got.normalized)).toEqual([0, 0]);
      expect(Array.from(got.means)).toEqual([2, -4]);
      expect(Array.from(got.stds)).toEqual([0, 0]);
      const run = (more: GroupConventions) => Array.from(groupNormalize(values, { ...options, ...more }).normalized);
      expect(run({ singleton: "raw" })).toEqual([1.6, -3.2].map((x) => Floats.of(x)[0]));
      expect(run({ singleton: "raw", scale: "none" })).toEqual([2, -4]);
      expect(run({ singleton: "raw", scale: "none", center: "leaveOneOut" })).toEqual([2, -4]);
      expect(run({ singleton: "zero", scale: "none", center: "leaveOneOut" })).toEqual([0, 0]);
      expect(run({ singleton: "zero", scale: "none", center: "none" })).toEqual([2, -4]);
    });

    test("a NaN makes its group NaN, and no other", () => {
      const values = Floats.of(1, NaN, 3, 5, 2, NaN);
      const got = groupNormalize(values, { groups: [0, 0, 1, 1, 0, 2], scale: "none", backend });
      expect(Array.from(got.normalized)).toEqual([NaN, NaN, -1, 1, NaN, NaN]);
      expect(Array.from(got.means)).toEqual([NaN, 4, NaN]);
      expect(Array.from(got.counts)).toEqual([3, 2, 1]);
    });

    test("a NaN that abstains changes nothing for the others", () => {
      const x = rng(4).normal(20);
      const alone = groupNormalize(Floats.from(x), { groups: "all", backend });
      const mixed = new Floats(30).fill(NaN);
      x.forEach((value, i) => (mixed[i + Math.floor(i / 2)] = value));
      const got = groupNormalize(mixed, { groups: "all", nan: "abstain", backend });
      expect(got.counts[0]).toBe(20);
      expect(got.means).toBeAllClose(alone.means, tolerance);
      expect(got.stds).toBeAllClose(alone.stds, tolerance);
      const kept = Array.from(got.normalized).filter((_, i) => !Number.isNaN(mixed[i]));
      expect(Floats.from(kept)).toBeAllClose(alone.normalized, tolerance);
      expect(Array.from(got.normalized).filter((_, i) => Number.isNaN(mixed[i]))).toEqual(new Array(10).fill(0));
    });

    test("abstaining can leave a singleton or nothing", () => {
      const values = Floats.of(NaN, 3, NaN, NaN);
      const options = { groups: [0, 0, 1, 1], nan: "abstain", scale: "none", backend } as const;
      expect(Array.from(groupNormalize(values, options).normalized)).toEqual([0, 0, 0, 0]);
      const raw = groupNormalize(values, { ...options, singleton: "raw" });
      expect(Array.from(raw.normalized)).toEqual([0, 3, 0, 0]);
      expect(Array.from(raw.means)).toEqual([3, NaN]);
      expect(Array.from(raw.stds)).toEqual([0, NaN]);
      expect(Array.from(raw.counts)).toEqual([1, 0]);
    });

    test("infinities follow IEEE arithmetic", () => {
      const values = Floats.of(0, -Infinity, 1, Infinity, Infinity, -Infinity, Infinity);
      const options = { groups: [0, 0, 0, 1, 1, 2, 2], scale: "none", backend } as const;
      const got = groupNormalize(values, options);
      expect(Array.from(got.normalized)).toEqual([Infinity, NaN, Infinity, NaN, NaN, NaN, NaN]);
      expect(Array.from(got.means)).toEqual([-Infinity, Infinity, NaN]);
      expect(Array.from(got.stds)).toEqual([NaN, NaN, NaN]);
      expect(Array.from(groupNormalize(values, { ...options, scale: "std" }).normalized)).toEqual(
        new Array(7).fill(NaN),
      );
    });

    test("groups may be empty, or none", () => {
      const got = groupNormalize(Floats.of(1, 3, 8), {
        groupOffsets: Int32Array.of(0, 0, 2, 2, 3, 3),
        scale: "none",
        backend,
      });
      expect(Array.from(got.normalized)).toEqual([-1, 1, 0]);
      expect(Array.from(got.means)).toEqual([NaN, 2, NaN, 8, NaN]);
      expect(Array.from(got.stds)).toEqual([NaN, Floats.of(Math.SQRT2)[0], NaN, 0, NaN]);
      expect(Array.from(got.counts)).toEqual([0, 2, 0, 1, 0]);
      for (const options of [{}, { groups: [] }, { groups: undefined, groupOffsets: Int32Array.of(0) }])
        expect(groupNormalize(new Floats(0), { groups: "all", ...options, backend }).means).toHaveLength(0);
      expect(Array.from(groupNormalize(new Floats(0), { groupOffsets: Int32Array.of(0, 0), backend }).stds)).toEqual([
        NaN,
      ]);
    });

    test("the order of rows and the names of groups do not matter", () => {
      const n = 120;
      const r = rng(5);
      const values = Floats.from(r.normal(n));
      const labels = raggedLabels(6, n, 9);
      const base = groupNormalize(values, { groups: labels, backend }).normalized;
      const keys = r.f64(n);
      const order = Array.from(keys.keys()).sort((i, j) => keys[i]! - keys[j]!);
      const moved = groupNormalize(Floats.from(order.map((i) => values[i]!)), {
        groups: order.map((i) => `prompt ${labels[i]}`),
        backend,
      });
      expect(moved.normalized).toBeAllClose(Floats.from(order.map((i) => base[i]!)), tolerance);
      // The same groups one after the other: nothing differs but where they lie.
      const sorted = partition(labels).flat();
      const offsets = Int32Array.from([0, ...partition(labels).map((items) => items.length)]);
      for (let g = 1; g < offsets.length; ++g) offsets[g]! += offsets[g - 1]!;
      const blocks = groupNormalize(Floats.from(sorted.map((i) => values[i]!)), { groupOffsets: offsets, backend });
      expect(Array.from(blocks.normalized)).toEqual(sorted.map((i) => base[i]));
    });

    test("a change of unit is not seen by the scaled form, and passes through the other", () => {
      const values = Floats.from(rng(7).normal(40));
      const scaled = values.map((x) => x * -8); // a power of two: exact
      const options = { groups: raggedLabels(8, 40, 4), epsilon: 0, backend } as const;
      const base = groupNormalize(values, options).normalized;
      expect(Array.from(groupNormalize(scaled, options).normalized)).toEqual(Array.from(base, (y) => -y));
      const centred = groupNormalize(values, { ...options, scale: "none" }).normalized;
      expect(Array.from(groupNormalize(scaled, { ...options, scale: "none" }).normalized)).toEqual(
        Array.from(centred, (y) => y * -8),
      );
    });

    test("leave-one-out advantages of a group sum to zero, and are n/(n-1) of the centred ones", () => {
      const values = Floats.from(rng(9).normal(64));
      const options = { groups: raggedLabels(10, 64, 5), scale: "none", backend } as const;
      const loo = groupNormalize(values, { ...options, center: "leaveOneOut" });
      const centred = groupNormalize(values, options);
      const sums = new Float64Array(5);
      loo.normalized.forEach((y, i) => (sums[loo.groupIds[i]!]! += y));
      // Up to 20 results, each rounded to half a unit of the type: 3e-8 * 3 in float32.
      expect(sums).toBeAllClose(new Float64Array(5), { atol: dtype === "float32" ? 2e-6 : 1e-14 });
      const stretched = centred.normalized.map((y, i) => {
        const n = centred.counts[centred.groupIds[i]!]!;
        return (y * n) / (n - 1);
      });
      expect(loo.normalized).toBeAllClose(stretched, { rtol: dtype === "float32" ? 2.4e-7 : 1e-14, atol: 1e-14 });
    });
  });

  test("a large common offset costs nothing", () => {
    const r = rng(11);
    const small = r.f64(50, -1, 1).map((x) => Math.round(x * 2 ** 20) / 2 ** 20);
    const values = small.map((x) => x + 2 ** 30); // exact: 51 bits
    const options = { groups: raggedLabels(12, 50, 3), epsilon: 0, backend } as const;
    // The same deviations to the last bits of the statistics, although the offset is 2^30 times larger.
    expect(groupNormalize(values, options).normalized).toBeAllClose(groupNormalize(small, options).normalized, {
      rtol: 1e-13,
    });
  });

  test("a tiny but real spread is divided by its own std", () => {
    const got = groupNormalize(Float64Array.of(1, 1 + 2 ** -52), { groups: "all", epsilon: 0, ddof: 0, backend });
    expect(Array.from(got.normalized)).toEqual([-1, 1]);
    expect(got.stds[0]).toBe(2 ** -53);
  });

  test("too few items for ddof have no std", () => {
    const got = groupNormalize(Float64Array.of(1, 2), { groups: "all", ddof: 2, backend });
    expect(Array.from(got.normalized)).toEqual([NaN, NaN]);
    expect(got.stds[0]).toBeNaN();
  });

  test("one group of very many items", () => {
    const n = 1_000_003;
    const values = new Float32Array(n).map((_, i) => (i % 1000) + 1e4);
    const got = groupNormalize(values, { groups: "all", epsilon: 0, backend });
    let mean = 0;
    for (const x of values) mean += x / n;
    let variance = 0;
    for (const x of values) variance += ((x - mean) * (x - mean)) / (n - 1);
    expect(got.means).toBeAllClose([mean], { rtol: 1e-7 });
    expect(got.stds).toBeAllClose([Math.sqrt(variance)], { rtol: 1e-7 });
    expect(got.normalized[n - 1]!).toBeCloseTo((values[n - 1]! - mean) / Math.sqrt(variance), 6);
    expect(got.counts[0]).toBe(n);
  });

  test("very many small groups", () => {
    const G = backend === "emulated" ? 5_000 : 1_000_000; // the emulation needs 80 µs for each
    const values = Float32Array.from({ length: 2 * G }, (_, i) => (i % 2 ? i : -i));
    const got = groupNormalize(values, {
      groupOffsets: Int32Array.from({ length: G + 1 }, (_, g) => 2 * g),
      scale: "none",
      backend,
    });
    expect(got.counts.every((count) => count === 2)).toBe(true);
    for (const g of [0, 1, 7, G >> 1, G - 1]) {
      const half = (values[2 * g + 1]! - values[2 * g]!) / 2;
      expect([got.normalized[2 * g], got.normalized[2 * g + 1]]).toEqual([-half, half]);
    }
  });

  test("equal numbers have no variance, however little they weigh; a NaN std makes every number NaN", () => {
    const light = groupNormalize(Float64Array.of(1, 1), {
      groups: "all",
      weights: Float64Array.of(0.4, 0.4),
      center: "none",
      epsilon: 1e-6,
      varianceFloor: 1e-8,
      backend,
    });
    expect(light.stds).toEqual(Float64Array.of(1e-4));
    expect(light.normalized).toBeAllClose([1 / 1.01e-4, 1 / 1.01e-4], { rtol: 1e-12 });

    const few = { groups: "all", center: "runnerUp", ddof: 2, backend } as const;
    expect(groupNormalize(Float64Array.of(1, 3), few).normalized).toEqual(Float64Array.of(NaN, NaN));
  });
});

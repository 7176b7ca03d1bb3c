import { affine, moments, whiten, type WhitenConventions } from "surprisal";
import { keptRows, momentsOracle } from "../../oracle/reduce";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

const FLOATS = [
  ["float32", Float32Array],
  ["float64", Float64Array],
] as const;
const NO_STABILISER = { epsilon: 0, varianceEpsilon: 0, varianceFloor: 0 };

/** One rounding of the result in float32; in float64 the mean of some hundred numbers and a division or two. */
const TOLERANCE = { float32: { rtol: 1.2e-7, atol: 1e-12 }, float64: { rtol: 1e-13, atol: 1e-13 } };

/** The definition: the map of one unit of finite numbers. */
function whitening(unit: readonly number[], c: WhitenConventions): (x: number) => number {
  const { sum, count } = momentsOracle(unit);
  const ddof = c.ddof ?? 1;
  const mean = sum / (count + (c.countEpsilon ?? 0));
  const squares = unit.reduce((total, y) => total + (y - mean) * (y - mean), 0);
  const variance = count > ddof ? (squares / (count - ddof)) * (count / (count + (c.countEpsilon ?? 0))) : 0;
  const std = Math.sqrt(Math.max(variance, c.varianceFloor ?? 0) + (c.varianceEpsilon ?? 0)) + (c.epsilon ?? 0);
  return (x) => (x - (c.center === "none" ? 0 : mean)) / (c.scale === "none" ? 1 : std) + (c.keepMean ? mean : 0);
}

eachBackend((backend) => {
  describe.each(FLOATS)("%s", (dtype, Floats) => {
    const tolerance = TOLERANCE[dtype];

    test.each<[string, WhitenConventions]>([
      ["sample variance, epsilon inside the root", { varianceEpsilon: 1e-8 }],
      ["population variance with a floor", { ddof: 0, varianceFloor: 2 }],
      ["epsilon beside the std", { epsilon: 0.125 }],
      ["all three stabilisers", { epsilon: 0.1, varianceEpsilon: 0.2, varianceFloor: 3 }],
      ["a count with something added", { varianceEpsilon: 1e-8, countEpsilon: 0.5 }],
      ["the mean kept", { ...NO_STABILISER, keepMean: true }],
      ["centred only", { scale: "none" }],
      ["scaled only", { center: "none", ddof: 0, epsilon: 1e-3 }],
      ["neither", { center: "none", scale: "none" }],
    ])("matches the definition per row, per group and over all: %s", (_, conventions) => {
      const r = rng(1);
      const [B, T] = [6, 47];
      const values = Floats.from(r.normal(B * T, 2, 3));
      const mask = r.mask(B * T, 0.7);
      const rows = keptRows(values, mask, T);
      const groups = [0, 1, 0, 2, 1, 0];
      const units = {
        row: rows,
        all: rows.map(() => rows.flat()),
        group: groups.map((label) => rows.filter((_, b) => groups[b] === label).flat()),
      };
      for (const over of ["row", "group", "all"] as const) {
        const layout = {
          shape: [B, T],
          mask,
          over,
          ...(over === "group" && { groups }),
          ...conventions,
          backend,
        } as const;
        const maps = units[over].map((unit) => whitening(unit, conventions));
        const formula = Array.from(values, (x, i) => maps[Math.floor(i / T)]!(x));
        const got = whiten(values, layout);
        expect(got).toBeAllClose(
          formula.map((y, i) => (mask[i] ? y : 0)),
          tolerance,
        );
        expect(got).toBeInstanceOf(Floats);
        expect(whiten(values, { ...layout, transformMasked: true })).toBeAllClose(formula, tolerance);
      }
    });

    test("as many numbers as ddof have a variance of 0", () => {
      for (const [values, ddof] of [
        [[5], 1],
        [[5, 7], 2],
      ] as const) {
        const got = whiten(Floats.from(values), { center: "none", ddof, varianceEpsilon: 0.25, backend });
        expect(Array.from(got)).toEqual(values.map((x) => 2 * x));
      }
    });

    test("the default is the sample variance with 1e-8 added; any stabiliser replaces that", () => {
      const values = Floats.of(1, 2, 4);
      const y = (conventions: WhitenConventions) => Array.from(whiten(values, { ...conventions, backend }));
      expect(y({})).toEqual(y({ ddof: 1, varianceEpsilon: 1e-8, varianceFloor: 0, epsilon: 0, keepMean: false }));
      expect(y({ epsilon: 0 })).toEqual(y(NO_STABILISER));
      expect(y({ varianceFloor: 9 })).toEqual(y({ ...NO_STABILISER, varianceFloor: 9 }));
    });

    test("a constant unit gives exact zeros, with no stabiliser at all", () => {
      for (const value of [0.1, 0.97, -3, 1e30])
        for (const keepMean of [false, true]) {
          const values = new Floats(10).fill(value);
          const got = whiten(values, { ...NO_STABILISER, keepMean, backend });
          expect(Array.from(got)).toEqual(Array.from(values, (x) => (keepMean ? x : 0)));
        }
      expect(Array.from(whiten(Floats.of(5), { ...NO_STABILISER, backend }))).toEqual([0]);
    });

    test("whitened numbers have mean 0 and std 1", () => {
      const values = Floats.from(rng(2).normal(5000, 7, 3));
      const got = moments(whiten(values, { ...NO_STABILISER, backend }), { backend });
      // In float32 each number is off by 3e-8, and the mean of 5000 of them by much less than that.
      expect(got.means[0]).toBeAllClose(0, { atol: dtype === "float32" ? 1e-8 : 1e-14 });
      expect(got.stds()[0]).toBeAllClose(1, { rtol: dtype === "float32" ? 1e-8 : 1e-14 });
    });

    test("what lies under the mask changes no bit, and neither does padding", () => {
      const r = rng(3);
      const [B, T] = [4, 33];
      const values = Floats.from(r.normal(B * T));
      const mask = r.mask(B * T, 0.5);
      const poisoned = values.map((x, i) => (mask[i] ? x : NaN));
      const layout = { shape: [B, T], mask, backend } as const;
      const base = whiten(values, layout);
      expect(Array.from(whiten(poisoned, layout))).toEqual(Array.from(base));
      const wide = new Floats(B * (T + 9)).fill(NaN);
      const wideMask = new Uint8Array(B * (T + 9));
      for (let b = 0; b < B; ++b) {
        wide.set(values.subarray(b * T, (b + 1) * T), b * (T + 9));
        wideMask.set(mask.subarray(b * T, (b + 1) * T), b * (T + 9));
      }
      const got = whiten(wide, { shape: [B, T + 9], mask: wideMask, backend });
      expect(Array.from(got).filter((_, i) => i % (T + 9) < T)).toEqual(Array.from(base));
    });

    test("the order of rows does not matter to each row's own numbers", () => {
      const values = Floats.from(rng(4).normal(5 * 20));
      const layout = { shape: [5, 20], over: "row", backend } as const;
      const base = whiten(values, layout);
      const order = [3, 0, 4, 1, 2];
      const moved = Floats.from(order.flatMap((b) => Array.from(values.subarray(b * 20, b * 20 + 20))));
      expect(Array.from(whiten(moved, layout))).toEqual(
        order.flatMap((b) => Array.from(base.subarray(b * 20, b * 20 + 20))),
      );
    });

    test("a NaN spreads over its unit, or abstains with result 0", () => {
      const values = Floats.of(1, NaN, 3, 4, 5, 6);
      const layout = { shape: [2, 3], over: "row", scale: "none", backend } as const;
      expect(Array.from(whiten(values, layout))).toEqual([NaN, NaN, NaN, -1, 0, 1]);
      expect(Array.from(whiten(values, { ...layout, nan: "abstain" }))).toEqual([-1, 0, 1, -1, 0, 1]);
    });

    test("moments from elsewhere take the place of the values' own", () => {
      const values = Floats.from(rng(5).normal(64));
      const whole = moments(values, { backend });
      const halves = [values.subarray(0, 32), values.subarray(32)].map((part) =>
        Array.from(whiten(part, { moments: whole, backend })),
      );
      expect(halves.flat()).toEqual(Array.from(whiten(values, { backend })));
      expect(halves[0]).toEqual(
        Array.from(whiten(values.subarray(0, 32), { moments: structuredClone({ partials: whole.partials }), backend })),
      );
    });

    test("the result may take the place of the values", () => {
      const values = Floats.from(rng(6).normal(40));
      const want = whiten(values, { backend });
      const shifted = affine(values, { shape: [4, 10], center: 1, backend });
      const copy = values.slice();
      expect(whiten(copy, { out: { whitened: copy }, backend })).toBe(copy);
      expect(Array.from(copy)).toEqual(Array.from(want));
      const other = values.slice();
      affine(other, { shape: [4, 10], center: 1, out: { mapped: other }, backend });
      expect(Array.from(other)).toEqual(Array.from(shifted));
    });

    test("affine maps shift and scale each row", () => {
      const values = Floats.of(1, 2, NaN, 4, 5, 6);
      const layout = { shape: [2, 3], mask: Uint8Array.of(1, 1, 0, 1, 1, 1), backend } as const;
      expect(Array.from(affine(values, { ...layout, center: Floats.of(1, 4), scale: Floats.of(2, -3) }))).toEqual([
        0, 2, 0, -0, -3, -6,
      ]);
      expect(Array.from(affine(values, { ...layout, center: 1 }))).toEqual([0, 1, 0, 3, 4, 5]);
      expect(Array.from(affine(values, { ...layout, scale: Float64Array.of(10, 0.5) }))).toEqual([
        10, 20, 0, 2, 2.5, 3,
      ]);
      expect(Array.from(affine(values, { ...layout, scale: 2, transformMasked: true }))).toEqual([
        2,
        4,
        NaN,
        8,
        10,
        12,
      ]);
      expect(Array.from(affine(values, layout))).toEqual([1, 2, 0, 4, 5, 6]);
      expect(
        Array.from(affine(values, { offsets: Int32Array.of(0, 1, 1, 6), center: Floats.of(1, 7, 2), backend })),
      ).toEqual([0, 0, NaN, 2, 3, 4]);
      expect(affine(new Floats(0), { shape: [0, 3], backend })).toHaveLength(0);
    });
  });
});

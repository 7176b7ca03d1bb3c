// shareWeights, gammaWeights, clamp, countKept, countNgrams: against their definitions, one row at a time.
import fc from "fast-check";
import {
  clamp,
  countKept,
  countNgrams,
  discountedReturns,
  gae,
  gammaWeights,
  shareWeights,
  SurprisalError,
} from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

// Sums of a few dozen float64 terms in another order.
const CLOSE = { atol: 1e-13, rtol: 1e-12 };
const [B, T] = [6, 41];
const shape = [B, T] as const;

function batch(seed: number, size = 1) {
  const r = rng(seed);
  const values = r.f64(B * T, -size, size);
  const mask = r.mask(B * T, 0.7);
  mask.fill(0, T, 2 * T); // a row without kept tokens
  const poisoned = values.map((x, i) => (mask[i] !== 0 ? x : NaN));
  /** Positions of each row that the mask keeps. */
  const kept = Array.from({ length: B }, (_, b) =>
    Array.from({ length: T }, (_, t) => b * T + t).filter((i) => mask[i] !== 0),
  );
  return { values, mask, poisoned, kept, signs: r.f64(B, -1, 1) };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, x) => total + x, 0);

eachBackend((backend) => {
  describe("shareWeights", () => {
    test.each([0, 0.5, 3])("equals the definition, gain %p", (gain) => {
      const { poisoned, mask, kept } = batch(1);
      const { weights, products } = shareWeights(poisoned, { shape, mask, gain, backend });
      const wanted = new Float64Array(B * T);
      for (const row of kept)
        row.forEach((i, k) => {
          const magnitude = (positions: readonly number[]): number => sum(positions.map((j) => Math.abs(poisoned[j]!)));
          wanted[i] = 1 + gain * (magnitude(row.slice(k)) / magnitude(row));
        });
      expect(weights).toBeAllClose(wanted, CLOSE);
      expect(products).toBeAllClose(
        wanted.map((w, i) => (mask[i] !== 0 ? w * poisoned[i]! : 0)),
        CLOSE,
      );
    });

    test("nothing to share: every weight is 1 + gain, and packed rows equal padded ones", () => {
      const { weights } = shareWeights(new Float32Array(3), { offsets: Int32Array.of(0, 0, 3), gain: 0.5, backend });
      expect([...weights]).toEqual([1.5, 1.5, 1.5]);
    });
  });

  describe("gammaWeights", () => {
    test.each([1, 30])("equals the definition, log-ratios up to %p", (size) => {
      const { poisoned, mask, kept, signs } = batch(2, size);
      const factors = rng(3)
        .f64(B * T, 0.5, 2)
        .map((x, i) => (mask[i] !== 0 ? x : NaN));
      const { weights, logWeights } = gammaWeights(poisoned, signs, { shape, mask, factors, backend });
      const bounded = (x: number, low: number): number => Math.max(low, Math.min(20, x));
      const logs = kept.map((row) =>
        bounded(sum(row.map((i) => bounded(poisoned[i]!, -20) + Math.log(factors[i]!))), Math.log(1e-8)),
      );
      expect(logWeights).toBeAllClose(logs, CLOSE);
      const density = logs.map((l, b) => {
        const [shape, rate] = signs[b]! >= 0 ? [2, 3] : [3, 2];
        return Math.pow(Math.exp(l), shape) * Math.exp(rate * (1 - Math.exp(l)));
      });
      expect(weights).toBeAllClose(density, { atol: 1e-300, rtol: 1e-9 }); // e^20 nats in an exponent
    });

    test("1 where nothing differs; a ratio of 0 is taken as 1e-8", () => {
      const { weights } = gammaWeights(new Float64Array(4), Float64Array.of(1, -1), { shape: [2, 2], backend });
      expect([...weights]).toEqual([1, 1]);
      const { logWeights } = gammaWeights(Float64Array.of(0), Float64Array.of(1), {
        shape: [1, 1],
        factors: Float64Array.of(0),
        backend,
      });
      expect(logWeights).toBeAllClose([Math.log(1e-8)], CLOSE);
    });
  });

  describe("clamp", () => {
    test("clamps and counts the kept, per row", () => {
      const { poisoned, mask, kept } = batch(4);
      const result = clamp(poisoned, { shape, mask, low: -0.25, high: 0.5, backend });
      expect([...result.clamped]).toEqual(
        [...poisoned].map((x, i) => (mask[i] !== 0 ? Math.max(-0.25, Math.min(0.5, x)) : 0)),
      );
      expect([...result.kept]).toEqual(kept.map((row) => row.length));
      expect([...result.outside]).toEqual(
        kept.map((row) => row.filter((i) => poisoned[i]! < -0.25 || poisoned[i]! > 0.5).length),
      );
    });

    test("bounds the wrong way round, NaN, masked numbers that are clamped but not counted, in place", () => {
      const values = Float32Array.of(-9, NaN, 9, 9);
      const options = { shape: [1, 4], mask: Uint8Array.of(1, 1, 1, 0), backend } as const;
      expect([...clamp(values, { ...options, low: 2, high: 1 }).clamped]).toEqual([1, NaN, 1, 0]);
      const { clamped, kept, outside } = clamp(values, {
        ...options,
        low: -1,
        high: 1,
        transformMasked: true,
        out: { clamped: values },
      });
      expect(clamped).toBe(values);
      expect([...values, ...kept, ...outside]).toEqual([-1, NaN, 1, 1, 3, 2]);
    });
  });

  describe("countKept", () => {
    test("counts what the mask keeps, padded as packed", () => {
      const { mask, kept } = batch(5);
      const wanted = kept.map((row) => row.length);
      expect([...countKept({ shape, mask, backend })]).toEqual(wanted);
      const offsets = Int32Array.from({ length: B + 1 }, (_, b) => b * T);
      expect([...countKept({ offsets, mask, backend })]).toEqual(wanted);
    });

    test("any byte but 0 keeps; rows longer than a block; without a mask the length, also of nothing", () => {
      const mask = Uint8Array.from({ length: 10_000 }, (_, i) => (i % 3 === 0 ? 0 : (i % 255) + 1));
      const wanted = [mask.subarray(0, 9_000), mask.subarray(9_000)].map((row) =>
        row.reduce((count, m) => count + Math.sign(m), 0),
      );
      expect([...countKept({ offsets: Int32Array.of(0, 9_000, 9_000, 10_000), mask, backend })]).toEqual([
        wanted[0],
        0,
        wanted[1],
      ]);
      expect([...countKept({ offsets: Int32Array.of(0, 2, 2, 6), backend })]).toEqual([2, 0, 4]);
      expect([...countKept({ shape: [3, 0], backend })]).toEqual([0, 0, 0]);
      expect(countKept({ shape: [0, 3], backend })).toEqual(new Float64Array(0));
    });

    test("refuses a mask of another length or kind, and rows said twice", () => {
      const refused = (options: object): unknown => {
        try {
          return countKept({ ...options, backend });
        } catch (error) {
          return (error as SurprisalError).code;
        }
      };
      expect(refused({ shape: [2, 2], mask: new Uint8Array(3) })).toBe("ERR_SURPRISAL_SHAPE");
      expect(refused({ shape: [2, 2], mask: new Float32Array(4) })).toBe("ERR_SURPRISAL_DTYPE");
      expect(refused({ shape: [2, 2], offsets: Int32Array.of(0, 4) })).toBe("ERR_SURPRISAL_OPTION");
    });
  });

  describe("countNgrams", () => {
    const ids = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 60 });
    test("counts stretches of kept tokens, and the different ones", () => {
      fc.assert(
        fc.property(ids, fc.integer({ min: 1, max: 6 }), fc.integer(), (row, length, seed) => {
          const mask = rng(seed).mask(row.length, 0.85);
          const grams = row
            .map((_, i) => row.slice(i, i + length))
            .filter((gram, i) => gram.length === length && mask.subarray(i, i + length).every((kept) => kept !== 0));
          const { totals, distinct } = countNgrams(Int32Array.from(row), {
            shape: [1, row.length],
            mask,
            length,
            backend,
          });
          expect([...totals, ...distinct]).toEqual([grams.length, new Set(grams.map(String)).size]);
        }),
        { numRuns: backend === "emulated" ? 20 : 100 },
      );
    });

    test("rows do not see each other; an n-gram longer than the row is none", () => {
      const tokens = Int32Array.of(7, 7, 7, 7, -1, 2 ** 31 - 1);
      const { totals, distinct } = countNgrams(tokens, { offsets: Int32Array.of(0, 2, 2, 6), length: 2, backend });
      expect([[...totals], [...distinct]]).toEqual([
        [1, 0, 3],
        [1, 0, 3],
      ]);
      expect([...countNgrams(tokens, { length: 2 ** 40, backend }).totals]).toEqual([0]);
    });
  });

  describe("transformMasked of the scans", () => {
    const rewards = Float64Array.of(1, 10, 2, 20);
    const values = Float64Array.of(0.5, 100, 0.25, 200);
    const given = {
      shape: [1, 4],
      mask: Uint8Array.of(1, 0, 1, 0),
      gamma: 0.5,
      transformMasked: true,
      backend,
    } as const;

    test("skip: the carry, and as return the carry and the value", () => {
      const plain = gae(rewards, values, { ...given, lambda: 1, transformMasked: false });
      const { advantages, returns } = gae(rewards, values, { ...given, lambda: 1 });
      const a2 = 2 - 0.25;
      const a0 = 1 + 0.5 * 0.25 - 0.5 + 0.5 * a2;
      expect([...plain.advantages]).toEqual([a0, 0, a2, 0]);
      expect([...advantages]).toEqual([a0, a2, a2, 0]);
      expect([...returns]).toEqual([a0 + 0.5, a2 + 100, a2 + 0.25, 200]);
      expect([...discountedReturns(rewards, given)]).toEqual([2, 2, 2, 0]);
    });

    test("cut: as a kept token, before the carry becomes 0", () => {
      expect([...discountedReturns(rewards, { ...given, maskMode: "cut" })]).toEqual([1, 11, 2, 20]);
      const { advantages } = gae(rewards, values, { ...given, lambda: 1, maskMode: "cut" });
      expect([...advantages]).toEqual([0.5, 10 + 0.5 * 0.25 - 100 + 0.5 * 1.75, 1.75, -180]);
    });

    test("what lies under the mask is read for its own token alone", () => {
      const nan = (array: Float64Array): Float64Array => array.map((x, i) => (i % 2 === 1 ? NaN : x));
      const dirty = gae(nan(rewards), nan(values), { ...given, lambda: 1, maskMode: "cut" });
      expect([...dirty.advantages]).toEqual([0.5, NaN, 1.75, NaN]);
    });
  });

  test.each([
    ["shareWeights, gain", () => shareWeights(new Float32Array(1), { shape: [1, 1], gain: -1, backend })],
    ["shareWeights, epsilon", () => shareWeights(new Float32Array(1), { shape: [1, 1], gain: 1, epsilon: 0, backend })],
    [
      "gammaWeights, bound",
      () => gammaWeights(new Float32Array(1), new Float32Array(1), { shape: [1, 1], bound: NaN, backend }),
    ],
    ["gammaWeights, signs", () => gammaWeights(new Float32Array(1), new Float32Array(2), { shape: [1, 1], backend })],
    ["clamp, low", () => clamp(new Float32Array(1), { shape: [1, 1], low: NaN, backend })],
    ["clamp, values", () => clamp(new Float32Array(2), { shape: [1, 1], backend })],
    ["countNgrams, length", () => countNgrams(new Int32Array(1), { length: 0, backend })],
    ["countNgrams, mask", () => countNgrams(new Int32Array(1), { length: 1, mask: new Uint8Array(2), backend })],
  ])("refuses bad input by name: %s", (names, call) => {
    const [op, name] = names.split(", ");
    expect(call).toThrow(SurprisalError);
    expect(call).toThrow(new RegExp(`^${op}: .*${name}`));
  });
});

// The corners of clamp: bounds that cross, bounds that are met exactly, NaN and infinities, at every place of a register.
import { clamp } from "../../../lib/ops/reduce";
import { eachBackend } from "../../support/each-backend";

const LENGTH = 67; // registers of 16 numbers, and some behind
const VALUES = [-Infinity, -3, 0, 1, 1.5, 2, 7, Infinity, NaN];

eachBackend((backend) => {
  describe.each([Float32Array, Float64Array])("%p", (Type) => {
    const values = new Type(Array.from({ length: LENGTH }, (_, t) => VALUES[t % VALUES.length]!));
    const shape = [1, LENGTH] as const;

    test("the upper bound wins where the lower one is larger", () => {
      const { clamped, kept, outside } = clamp(values, { shape, low: 2, high: 1, backend });
      expect([...clamped]).toEqual([...values].map((x) => (Number.isNaN(x) ? NaN : 1)));
      expect([kept[0], outside[0]]).toEqual([LENGTH, values.filter((x) => x < 2 || x > 1).length]);
    });

    test("what lies on a bound is inside, and NaN stays NaN and is not outside", () => {
      const { clamped, outside } = clamp(values, { shape, low: 0, high: 2, backend });
      expect([...clamped]).toEqual([...values].map((x) => (Number.isNaN(x) ? NaN : Math.min(Math.max(x, 0), 2))));
      expect(outside[0]).toBe(values.filter((x) => x < 0 || x > 2).length);
    });

    test("under the mask 0, or clamped and not counted", () => {
      const mask = Uint8Array.from({ length: LENGTH }, (_, t) => Number(t % 3 !== 0));
      const options = { shape, mask, low: 0.5, high: 2, backend } as const;
      const inside = (x: number): number => (Number.isNaN(x) ? NaN : Math.min(Math.max(x, 0.5), 2));
      const skipped = clamp(values, options);
      expect([...skipped.clamped]).toEqual([...values].map((x, t) => (mask[t] ? inside(x) : 0)));
      const all = clamp(values, { ...options, transformMasked: true });
      expect([...all.clamped]).toEqual([...values].map(inside));
      const counted = values.filter((x, t) => mask[t] === 1 && (x < 0.5 || x > 2)).length;
      for (const { kept, outside } of [skipped, all])
        expect([kept[0], outside[0]]).toEqual([mask.filter((flag) => flag).length, counted]);
    });
  });
});

import { drawRows, resamplingWeights, whitenAdvantages } from "../../lib";
import { errorCode } from "../support/error-code";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

describe("drawRows", () => {
  const seeded = (seed: number) => {
    const generator = rng(seed);
    return () => generator.uniform();
  };

  test("the same seed draws the same rows, another others", () => {
    const weights = rng(1).f64(50);
    const draw = (seed: number): number[] => [...drawRows(weights, { random: seeded(seed) })];
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  test("each row as often as its weight says, within five standard deviations", () => {
    const weights = resamplingWeights({ rewards: Float64Array.of(0, 1, -2, 3), shape: [4, 1] }, { floor: 0 });
    const count = 20000;
    const drawn = drawRows(weights, { count, random: seeded(3) });
    const total = Array.from(weights).reduce((sum, w) => sum + w, 0);
    weights.forEach((w, i) => {
      const p = w / total;
      const times = drawn.filter((row) => row === i).length;
      expect(Math.abs(times - count * p)).toBeLessThanOrEqual(5 * Math.sqrt(count * p * (1 - p)));
    });
  });

  test("the edges of the unit interval, and rows of weight 0", () => {
    const weights = Float64Array.of(0, 2, 0, 1, 0);
    expect([...drawRows(weights, { count: 1, random: () => 0 })]).toEqual([1]);
    expect([...drawRows(weights, { count: 1, random: () => 1 - 2 ** -53 })]).toEqual([3]);
    expect([...drawRows(weights, { count: 1, random: () => 2 / 3 + 1e-12 })]).toEqual([3]);
    expect(drawRows(new Float64Array(0), { random: () => 0 })).toHaveLength(0);
  });

  test.each([
    [() => drawRows(Float64Array.of(1, -1), { random: () => 0 }), "ERR_SURPRISAL_VALUE"],
    [() => drawRows(Float64Array.of(0, 0), { random: () => 0 }), "ERR_SURPRISAL_VALUE"],
    [() => drawRows(Float64Array.of(1), { random: () => 1 }), "ERR_SURPRISAL_VALUE"],
    [() => drawRows(Float64Array.of(1), { count: 0.5, random: () => 0 }), "ERR_SURPRISAL_OPTION"],
    [() => drawRows(Float64Array.of(1), {} as never), "ERR_SURPRISAL_OPTION"],
  ])("refuses bad input %#", (call, code) => {
    expect(errorCode(call)).toBe(code);
  });
});

eachBackend((backend) => {
  // mean 2; Σ(x − mean)² = 8 over the three kept numbers; 9 lies under the mask.
  const values = Float64Array.of(0, 2, 4, 9);
  const given = { shape: [1, 4], mask: Uint8Array.of(1, 1, 1, 0), backend } as const;
  test.each([
    ["verl", Math.sqrt(4 + 1e-8), true],
    ["trl", Math.sqrt(4 + 1e-8), true],
    ["openrlhf", Math.sqrt(8 / 3), true],
    ["lightrft", Math.sqrt(8 / 3), true],
    ["pufferlib", 2 + 1e-8, false],
  ] as const)("whitenAdvantages, preset %s", (preset, divisor, everywhere) => {
    const wanted = [...values].map((x, i) => (i < 3 || everywhere ? (x - 2) / divisor : 0));
    // verl adds 1e-8 to the count as well.
    expect(whitenAdvantages(values, { ...given, preset })).toBeAllClose(wanted, {
      atol: 1e-8,
      rtol: preset === "verl" ? 1e-8 : 1e-14,
    });
    expect([...whitenAdvantages(values, { ...given, preset, transformMasked: false })][3]).toBe(0);
  });
});

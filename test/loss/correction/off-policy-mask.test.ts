// Masks of tokens that are near enough to the sampler, against their definitions.
import { offPolicyMask, type OffPolicyMaskOptions, secondMomentMask } from "../../../lib";

const p = [0.9, 0.5, 0.2, 0.05, 0.6, 0.3]; // under the trainer
const q = [0.8, 0.25, 0.4, 0.05, 0.3, 0.1]; // under the sampler
const o = Float64Array.from(p, Math.log);
const u = Float64Array.from(q, Math.log);
const mask = Uint8Array.of(1, 1, 1, 1, 1, 0);
const shape = [2, 3] as const;
const call = (options: Omit<OffPolicyMaskOptions, "shape"> = {}) => offPolicyMask(o, u, { shape, mask, ...options });
const token = (f: (p: number, q: number) => number): number[] => p.map((x, i) => (mask[i] ? f(x, q[i]!) : 0));
const klOf = (x: number, y: number): number => x * Math.log(x / y) + (1 - x) * Math.log((1 - x) / (1 - y));

test.each([
  ["ratio", (x: number, y: number) => x / y],
  ["k1", (x: number, y: number) => Math.log(x / y)],
  ["k2", (x: number, y: number) => Math.log(x / y) ** 2 / 2],
  ["k3", (x: number, y: number) => y / x - 1 + Math.log(x / y)],
  ["binaryKl", (x: number, y: number) => Math.max(klOf(x, y), klOf(y, x))],
  ["probability", (x: number, y: number) => x - y],
  ["totalVariation", (x: number, y: number) => Math.abs(x / y - 1)],
] as const)("%s of tokens is what its formula says, and what lies outside of the bounds is dropped", (measure, f) => {
  const want = token(f);
  const { values } = call({ measure });
  expect(values).toBeAllClose(want, { rtol: 1e-12, atol: 1e-15 });
  const [low, high] = [want[2]!, want[1]!].sort((a, b) => a - b);
  const got = call({ measure, low: low! - 1e-9, high: high! + 1e-9 });
  const kept = want.map((x, i) => (mask[i] && x >= low! - 1e-9 && x <= high! + 1e-9 ? 1 : 0));
  expect(Array.from(got.mask)).toEqual(kept);
  expect(got.droppedFraction).toBeCloseTo(1 - kept.reduce((a: number, b) => a + b, 0) / 5, 12);
});

test("a row is judged by the mean, the sum or an extreme of its tokens; of ratios, of their logarithms", () => {
  const logs = token((x, y) => Math.log(x / y));
  const rows = [logs.slice(0, 3), logs.slice(3, 5)];
  const sum = (x: readonly number[]): number => x.reduce((a, b) => a + b, 0);
  const by = {
    mean: (row: readonly number[]) => sum(row) / row.length,
    sum,
    max: (row: readonly number[]) => Math.max(...row),
    min: (row: readonly number[]) => Math.min(...row),
  };
  for (const reduce of ["mean", "sum", "max", "min"] as const) {
    const want = rows.map((row) => Math.exp(by[reduce](row)));
    expect(call({ level: "row", reduce }).values).toBeAllClose(want, { rtol: 1e-12, atol: 0 });
    const high = Math.min(...want);
    const kept = want.flatMap((x) => Array<number>(3).fill(x <= high * (1 + 1e-12) ? 1 : 0));
    expect(Array.from(call({ level: "row", reduce, high: high * (1 + 1e-12) }).mask)).toEqual(
      kept.map((flag, i) => (mask[i] ? flag : 0)),
    );
  }
});

test("segments are rows: their offsets and mask in place of the batch's", () => {
  const offsets = Int32Array.of(0, 2, 3, 6);
  expect(offPolicyMask(o, u, { offsets, mask, level: "row" }).values).toHaveLength(3);
});

test("negative drops what is pushed down, outward what is pushed away", () => {
  const advantages = Float64Array.of(1, 1, -1, 1, -1, -1);
  const near = { advantages, advantagesPer: "token", low: 0.9, high: 1.1 } as const;
  expect(call({ ...near }).mask.join("")).toBe("000100"); // 1.125, 2, 0.5, 1, 2
  expect(call({ ...near, drops: "negative" }).mask.join("")).toBe("110100");
  expect(call({ ...near, drops: "outward" }).mask.join("")).toBe("000110"); // D·A: +, +, +, 0, −
  const perRow = { advantages: Float64Array.of(-1, 1), drops: "negative", high: 1.1 } as const;
  expect(call(perRow).mask.join("")).toBe("001110");
});

test("logClamp holds D; a row without tokens and a batch without any are kept as nothing", () => {
  const far = offPolicyMask(Float64Array.of(-30, 0), Float64Array.of(-1, 0), {
    shape: [1, 2],
    logClamp: 10,
    level: "row",
  });
  expect(far.values).toBeAllClose([Math.exp(-5)], { rtol: 1e-12, atol: 0 });
  const none = call({ mask: new Uint8Array(6), level: "row", low: 0.5, high: 0.6 });
  expect([...none.mask, none.droppedFraction, ...none.values]).toEqual([0, 0, 0, 0, 0, 0, 0, 1, 1]);
});

test("a NaN is dropped; what lies under the mask is not read", () => {
  const broken = Float64Array.from(o);
  broken[1] = NaN;
  broken[5] = NaN;
  expect(offPolicyMask(broken, u, { shape, mask }).mask.join("")).toBe("101110");
  expect(offPolicyMask(broken, u, { shape, mask, level: "row" }).mask.join("")).toBe("000110");
});

test("what is no measure, no bound or not there is refused by name", () => {
  expect(() => call({ measure: "k4" as never })).toThrow(/offPolicyMask: measure is "k4"/);
  expect(() => call({ low: 2, high: 1 })).toThrow(/low is 2, expected at most high = 1/);
  expect(() => call({ high: NaN })).toThrow(/high is NaN/);
  expect(() => call({ drops: "negative" })).toThrow(/advantages is undefined/);
  expect(() => call({ logClamp: 0 })).toThrow(/logClamp is 0/);
  expect(() => call({ level: "group" as never })).toThrow(/level is "group"/);
});

describe("secondMomentMask", () => {
  const apart = Float64Array.of(0.1, -0.5, 0, 0.3, -0.2, 9);
  const zero = new Float64Array(6);
  const kept = (threshold?: number, given: Uint8Array = mask): string =>
    secondMomentMask(apart, zero, { shape, mask: given, threshold }).join("");

  test("the farthest leave until the mean square of the rest is below the threshold", () => {
    // squares 0.01 0.25 0 0.09 0.04: sorted means 0, 0.005, 0.0167, 0.035, 0.078
    expect(kept(0.08)).toBe("111110");
    expect(kept(0.04)).toBe("101110");
    expect(kept()).toBe("101110");
    expect(kept(0.035)).toBe("101010"); // below, not at
    expect(kept(0.001)).toBe("001000");
  });

  test("one stays in any case; of equals the later one goes; nothing kept is nothing", () => {
    expect(kept(0)).toBe("001000");
    expect(secondMomentMask(Float64Array.of(1, 1), new Float64Array(2), { shape: [1, 2], threshold: 0 }).join("")).toBe(
      "10",
    );
    expect(kept(1, new Uint8Array(6))).toBe("000000");
    expect(
      secondMomentMask(Float64Array.of(NaN, 1), new Float64Array(2), { shape: [1, 2], threshold: 9 }).join(""),
    ).toBe("01");
  });

  test("a threshold below 0 and arrays of other lengths are refused", () => {
    expect(() => kept(-1)).toThrow(/threshold is -1/);
    expect(() => secondMomentMask(apart, new Float64Array(2), { shape })).toThrow(/samplerLogProbs/);
  });
});

// What the bench holds results against: definitions that reach millions of steps, held here against test/oracle.
import { advantagesOf } from "../../bench/cases/linear-time";
import { END, plantedTokens, START, widened } from "../../bench/cases/delim";
import { forwardWanted, gradientWanted, logitBatch, ROW_KINDS } from "../../bench/cases/logit-rows";
import { allCases } from "../../bench/cases";
import { forwardBytes } from "../../bench/cases/logprob-forward";
import { backwardBytes } from "../../bench/cases/logprob-backward";
import { itemsOf } from "../../bench/cases/group";
import { errorOf, isWrong, MILLIONTH } from "../../bench/harness/check";
import { titleOf } from "../../bench/harness/case";
import { fromHalfBits } from "../../lib";
import { rowOracle } from "../oracle/logprob";
import { gaeOracle, plainRows, returnsOracle } from "../oracle/scan";
import { spansOracle } from "../oracle/delim";
import { rng } from "../support/rng";

const B = 3;
const T = 17;

function rows() {
  const draw = rng(1);
  return { rewards: draw.f32(B * T, -1, 1), values: draw.f32(B * T, -1, 1), mask: draw.mask(B * T, 0.7) };
}

test.each([
  [1, 1],
  [1, 0.95],
  [0.9, 0.5],
])("advantages at γ = %d, λ = %d are those of the oracle", (gamma, lambda) => {
  const { rewards, values, mask } = rows();
  const wanted = new Float64Array(B * T);
  for (let b = 0; b < B; ++b)
    for (const row of plainRows(
      { begin: b * T, end: (b + 1) * T, reward: rewards, value: values, mask, gamma, bootstrap: 0 },
      "skip",
    ))
      gaeOracle(row, lambda).advantages.forEach((a, t) => (wanted[row.position[t]!] = a));
  expect(advantagesOf({ rewards, values, mask, rows: B, steps: T, gamma, lambda })).toBeAllClose(wanted, {
    atol: 1e-14,
    rtol: 1e-13,
  });
});

test("without values they are the discounted returns", () => {
  const { rewards, mask } = rows();
  const wanted = new Float64Array(B * T);
  for (let b = 0; b < B; ++b)
    for (const row of plainRows(
      { begin: b * T, end: (b + 1) * T, reward: rewards, mask, gamma: 0.9, bootstrap: 0 },
      "skip",
    ))
      returnsOracle(row).forEach((g, t) => (wanted[row.position[t]!] = g));
  expect(advantagesOf({ rewards, mask, rows: B, steps: T, gamma: 0.9, lambda: 1 })).toBeAllClose(wanted, {
    atol: 1e-14,
    rtol: 1e-13,
  });
});

test("a long sum loses nothing: a million steps of γ = λ = 1 add up exactly", () => {
  const steps = 1_000_000;
  const rewards = new Float64Array(steps).fill(0.1);
  rewards[steps - 1] = 1e9;
  const sums = advantagesOf({ rewards, mask: new Uint8Array(steps).fill(1), rows: 1, steps, gamma: 1, lambda: 1 });
  expect(sums[0]).toBeCloseTo(1e9 + 0.1 * (steps - 1), 6);
});

test("planted spans are the ones that the oracle finds", () => {
  const { tokens, begins, finishes } = plantedTokens(1500);
  const found = spansOracle([Array.from(tokens)], { start: [[...START]], end: [[...END]] });
  expect(found.map(({ begin, finish }) => [begin, finish])).toEqual(
    Array.from(begins, (begin, s) => [begin, finishes[s]]),
  );
  expect(begins.length).toBe(4);
  expect(Array.from(widened(tokens), Number)).toEqual(Array.from(tokens));
});

test.each(["float32", "bfloat16"] as const)("rows of %s logits repeat, with their definition", (dtype) => {
  for (const kind of ROW_KINDS) {
    const batch = logitBatch(37, 64, dtype, kind);
    const numbers = batch.dtype === "float32" ? batch.logits : fromHalfBits(batch.logits, dtype as "bfloat16");
    const { logProbs, entropies } = forwardWanted(batch);
    const { gradient } = gradientWanted(batch);
    for (const n of [0, 15, 16, 36]) {
      const oracle = rowOracle(Float64Array.from(numbers.slice(n * 64, (n + 1) * 64)), {});
      const at = n % batch.period;
      expect(logProbs[at]).toBe(oracle.logprob(batch.targets[n]!));
      expect(entropies[at]).toBe(oracle.entropy);
      expect(gradient.slice(at * 64, (at + 1) * 64)).toEqual(
        oracle.gradient([[batch.targets[n]!, batch.gradLogProbs[n]!]], batch.gradEntropies[n]!),
      );
    }
    if (kind === "masked") expect(numbers.filter((x) => x === -Infinity).length).toBeGreaterThan(0.8 * numbers.length);
  }
});

test("a wrong element is found wherever it stands, in the last repeat too", () => {
  const wanted = { values: [1, 2, 3], budget: MILLIONTH };
  const got = Float32Array.of(1, 2, 3, 1, 2, 3, 1, 2);
  expect(isWrong({ y: errorOf(got, wanted) })).toBe(false);
  for (let i = 0; i < got.length; ++i) {
    const off = got.slice();
    off[i]! += 1e-3;
    expect(isWrong({ y: errorOf(off, wanted) })).toBe(true);
    off[i] = NaN;
    expect(errorOf(off, wanted).maxAbs).toBe(Infinity);
  }
});

test("least bytes count each input and output once", () => {
  expect(forwardBytes(512, 151_936, "float32").bytes).toBe(512 * (4 * 151_936 + 16));
  expect(forwardBytes(1, 1000, "bfloat16").bytes).toBe(2016);
  expect(backwardBytes(2, 1000, "float32").bytes).toBe(16_000);
  expect(itemsOf(1_000_000, 64)).toBe(1_000_000);
  expect(itemsOf(100, 64)).toBe(64);
});

test("cases have titles of their own, and a quick one stands for every family", () => {
  const cases = allCases();
  const titles = cases.map(titleOf);
  expect(new Set(titles).size).toBe(titles.length);
  const families = (some: typeof cases) => [...new Set(some.map(({ kernel }) => kernel))].sort();
  expect(families(cases.filter(({ quick }) => quick))).toEqual(families(cases));
  for (const { least, threads } of cases) {
    expect(threads).toBeGreaterThanOrEqual(1);
    if (least) expect(least.bytes).toBeGreaterThan(0);
  }
});

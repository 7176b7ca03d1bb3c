// Medians, pairing and the words of a run: what turns times into claims.
import { rotation, pair, timeOf } from "../../bench/harness/pairing";
import { pairedRatios, quantile, scaled, spreadOf, taken } from "../../bench/harness/statistics";
import { lastCores } from "../../bench/harness/cores";
import { levelOf } from "../../bench/harness/build";
import { processorOf } from "../../bench/harness/machine";

test("quantiles lie between neighbours in proportion", () => {
  expect(quantile([3, 1, 2], 0.5)).toBe(2);
  expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5);
  expect(quantile([10], 0.8)).toBe(10);
  expect(quantile([], 0.5)).toBeNaN();
  expect(spreadOf([5, 1, 4, 2, 3, 0])).toEqual({ median: 2.5, p20: 1, p80: 4 });
  expect(scaled({ median: 1, p20: 0.5, p80: 2 }, 1000)).toEqual({ median: 1000, p20: 500, p80: 2000 });
});

test("ratios are taken within a repetition, and a repetition that one sat out gives none", () => {
  expect(pairedRatios([4, 9, NaN, 8], [2, 3, 5, NaN])).toEqual([2, 3]);
  expect(taken([1, NaN, 3])).toEqual([1, 3]);
});

test("a ratio of medians would be another number: pairing removes what slows both", () => {
  const ours = [1, 10, 1, 10, 1];
  const theirs = [2, 20, 2, 20, 2];
  expect(spreadOf(pairedRatios(theirs, ours))).toEqual({ median: 2, p20: 2, p80: 2 });
});

test("everyone begins a repetition once, and comes behind each neighbour", () => {
  expect([0, 1, 2, 3, 4, 5].map((r) => rotation(3, r))).toEqual([
    [0, 1, 2],
    [1, 2, 0],
    [2, 0, 1],
    [0, 2, 1],
    [1, 0, 2],
    [2, 1, 0],
  ]);
  expect([0, 1, 2, 3].map((r) => rotation(2, r))).toEqual([
    [0, 1],
    [1, 0],
    [0, 1],
    [1, 0],
  ]);
});

test("contenders run in every repetition in rotated order, prepared each time", async () => {
  const ran: string[] = [];
  const contender = (name: string, seconds: number) => ({
    name,
    prepare: () => void ran.push(`prepare ${name}`),
    run: () => {
      ran.push(name);
      return seconds;
    },
  });
  const samples = await pair([contender("a", 2), contender("b", 4)], { repetitions: 3, secondsEach: 100, least: 1 });
  expect(samples.get("a")).toEqual([2, 2, 2]);
  expect(samples.get("b")).toEqual([4, 4, 4]);
  expect(ran.filter((name) => !name.startsWith("prepare"))).toEqual(["a", "b", "a", "b", "b", "a", "a", "b"]);
  expect(ran.filter((name) => name.startsWith("prepare"))).toHaveLength(8);
});

test("a slow contender sits out the later repetitions, but for the fewest that count", async () => {
  const slow = { name: "slow", run: () => Promise.resolve(30) };
  const quick = { name: "quick", run: () => 1 };
  const samples = await pair([slow, quick], { repetitions: 5, secondsEach: 10, least: 2 });
  expect(samples.get("slow")).toEqual([30, 30, NaN, NaN, NaN]);
  expect(samples.get("quick")).toEqual([1, 1, 1, 1, 1]);
});

test("several calls of one sample are divided by their number", async () => {
  let calls = 0;
  const seconds = await timeOf({ name: "short", run: () => (++calls, 0.5) }, 4);
  expect(calls).toBe(4);
  expect(seconds).toBe(0.5);
});

test("one thread runs on the last core, two on the last two", () => {
  expect(lastCores(1, 8)).toEqual([7]);
  expect(lastCores(2, 8)).toEqual([6, 7]);
  expect(lastCores(2, 1)).toEqual([0]);
});

test.each([
  ["avx512", "avx512"],
  ["avx2, 8 lanes", "avx2"],
  ["neon", "neon"],
  ["portable", "portable"],
  [undefined, "portable"],
])("a backend that calls itself %s runs at %s", (device, level) => {
  expect(levelOf(device)).toBe(level);
});

test("a result names the processor, and its generation where that is known, and no host", () => {
  expect(processorOf("cpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n", "none")).toBe(
    "AMD EPYC, family 26 model 2",
  );
  expect(processorOf("processor\t: 0\nmodel name\t: Some  CPU @ 2 GHz\nflags : a b\n", "none")).toBe(
    "Some CPU @ 2 GHz",
  );
  expect(processorOf("", "arm64")).toBe("arm64");
});

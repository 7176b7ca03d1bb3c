// Goals against lines of results: the worst line counts, and what was not measured is not reached.
import { figureOf, GOALS, type Goal, judge, matches } from "../../bench/goals";
import { ONE_THREAD } from "../../bench/harness/names";
import { allCases } from "../../bench/cases";
import { slower } from "../../bench/report/against";
import { LIMITS } from "../../bench/limits";
import { limitsList, verdictLine } from "../../bench/report/goals-table";
import { even, resultLine } from "./result-lines";

const goal: Goal = { says: "forward", match: { op: "logprob", threads: 1 }, figure: "share", must: 0.8, aim: 0.95 };

test.each([
  [[0.97], "aim reached", ""],
  [[0.97, 0.85], "reached", ""],
  [[0.97, 0.6], "missed", "by 25 %"],
  [[], "not measured", ""],
])("shares %p of a goal of 0.8 to 0.95 mean: %s", (shares, verdict, note) => {
  const lines = shares.map((share) => resultLine({ share: even(share) }));
  expect(judge(goal, lines)).toMatchObject({ verdict, note });
});

test("of a cost the largest is the worst", () => {
  const cost: Goal = { says: "call", match: {}, figure: "milliseconds", must: 0.001 };
  expect(judge(cost, [resultLine({ time: even(0.0005) }), resultLine({ time: even(0.0015) })])).toMatchObject({
    verdict: "missed",
    note: "by 50 %",
    value: 0.0015,
  });
});

test("lines of others do not count, unless a goal is about them", () => {
  const peer = resultLine({ contender: "torch tuned: TRL form", ratio: even(12) });
  expect(matches(peer, { op: "logprob" })).toBe(false);
  expect(matches(peer, { op: "logprob", contender: "torch tuned" })).toBe(true);
  expect(matches(resultLine({ contender: "torch: TRL form" }), { contender: "torch tuned" })).toBe(false);
  expect(matches(resultLine({ threads: 2 }), { threads: 1 })).toBe(false);
  expect(matches(resultLine({ shape: { name: "1e6 tokens", sizes: [1e6] } }), { elements: 1e7 })).toBe(false);
});

test("a goal about peers is about all of them, and about nobody else", () => {
  const match = { peers: true } as const;
  expect(matches(resultLine({ contender: "torch: TRL form" }), match)).toBe(true);
  expect(matches(resultLine({ contender: "plain JavaScript" }), match)).toBe(true);
  expect(matches(resultLine({ contender: "surprisal on js" }), match)).toBe(false);
  expect(matches(resultLine({}), match)).toBe(false);
});

test("two threads are judged where memory itself gives two more", () => {
  const two = GOALS.find(({ roofScales }) => roofScales !== undefined)!;
  const roof = (rate: number) => ({ kind: "read" as const, gigabytesPerSecond: even(rate) });
  const lines = (rate: number) => [
    resultLine({ threads: 2, roof: roof(rate) }),
    resultLine({ threads: 1, contender: ONE_THREAD, roof: roof(40), ratio: even(1.7) }),
  ];
  expect(judge(two, lines(76))).toMatchObject({ verdict: "reached" });
  expect(judge(two, lines(48))).toMatchObject({ verdict: "not judged", note: "memory gave two threads 1.20x of one" });
});

test("a slowdown is our time over theirs", () => {
  expect(figureOf(resultLine({ ratio: even(0.8) }), "slowdown")).toBe(1.25);
  expect(figureOf(resultLine({}), "share")).toBeUndefined();
});

test("one contender against another is the ratio of both to ours, of the same case", () => {
  const between: Goal = { says: "", match: { contender: "wasm" }, figure: "ratio", against: "plain", must: 4 };
  const wasm = resultLine({ contender: "wasm", ratio: even(5) });
  const plain = resultLine({ contender: "plain JavaScript", ratio: even(30) });
  expect(judge(between, [wasm, plain])).toMatchObject({ verdict: "reached", value: 6 });
  expect(judge(between, [wasm, { ...plain, rowKind: "masked" }])).toMatchObject({ verdict: "not measured" });
});

test("every goal is about a case that exists", () => {
  const cases = allCases();
  for (const { says, match } of GOALS) {
    const { contender, kernels, peers: _, ...own } = match;
    const about = cases.filter(
      (one) =>
        (!kernels || kernels.includes(one.kernel)) &&
        matches(resultLine({ ...one, threads: match.threads ?? one.threads }), own),
    );
    expect({ says, contender, cases: about.length }).not.toMatchObject({ cases: 0 });
  }
});

test("a verdict says what was measured and where", () => {
  expect(verdictLine(judge(goal, [resultLine({ share: even(0.6) })]))).toBe(
    "missed by 25 %   forward: 0.6, must ≥ 0.8, aim ≥ 0.95 (Qwen vocabulary, normal)",
  );
});

test("slower than another revision is what stays slower in four of five repetitions", () => {
  const against = (median: number, p80: number) =>
    resultLine({ contender: "surprisal 0123456789ab", ratio: { median, p20: 0.5, p80 } });
  expect(
    slower([against(0.9, 0.97), against(1, 1.1), resultLine({ contender: "torch: x", ratio: even(0.1) })]),
  ).toEqual([]);
  expect(slower([against(0.8, 0.9)])).toEqual([
    "slower: logprob float32 Qwen vocabulary normal: 1.25x the time of 0123456789ab",
  ]);
});

test("what holds a goal back is said of goals that there are, and shown of those that are missed", () => {
  const words = new Set(GOALS.map(({ says }) => says));
  expect(Object.keys(LIMITS).filter((says) => !words.has(says))).toEqual([]);
  const known = GOALS.find(({ says }) => says === "divergence")!;
  const judged = { goal: known, value: 0.1, verdict: "missed", note: "by 71 %" } as const;
  expect(limitsList([judged]).join("\n")).toContain(`- divergence: ${LIMITS["divergence"]}`);
  expect(limitsList([{ ...judged, verdict: "reached", note: "" }])).toEqual([]);
});

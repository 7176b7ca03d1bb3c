// More rollouts, groups and steps than a call can have arguments: what is computed of them takes each a bounded number of times.
import {
  prepareSteps,
  renderHtml,
  renderTerminal,
  type ReportRollout,
  type ReportStep,
  reportTables,
  summarize,
} from "../../lib/report";
import { commonEdges, sampleOf } from "../../lib/report/distribution";
import { differencesOf, keptOfAll } from "../../lib/report/measures";
import { step } from "./made";

const COUNT = 125_000;

/** Every second rollout is right. */
const stepOf = (groupOf: (i: number) => number): ReportStep => {
  const rollouts = Array.from({ length: COUNT }, (_, i) => ({
    group: groupOf(i),
    prompt: `What is ${groupOf(i)}+1?`,
    text: `It is ${groupOf(i) + 1}.`,
    reward: i % 2,
    rewards: { format: 1 },
  }));
  return prepareSteps(rollouts)[0]!;
};

test.each([
  ["one group", () => 0, 1],
  ["a group each", (i: number) => i, COUNT],
] as const)("125,000 rollouts, %s", (_, groupOf, groups) => {
  const steps = [stepOf(groupOf)];
  const summary = summarize(steps);
  const { rollouts, distributions, groups: own, passAtK } = summary.steps[0]!;
  expect([rollouts, own.length, distributions.reward!.mean]).toEqual([COUNT, groups, 0.5]);
  expect(own.reduce((sum, group) => sum + group.rollouts.length, 0)).toBe(COUNT);
  if (groups === 1) expect(own[0]).toMatchObject({ rewardMean: 0.5, rewardMin: 0, rewardMax: 1 });
  expect(passAtK["1"]).toBeCloseTo(0.5, 12);
  expect(renderTerminal(summary)).toContain("125,000 rollouts");
  expect(reportTables(steps).map(({ name, rows }) => [name, rows.length])).toEqual(
    expect.arrayContaining([
      ["groups", groups],
      ["rollouts", COUNT],
    ]),
  );
  const page = renderHtml({ steps }, { maxTexts: 1000 });
  expect(page.match(/<article/g)).toHaveLength(1000);
  // Not toContain: its message would be the whole page.
  expect(/<p class="cap">(The texts of .*?) are here/.exec(page)?.[1]).toBe(
    "The texts of 1,000 rollouts out of 125,000",
  );
});

// An array of JavaScript ends at 2^27 numbers: 125,000 rollouts of 1,074 tokens.
test("tokens of all rollouts are in typed arrays", () => {
  const mask = Uint8Array.of(1, 0, 1);
  const rollouts: ReportRollout[] = [
    { mask, oldLogProbs: Float64Array.of(-1, NaN, -Infinity), samplerLogProbs: Float64Array.of(-1.5, 0, -2) },
    { oldLogProbs: Float64Array.of(-1), samplerLogProbs: Float64Array.of(-3) },
    { oldLogProbs: Float64Array.of(-4) },
  ];
  expect(keptOfAll(rollouts, ({ oldLogProbs }) => oldLogProbs)).toEqual(Float64Array.of(-1, -Infinity, -1, -4));
  const gaps = differencesOf(
    rollouts,
    ({ samplerLogProbs }) => samplerLogProbs,
    ({ oldLogProbs }) => oldLogProbs,
  );
  expect(gaps).toEqual(Float64Array.of(-0.5, -2));
  expect(sampleOf([2, NaN, 1, Infinity])).toEqual({ sorted: Float64Array.of(1, 2), nonFinite: 2 });
});

test("a page of many steps grows with them, not with their square", () => {
  const stepsOf = (count: number): ReportStep[] =>
    Array.from({ length: count }, (_, s) => step(`step ${s}`, { group: 1, reward: s % 3 }, { group: 1, reward: 1 }));
  const pointsOf = (count: number): number =>
    (renderHtml({ steps: stepsOf(count) }).match(/<polyline points="[^"]*"/g) ?? []).join(" ").split(",").length;
  const [few, many] = [pointsOf(50), pointsOf(400)];
  expect(few).toBeGreaterThan(50);
  expect(many / few).toBeLessThan(8 * 1.3);
});

test("125,000 steps have edges in common", () => {
  const samples = Array.from({ length: COUNT }, (_, s) => sampleOf([s]));
  const edges = commonEdges(samples, false);
  expect([edges[0], edges.at(-1)]).toEqual([0, 130_000]);
});

test("125,000 steps are a course in the terminal", () => {
  const { steps } = summarize([step("s", { group: 1, reward: 0 }, { group: 1, reward: 1 })]);
  const text = renderTerminal({ steps: Array.from({ length: COUNT }, () => steps[0]!) });
  expect(text).toMatch(/^125,000 steps\n/);
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
});

import type { Rollout } from "../../lib/io";
import { empgAdvantage, grpoAdvantage } from "../../lib";
import { prepareSteps } from "../../lib/report";
import { rollout } from "./made";

const [STEP, STEP_END, ANSWER, ANSWER_END] = [1, 2, 3, 4];
const spans = { start: [[STEP], [ANSWER]], end: [[STEP_END], [ANSWER_END]] } as const;

const batch: Rollout[] = [
  rollout({
    group: "a",
    reward: 1,
    ids: [STEP, 9, STEP_END, STEP, 9, STEP_END, ANSWER, 8, ANSWER_END],
    entropies: [0, 0.2, 0.2, 0, 1.4, 1.4, 0, 0.5, 0.5],
  }),
  rollout({ group: "a", reward: 0, ids: [STEP, 7, STEP_END, 7], entropies: [0, 0.6, 0.6, 0.3], mask: [1, 1, 1, 0] }),
];

test("rollouts are put in the order of their training steps", () => {
  const steps = prepareSteps([
    { ...batch[0]!, step: 10 },
    { ...batch[1]!, step: 2 },
    batch[0]!,
    { ...batch[1]!, step: 10 },
  ]);
  expect(steps.map(({ label, rollouts }) => [label, rollouts.length])).toEqual([
    ["step", 1],
    ["step 2", 1],
    ["step 10", 2],
  ]);
  expect(prepareSteps([])).toEqual([]);
});

test("rewards become advantages as grpoAdvantage makes them, and none under the mask", () => {
  const { rollouts } = prepareSteps(batch)[0]!;
  const { advantages } = grpoAdvantage({ rewards: Float64Array.of(1, 0), groups: "all" });
  expect(Array.from(rollouts[0]!.advantages!)).toEqual(new Array(9).fill(advantages[0]));
  expect(Array.from(rollouts[1]!.advantages!)).toEqual([advantages[1], advantages[1], advantages[1], 0]);
  const plain = prepareSteps(batch, { grpoAdvantage: { scale: "none" } })[0]!.rollouts[0]!;
  expect(plain.advantages![0]).toBe(0.5);
});

test("recorded advantages go before those of the rewards", () => {
  const own = Float64Array.of(3, 2, 1, 0);
  const { rollouts } = prepareSteps([
    { ...batch[0]!, advantage: 5 },
    { ...batch[1]!, advantages: own },
  ])[0]!;
  expect(rollouts[0]!.advantages![8]).toBe(5);
  expect(rollouts[1]!.advantages).toBe(own);
});

test("spans carry what EMPG computes for them, and names by their delimiter", () => {
  const { rollouts } = prepareSteps(batch, { spans, spanLabels: ["step", "answer"] })[0]!;
  const before = prepareSteps(batch)[0]!.rollouts.map(({ advantages }) => Array.from(advantages!));
  const expected = empgAdvantage(
    {
      offsets: Int32Array.of(0, 9, 13),
      tokens: Int32Array.of(...batch[0]!.tokenIds!, ...batch[1]!.tokenIds!),
      entropies: Float64Array.of(...batch[0]!.entropies!, ...batch[1]!.entropies!),
      advantages: Float64Array.from(before.flat()),
      mask: Uint8Array.of(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0),
    },
    spans,
  );
  expect(rollouts.flatMap((item) => Array.from(item.advantages!))).toEqual(Array.from(expected.advantages));
  expect(rollouts[0]!.spans!.map(({ label, begin, finish }) => [label, begin, finish])).toEqual([
    ["step 1", 1, 3],
    ["step 2", 4, 6],
    ["answer", 7, 9],
  ]);
  expect(rollouts[1]!.spans).toEqual([
    {
      label: "step",
      begin: 1,
      finish: 3,
      entropy: 0.6,
      scale: expected.scales[3],
      clarity: expected.clarities[3],
      before: before[1]![1],
      after: expected.advantages[10],
    },
  ]);
});

test("without entropies there are spans and no weights", () => {
  const { entropies: _, ...bare } = batch[0]!;
  const { rollouts } = prepareSteps([bare, batch[1]!], { spans })[0]!;
  expect(rollouts[0]!.spans![0]).toEqual({ label: "step 1", begin: 1, finish: 3 });
  expect(rollouts[0]!.advantages![0]).toBeCloseTo(Math.SQRT1_2, 5);
});

test("rollouts that are text only pass through", () => {
  const text: Rollout = { group: "a", text: "words", reward: 1 };
  expect(prepareSteps([text, batch[0]!], { spans })[0]!.rollouts[0]).toMatchObject(text);
});

test("a token is clipped on the side that its advantage pushes to", () => {
  const log = (...ratios: number[]) => ratios.map(Math.log);
  const item = {
    ...rollout({ ids: [1, 1, 1, 1, 1], oldLogProbs: [0, 0, 0, 0, 0], advantages: [1, 1, -1, -1, 0] }),
    logProbs: log(1.3, 0.5, 0.5, 1.3, 9),
  };
  const clippedOf = (options: object) => Array.from(prepareSteps([item], options)[0]!.rollouts[0]!.clipped!);
  expect(clippedOf({})).toEqual([1, 0, -1, 0, 0]);
  expect(clippedOf({ clipHigh: 0.4, clipLow: 0.6 })).toEqual([0, 0, 0, 0, 0]);
  // What a record says itself stays.
  const marked = { ...item, clipped: Int8Array.of(0, 1, 0, -1, 0) };
  expect(prepareSteps([marked])[0]!.rollouts[0]!.clipped).toEqual(marked.clipped);
});

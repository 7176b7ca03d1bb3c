// Runs side by side: curves, differences with their intervals, prompts.
import {
  comparisonTables,
  compareRuns,
  renderComparison,
  reportTables,
  type Run,
  scalarRows,
  summarize,
  tableToCsv,
  tensorboardEvents,
} from "../../lib/report";
import { HOSTILE } from "./hostile";
import { type Given, step } from "./made";

/** One run of two steps, four rollouts of each prompt; rewards by prompt. */
function run(name: string, rewards: Readonly<Record<string, readonly number[]>>, more: Given = {}): Run {
  const rollouts = Object.entries(rewards).flatMap(([prompt, own]) =>
    own.map((reward, i): Given => ({ ...more, prompt, group: prompt, reward, text: `${name} says ${i}`, ids: [1, 2] })),
  );
  return {
    name,
    steps: [
      { ...step("first", ...rollouts.map((one) => ({ ...one, reward: 0 }))), step: 10 },
      { ...step("last", ...rollouts), step: 20 },
    ],
  };
}
const PROMPTS = ["a", "b", "c", "d", "e", "f"];
const rewardsOf = (of: (prompt: number, rollout: number) => number) =>
  Object.fromEntries(PROMPTS.map((prompt, p) => [prompt, [0, 1, 2, 3].map((r) => of(p, r))]));

const base = run(
  "base",
  rewardsOf((_, r) => (r === 0 ? 1 : 0)),
);
const better = run(
  "better",
  rewardsOf((p, r) => (r <= p % 3 ? 1 : 0)),
);

test("a curve has each scalar at the training steps of each run, and what a run lacks is empty", () => {
  const other: Run = { name: "text", steps: [{ ...step("only", { text: "no reward" }), step: 5 }] };
  const { curves, runs } = compareRuns([base, other]);
  expect(runs).toEqual([
    { name: "base", steps: 2, rollouts: 48 },
    { name: "text", steps: 1, rollouts: 1 },
  ]);
  const reward = curves.find(({ name }) => name === "reward/mean")!;
  expect(reward.series).toEqual([
    [
      { step: 10, value: 0 },
      { step: 20, value: 0.25 },
    ],
    [],
  ]);
  expect(curves.find(({ name }) => name === "pass@4")!.series[0]).toEqual([
    { step: 10, value: 0 },
    { step: 20, value: 1 },
  ]);
  expect(curves.find(({ name }) => name === "pass@2")!.series[0]![1]).toEqual({ step: 20, value: 0.5 });
});

test("a difference of prompts in common is the mean of the pairs, and its interval holds it", () => {
  const { differences, window } = compareRuns([base, better]);
  expect(window).toEqual([
    [20, 20],
    [20, 20],
  ]);
  const reward = differences.find(({ figure }) => figure === "reward")!;
  // By prompt 0, 1/4, 2/4 more, twice.
  expect(reward).toMatchObject({ run: 1, first: 0.25, mean: 0.5, difference: 0.25, paired: true, prompts: [6, 6] });
  expect(reward.low).toBeLessThan(0.25);
  expect(reward.high).toBeGreaterThan(0.25);
  expect(reward.low).toBeGreaterThanOrEqual(0);
  expect(reward.high).toBeLessThanOrEqual(0.5);
  const length = differences.find(({ figure }) => figure === "length")!;
  expect(length).toMatchObject({ difference: 0, low: 0, high: 0 });
});

test("the same run twice has differences of exactly 0 and intervals of no width", () => {
  for (const { difference, low, high } of compareRuns([base, { ...base, name: "again" }]).differences)
    expect([difference, low, high]).toEqual([0, 0, 0]);
});

test("runs of other prompts are drawn apart; the interval is that of two means", () => {
  const many = (name: string, shift: number, prefix: string): Run => ({
    name,
    steps: [
      step(
        "all",
        ...Array.from({ length: 100 }, (_, i): Given => ({ prompt: `${prefix}${i}`, reward: (i % 2) + shift })),
      ),
    ],
  });
  const { differences, prompts } = compareRuns([many("one", 0, "x"), many("two", 1, "y")]);
  expect(prompts).toEqual([]);
  const [reward] = differences;
  expect(reward).toMatchObject({ difference: 1, paired: false, prompts: [100, 100] });
  // 1.96·sqrt(2·0.25/100) = 0.139
  expect(reward!.high - 1).toBeGreaterThan(0.11);
  expect(reward!.high - 1).toBeLessThan(0.17);
  expect(1 - reward!.low).toBeGreaterThan(0.11);
  expect(1 - reward!.low).toBeLessThan(0.17);
});

test("intervals cover the difference about as often as they say", () => {
  let state = 7;
  const uniform = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const drawn = (name: string): Run => ({
    name,
    steps: [step("all", ...Array.from({ length: 30 }, (_, i): Given => ({ prompt: String(i), reward: uniform() })))],
  });
  let held = 0;
  for (let trial = 0; trial < 50; ++trial) {
    const { low, high } = compareRuns([drawn("one"), drawn("two")]).differences[0]!;
    if (low <= 0 && high >= 0) ++held;
  }
  expect(held).toBeGreaterThanOrEqual(43);
  expect(held).toBeLessThan(50);
});

test("prompts: largest change first, mean rewards, the best response of each run", () => {
  const { prompts } = compareRuns([base, better]);
  expect(prompts.map(({ prompt, difference }) => [prompt, difference])).toEqual([
    ["c", 0.5],
    ["f", 0.5],
    ["b", 0.25],
    ["e", 0.25],
    ["a", 0],
    ["d", 0],
  ]);
  expect(prompts[0]).toMatchObject({
    rewards: [0.25, 0.75],
    counts: [4, 4],
    best: [
      [1, 8],
      [1, 8],
    ],
  });
});

test("lastSteps says which steps count", () => {
  expect(compareRuns([base, better], { lastSteps: 1 }).window[0]).toEqual([10, 20]);
  expect(compareRuns([base, better], { lastSteps: 1 }).differences[0]).toMatchObject({ first: 0.125, mean: 0.25 });
});

test("values that are not finite do not count", () => {
  const odd: Run = { name: "odd", steps: [step("s", { prompt: "a", reward: NaN }, { prompt: "a", reward: 1 })] };
  const plain: Run = { name: "plain", steps: [step("s", { prompt: "a", reward: 1 })] };
  expect(compareRuns([odd, plain]).differences[0]).toMatchObject({ first: 1, mean: 1, difference: 0 });
});

test.each([
  [[base], "runs"],
  [[base, base], "runs[1].name"],
  [
    [base, { name: "x", steps: [step("s", { ids: [1, 2], entropies: [1] })] }],
    "runs[1].steps[0].rollouts[0].entropies",
  ],
] as const)("refused, by name: %#", (runs, name) => {
  const details = expect.objectContaining({ name }) as unknown;
  expect(() => compareRuns(runs)).toThrow(expect.objectContaining({ details }));
});

test("the page draws every curve with axes, units and a legend, and shows hostile text as text", () => {
  const page = renderComparison([base, better], { title: "<b>two</b>" });
  expect(page).toContain("&lt;b&gt;two&lt;/b&gt;");
  expect(page.match(/<figure class="card curve">/g)).toHaveLength(compareRuns([base, better]).curves.length);
  expect(page.match(/training step<\/p>/g)!.length).toBe(page.match(/<ul class="legend">/g)!.length);
  expect(page).toContain("<b>Mean length</b> <span>tokens</span>");
  expect(page).toContain("4 better, 0 worse, 2 the same, of 6 prompts in common.");
  for (const hostile of HOSTILE) {
    const runs = ["one", "two"].map((name): Run => ({
      name: `${name}${hostile}`,
      steps: [step(hostile, { prompt: hostile, text: hostile, reward: 1, rewards: { [hostile]: 1 } })],
    }));
    const drawn = renderComparison(runs);
    expect(drawn.match(/<script/g)).toHaveLength(2);
    if (hostile.includes("<")) expect(drawn).not.toContain(hostile);
  }
});

test("tables: every column has a name, every row has them all, and CSV reads back", () => {
  const tables = [...reportTables(better.steps), ...comparisonTables(compareRuns([base, better]))];
  expect(tables.map(({ name }) => name)).toEqual([
    "steps",
    "groups",
    "rollouts",
    "histograms",
    "curves",
    "differences",
    "prompts",
  ]);
  for (const table of tables) {
    expect(new Set(table.columns).size).toBe(table.columns.length);
    for (const row of table.rows) expect(row).toHaveLength(table.columns.length);
    const lines = tableToCsv(table).split("\r\n");
    expect(lines).toHaveLength(table.rows.length + 2);
    expect(lines[0]).toBe(table.columns.join(","));
  }
  expect(tables[2]!.rows).toHaveLength(48);
});

test("CSV quotes what must be, keeps digits, and defuses formulas", () => {
  const columns = ["a", "b"];
  expect(
    tableToCsv({
      name: "t",
      columns,
      rows: [
        ['say "x", y', 0.1 + 0.2],
        ["two\nlines", null],
        ["=1+1", NaN],
        ["@x", -2],
      ],
    }),
  ).toBe('a,b\r\n"say ""x"", y",0.30000000000000004\r\n"two\nlines",\r\n\'=1+1,NaN\r\n\'@x,-2\r\n');
});

/** What an event file says, read by the definition of its format; checksums by long division. */
function readEvents(bytes: Uint8Array): { step: number; tag: string; value: number }[] {
  const data = Buffer.from(bytes);
  const crc = (part: Uint8Array): number => {
    let rest = 0xffffffff;
    for (const byte of part)
      for (let bit = 0; bit < 8; ++bit)
        rest = ((rest ^ (byte >> bit)) & 1 ? (rest >>> 1) ^ 0x82f63b78 : rest >>> 1) >>> 0;
    rest = ~rest >>> 0;
    return (((rest >>> 15) | (rest << 17)) + 0xa282ead8) >>> 0;
  };
  const fields = (part: Buffer): Map<number, Buffer | number> => {
    const found = new Map<number, Buffer | number>();
    for (let at = 0; at < part.length;) {
      const varint = (): number => {
        let [value, shift] = [0, 1];
        for (; ; shift *= 128) {
          const byte = part[at++]!;
          value += (byte & 127) * shift;
          if (byte < 128) return value;
        }
      };
      const head = varint();
      const type = head & 7;
      if (type === 0) found.set(head >> 3, varint());
      else {
        const size = type === 2 ? varint() : type === 1 ? 8 : 4;
        found.set(head >> 3, part.subarray(at, (at += size)));
      }
    }
    return found;
  };
  const events = [];
  for (let at = 0; at < data.length;) {
    const size = Number(data.readBigUInt64LE(at));
    expect(data.readUInt32LE(at + 8)).toBe(crc(data.subarray(at, at + 8)));
    const body = data.subarray(at + 12, at + 12 + size);
    expect(data.readUInt32LE(at + 12 + size)).toBe(crc(body));
    at += 16 + size;
    const event = fields(body);
    if (event.has(3)) expect(event.get(3)!.toString()).toBe("brain.Event:2");
    else {
      const value = fields(fields(event.get(5) as Buffer).get(1) as Buffer);
      events.push({
        step: event.get(2) as number,
        tag: value.get(1)!.toString(),
        value: (value.get(2) as Buffer).readFloatLE(),
      });
    }
  }
  return events;
}

test("numbers of an event file are as short as they can be", () => {
  const steps = better.steps.map((one, i) => ({ ...one, step: 127 + i }));
  const data = Buffer.from(tensorboardEvents(summarize(steps), { wallTime: 1 }));
  // Field 2 is the step, field 5 what was measured.
  expect(data.includes(Buffer.of(0x10, 127, 0x2a))).toBe(true);
  expect(data.includes(Buffer.of(0x10, 128, 1, 0x2a))).toBe(true);
});

test("an event file holds each scalar of each step, with right checksums", () => {
  const summary = summarize(better.steps);
  const rows = scalarRows(summary);
  expect(rows.map(({ _step }) => _step)).toEqual([10, 20]);
  expect(rows[1]).toMatchObject({ "reward/mean": 0.5, "pass@4": 1, "length/mean": 2 });
  expect(readEvents(tensorboardEvents(summary, { wallTime: 1 }))).toEqual(
    rows.flatMap(({ _step, ...scalars }) =>
      Object.entries(scalars).map(([tag, value]) => ({ step: _step, tag, value: Math.fround(value) })),
    ),
  );
});

import { stripVTControlCharacters } from "node:util";
import { renderTerminal, type ReportStep, summarize } from "../../lib/report";
import { columns } from "../../lib/report/terminal/text";
import { errorCode } from "../support/error-code";
import { HOSTILE, hostileReport } from "./hostile";
import { step } from "./made";

const trained = (label: string, entropy: number, ...rewards: readonly number[]): ReportStep =>
  step(
    label,
    ...rewards.map((reward, i) => ({
      group: `problem ${i >> 1}`,
      reward,
      ids: [1, 2, 3].slice(0, 1 + (i % 3)),
      entropies: [entropy, 1, 0].slice(0, 1 + (i % 3)),
      finishReason: "stop",
    })),
  );

const steps = [trained("step 0", 1, 0, 0, 0, 1, 0, 1), trained("step 10", 0.5, 0, 1, 1, 1, 1, 1)];

test("the summary of two steps, as it stands on a terminal of 80 columns", () => {
  expect(renderTerminal(summarize(steps))).toBe(
    `2 steps
  mean reward     ▁█  0.333 → 0.833
  mean length     ▄▄  2 → 2
  mean entropy    █▁  0.833 → 0.583
  step 0          33 % of groups have equal rewards: no gradient

step 10  6 rollouts · 3 groups · 12 tokens
  ▲ 67 % of groups have equal rewards: no gradient
  equal rewards 67 % · r(length, reward) 0.548 · cut off 0 %

  reward    ▂                  █        0.833 ± 0.408   0 … 1
  length    ▄▄▄▄▄▄▄▄████████            2 ± 0.894       1 … 3 tokens
  entropy   ▃         █        ▅        0.583 ± 0.359   0 … 1 nats

  group         n   reward      std  length  entropy    cut
  problem 0     2      0.5    0.707     1.5    0.667    0 %  █████
  problem 1     2        1        0       2      0.5    0 %  ██████████
  problem 2     2        1        0     2.5      0.6    0 %  ██████████
`.replace(/ +$/gm, ""),
  );
});

test.each([40, 60, 80, 200])("no line is longer than %i columns", (width) => {
  for (const colour of [false, true]) {
    const lines = stripVTControlCharacters(renderTerminal(summarize(steps), { width, colour })).split("\n");
    expect(lines.filter((line) => columns(line) > width)).toEqual([]);
  }
});

test.each([80, 100])("a long name leaves the meters at the end of %i columns", (width) => {
  const long = step(
    "long",
    ...[0, 1].map((reward) => ({ group: `${reward} ${"name ".repeat(30)}`, reward, ids: [1], finishReason: "stop" })),
  );
  const rows = renderTerminal(summarize([long]), { width }).split("\n");
  const full = rows.filter((line) => line.endsWith("█".repeat(8)));
  expect(full.map(columns)).toEqual([width]);
});

test("colour adds escape sequences and changes nothing else", () => {
  const summary = summarize(steps);
  const coloured = renderTerminal(summary, { colour: true });
  expect(coloured).toContain("\u001B[33m");
  expect(stripVTControlCharacters(coloured)).toBe(renderTerminal(summary));
});

test.each(HOSTILE.map((text, i) => [i, text] as const))("hostile text %i stays text", (_, text) => {
  const shown = renderTerminal(summarize(hostileReport(text).steps));
  expect(shown).not.toMatch(/[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
  expect(shown.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  expect(shown.split("\n").filter((line) => columns(line) > 80)).toEqual([]);
});

test("groups beyond the limit are counted", () => {
  expect(renderTerminal(summarize(steps), { maxGroups: 1 })).toMatch(/ {2}and 2 more groups\n$/);
});

test("nothing to show says so", () => {
  expect(renderTerminal(summarize([]))).toBe("no rollouts\n");
  expect(renderTerminal(summarize([{ label: "empty", rollouts: [] }]))).toBe("empty  0 rollouts · 0 groups\n");
});

test("a width below 40 is refused", () => {
  expect(errorCode(() => renderTerminal(summarize([]), { width: 39 }))).toBe("ERR_SURPRISAL_OPTION");
});

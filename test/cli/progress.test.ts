import { compact, duration, Progress, progressLine } from "../../lib/cli/shell/progress";
import { surprisal, temporaryFolder } from "./in-process";
import { recordText } from "./records";

const folder = temporaryFolder();

test.each([
  [0, "0"],
  [7, "7"],
  [1234, "1.23 k"],
  [5_600_000, "5.60 M"],
  [2e9, "2.00 G"],
])("%p is written %s", (value, text) => {
  expect(compact(value)).toBe(text);
});

test.each([
  [0.2, "<1 s"],
  [42.4, "42 s"],
  [125, "2 min 5 s"],
  [7325, "2 h 2 min"],
])("%p seconds are %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test("the line has share, rate and remaining time, and fits the terminal", () => {
  const stage = { label: "reading", unit: "rollouts", total: 200 };
  expect(progressLine(stage, 50, 10, 100)).toBe("reading  ██████░░░░░░░░░░░░░░░░░░  25 %  5 rollouts/s  30 s left");
  expect(progressLine({ label: "reading", unit: "rollouts" }, 50, 10, 100)).toBe("reading  50 rollouts  5 rollouts/s");
  expect(progressLine(stage, 50, 10, 20)).toHaveLength(19);
});

test("a terminal is written to at most ten times a second, and left clean", () => {
  const texts: string[] = [];
  let now = 0;
  const progress = new Progress({ write: (text) => texts.push(text), columns: 100 }, true, () => now);
  progress.start("working", "steps", 100);
  for (let step = 1; step <= 100; ++step) {
    now += 10;
    progress.advance(1);
  }
  progress.end();
  expect(texts).toHaveLength(11);
  expect(texts[9]).toContain("100 %");
  expect(texts.at(-1)).toBe("\r\u001b[2K");
});

test("there is none where standard error is no terminal, and none with --quiet", async () => {
  const input = folder.file("in.jsonl", recordText(1));
  for (const world of [{ isTTY: false }, { isTTY: true }]) {
    const args = ["inspect", input, ...(world.isTTY ? ["--quiet"] : [])];
    expect(await surprisal(args, world)).toMatchObject({ code: 0, stderr: "" });
  }
});

// A run that was cut off goes on behind the cases that it has.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseLines, toLines } from "../../bench/record";
import { Underway } from "../../bench/underway";
import { resultLine } from "./result-lines";

const folder = mkdtempSync(join(tmpdir(), "surprisal-underway-"));
const file = join(folder, "results", "cpu.jsonl");
afterAll(() => rmSync(folder, { recursive: true }));

const first = resultLine({});
const second = resultLine({ op: "gae", threads: 2 });
const { run } = first;
const caseOf = (line: typeof first) => ({
  ...line,
  prepare: () => Promise.reject(new Error("not to be run")) as never,
});

test("what a run has is there before it ends, and goes where it belongs when it does", () => {
  const underway = new Underway(file, run, false);
  underway.add([first, { ...first, contender: "numpy" }]);
  expect(existsSync(file)).toBe(false);
  underway.add([second]);
  underway.finish();
  expect(parseLines(readFileSync(file, "utf8"), file)).toEqual([first, { ...first, contender: "numpy" }, second]);
  expect(existsSync(`${file}.partial`)).toBe(false);
});

test("only a run of the same code on the same machine goes on", () => {
  writeFileSync(`${file}.partial`, toLines([first, { ...second, run: { ...run, commit: "another" } }]));
  const later = { ...run, date: "2026-01-02T04:00:00.000Z" };
  const underway = new Underway(file, later, true);
  expect([underway.has(caseOf(first)), underway.has(caseOf(second))]).toEqual([true, false]);
  expect(underway.lines).toEqual([first]);
  expect(new Underway(file, later, false).lines).toEqual([]);
});

test("a case whose own line is missing runs again", () => {
  const underway = new Underway(file, run, false);
  underway.add([{ ...first, contender: "numpy" }]);
  expect(underway.has(caseOf(first))).toBe(false);
});

// What users can meet is met by a test: each error code is expected somewhere, each public function called somewhere beside
// test/hazards/any-arguments, which calls them all with anything.
import * as main from "../../lib";
import * as collective from "../../lib/collective";
import * as experience from "../../lib/experience";
import * as io from "../../lib/io";
import * as report from "../../lib/report";
import * as reward from "../../lib/reward";
import { read, repositoryFiles } from "./rules/files";

const tests = repositoryFiles()
  .filter((file) => /^test\/.*\.(ts|cjs)$/.test(file) && !file.endsWith("any-arguments.test.ts"))
  .map((file) => read(file))
  .join("\n");

test("every error code is expected by a test", () => {
  const codes = [...read("lib/core/errors.ts").matchAll(/^ {2}\| "(ERR_SURPRISAL_\w+)"/gm)].map(([, code]) => code!);
  expect(codes.length).toBeGreaterThan(15);
  // In full, or as an expectation without the part that all have in common: (expectCode("RANGE"), /^ERR_SURPRISAL_(DEVICE|…)$/).
  const expected = (code: string): boolean => {
    const short = code.slice("ERR_SURPRISAL_".length);
    return tests.includes(code) || new RegExp(`["'(|]${short}["')|]`).test(tests);
  };
  expect(codes.filter((code) => !expected(code))).toEqual([]);
});

test("every public function and class is used by a test", () => {
  const words = new Set(tests.match(/\b[A-Za-z_]\w*\b/g));
  const names = Object.values({ main, collective, experience, io, report, reward }).flatMap((entry) =>
    Object.entries(entry).flatMap(([name, value]) => (typeof value === "function" ? [name] : [])),
  );
  expect(names.length).toBeGreaterThan(250);
  expect([...new Set(names.filter((name) => !words.has(name)))]).toEqual([]);
});

// The golden cases on every backend. What is mapped must pass, and these families must be mapped whole.
import { join } from "node:path";
import { eachBackend } from "../support/each-backend";
import { readGoldenFolder } from "./golden";
import { LEFT_OUT } from "./left-out";
import { mappingKey } from "./mapping";
import { mappings } from "./mappings";
import { backendLines } from "./report";
import { runBackend, type BackendReport } from "./run";

const files = readGoldenFolder(join(__dirname, "..", "golden"));

eachBackend((backend) => {
  let report: BackendReport;
  beforeAll(() => (report = runBackend(files, mappings, backend)));

  test(`${backend}: no golden case fails`, () => {
    const functions = report.functions.filter(({ totals }) => totals.failed > 0);
    expect(functions.length === 0 ? "" : backendLines({ ...report, functions }).join("\n")).toBe("");
  });

  test(`${backend}: every function is mapped, or left out for a reason`, () => {
    const missing = report.functions.filter(({ totals }) => totals.notImplemented > 0);
    expect(missing.map(mappingKey)).toEqual([]);
  });
});

test("the golden files are all here", () => {
  expect(files).toHaveLength(288);
  expect(files.flatMap((file) => file.cases)).toHaveLength(3735);
});

test("no mapping is left without golden cases", () => {
  const golden = new Set(files.map(mappingKey));
  expect([...mappings.keys()].filter((key) => !golden.has(key))).toEqual([]);
});

test("few functions are left out, and they are recorded and not mapped", () => {
  const golden = new Set(files.map(mappingKey));
  expect(LEFT_OUT.size).toBeLessThanOrEqual(10);
  for (const key of LEFT_OUT.keys()) expect([key, golden.has(key), mappings.has(key)]).toEqual([key, true, false]);
});

// The golden cases on every backend. What is mapped must pass, and these families must be mapped whole.
import { join } from "node:path";
import { eachBackend } from "../support/each-backend";
import { readGoldenFolder } from "./golden";
import { mappingKey } from "./mapping";
import { mappings } from "./mappings";
import { backendLines } from "./report";
import { runBackend, type BackendReport } from "./run";

/** Family → its functions that have no counterpart in the library. */
const WHOLE_FAMILIES: Readonly<Record<string, readonly string[]>> = {
  empg: [],
  gspo: [],
  logits: [],
  maxent: [],
  egpo: [],
};

const files = readGoldenFolder(join(__dirname, "..", "golden"));

eachBackend((backend) => {
  let report: BackendReport;
  beforeAll(() => (report = runBackend(files, mappings, backend)));

  test(`${backend}: no golden case fails`, () => {
    const functions = report.functions.filter(({ totals }) => totals.failed > 0);
    expect(functions.length === 0 ? "" : backendLines({ ...report, functions }).join("\n")).toBe("");
  });

  test(`${backend}: these families have a mapping for every function`, () => {
    const missing = report.functions.filter(
      ({ family, function: name, totals }) =>
        totals.notImplemented > 0 && WHOLE_FAMILIES[family]?.includes(name) === false,
    );
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

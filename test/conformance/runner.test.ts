// The runner on made-up golden files and made-up mappings.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main, type Setup } from "./cli";
import { mappingTable, type Mapping } from "./mapping";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "conformance-"))));
afterEach(() => rmSync(folder, { recursive: true }));

class Refusal extends Error {
  readonly code = "ERR_SURPRISAL_SHAPE";
}

const echo: Mapping = {
  family: "made-up",
  function: "echo",
  ours: "backendInfo",
  failures: { ValueError: ["ERR_SURPRISAL_SHAPE"] },
  replacedBy: ({ name }) => (name.endsWith("mute") ? "silence" : undefined),
  run(inputs, { preset, backend }) {
    if (inputs.has("refuse")) throw new Refusal("no");
    if (inputs.has("slip")) throw new TypeError("a slip");
    return { x: inputs.value("x"), preset, backend };
  },
  masked: (inputs): ReturnType<NonNullable<Mapping["masked"]>> =>
    inputs.has("mask") ? { x: inputs.uint8("mask") } : {},
  preset: ({ name }) => (name.endsWith("loud") ? "loud" : undefined),
  skip: ({ name }) => (name === "too big" ? "larger than memory" : undefined),
};

const backends: Setup["backends"] = [
  { name: "js", available: true },
  { name: "cpu", available: true },
  { name: "cuda", available: false, reason: "no device" },
];

function write(
  name: string,
  functionName: string,
  ...cases: { name?: string; inputs: object; outputs: object }[]
): void {
  const filled = cases.map((c, i) => ({ name: `case ${i}`, rtol: 0, atol: 0, ...c }));
  writeFileSync(join(folder, name), JSON.stringify({ family: "made-up", function: functionName, cases: filled }));
}

function conformance(...args: string[]) {
  const lines: string[] = [];
  const errors: string[] = [];
  const progress: string[] = [];
  const status = main(
    ["--dir", folder, ...args],
    { mappings: mappingTable([echo]), backends },
    { out: (line) => lines.push(line), err: (line) => errors.push(line), progress: (line) => progress.push(line) },
  );
  return { status, lines, errors, progress, out: lines.join("\n"), closing: lines.at(-1) };
}

const f64 = (...data: number[]) => ({ dtype: "float64", shape: [data.length], data });

test("a right case passes on every available backend and the missing one is named", () => {
  write("a.json", "echo", { inputs: { x: 1 }, outputs: { x: 1 } });
  const { status, lines, progress } = conformance();
  expect(status).toBe(0);
  expect(lines).toEqual([
    "backend js",
    "  made-up/echo  1 passed",
    "js: 1 passed, 0 failed, 0 skipped, 0 left out, 0 not implemented",
    "",
    "backend cpu",
    "  made-up/echo  1 passed",
    "cpu: 1 passed, 0 failed, 0 skipped, 0 left out, 0 not implemented",
    "",
    "backend cuda is not available: no device",
    "2 passed, 0 failed, 0 skipped, 0 left out, 0 not implemented",
  ]);
  expect(progress).toEqual(["js: made-up/echo", "", "cpu: made-up/echo", ""]);
});

test("a wrong value is reported and the exit status is 1", () => {
  write("a.json", "echo", { inputs: { x: f64(1, 2) }, outputs: { x: f64(1, 3) } });
  const { status, out, closing } = conformance("--backend", "js");
  expect(status).toBe(1);
  expect(out).toContain("    failed case 0\n      x: got 2, expected 3 within 0 at [1], 1 of 2 differ");
  expect(closing).toBe("0 passed, 1 failed, 0 skipped, 0 left out, 0 not implemented");
});

test("the chosen backend reaches the mapping", () => {
  write("a.json", "echo", { inputs: { x: 1 }, outputs: { backend: "cpu" } });
  expect(conformance("--backend", "cpu").status).toBe(0);
  expect(conformance("--backend", "js").status).toBe(1);
});

test("a function without a mapping counts as not implemented and does not fail", () => {
  write("a.json", "unheard", { inputs: {}, outputs: {} }, { inputs: {}, outputs: {} });
  const { status, closing, out } = conformance("--backend", "js");
  expect(status).toBe(0);
  expect(out).toContain("  made-up/unheard  2 not implemented");
  expect(closing).toBe("0 passed, 0 failed, 0 skipped, 0 left out, 2 not implemented");
});

test("files of the same function share a line", () => {
  write("a.json", "echo", { inputs: { x: 1 }, outputs: { x: 1 } });
  write("b.json", "echo", { inputs: { x: 2 }, outputs: { x: 2 } });
  expect(conformance("--backend", "js").lines).toContain("  made-up/echo  2 passed");
});

test("masked positions are counted, not compared", () => {
  const mask = { dtype: "uint8", shape: [3], data: [1, 0, 0] };
  write("a.json", "echo", { inputs: { x: f64(1, 7, 7), mask }, outputs: { x: f64(1, 2, 3) } });
  const { status, out } = conformance("--backend", "js");
  expect(status).toBe(0);
  expect(out).toContain("  made-up/echo  1 passed (2 masked positions not compared)");
});

test("upstream behaviour runs through a preset that reproduces it, else it is skipped with its replacement", () => {
  write(
    "a.json",
    "echo",
    { name: "quirk/loud", inputs: { x: 1 }, outputs: { preset: "loud" } },
    { name: "quirk/mute", inputs: { x: 1 }, outputs: { x: 99 } },
    { name: "quirk/odd", inputs: { x: 1 }, outputs: { x: 99 } },
    { name: "too big", inputs: { x: 1 }, outputs: { x: 99 } },
  );
  const { status, lines, closing } = conformance("--backend", "js");
  expect(status).toBe(0);
  expect(lines).toContain("    skipped 1: upstream behaviour, replaced by: silence");
  expect(lines).toContain("    skipped 1: upstream behaviour, replaced by: the rule of this library");
  expect(lines).toContain("    skipped 1: larger than memory");
  expect(closing).toBe("1 passed, 0 failed, 3 skipped, 0 left out, 0 not implemented");
});

test("a recorded failure is met by a named error code and by nothing else", () => {
  write(
    "a.json",
    "echo",
    { name: "refused", inputs: { refuse: true }, outputs: { throws: "ValueError" } },
    { name: "refused, the other word", inputs: { refuse: true }, outputs: { error: "ValueError" } },
    { name: "another failure", inputs: { refuse: true }, outputs: { throws: "KeyError" } },
    { name: "a slip of the mapping", inputs: { slip: true }, outputs: { throws: "ValueError" } },
    { name: "no failure at all", inputs: { x: 1 }, outputs: { throws: "ValueError" } },
    { name: "a failure where none belongs", inputs: { refuse: true }, outputs: { x: 1 } },
  );
  const { status, out, closing } = conformance("--backend", "js");
  expect(status).toBe(1);
  expect(out).toContain("failed another failure\n      call: threw Error ERR_SURPRISAL_SHAPE: no");
  expect(out).toContain("failed a slip of the mapping\n      call: threw TypeError: a slip");
  expect(out).toContain("failed no failure at all\n      throws: the mapping does not return it");
  expect(closing).toBe("2 passed, 4 failed, 0 skipped, 0 left out, 0 not implemented");
});

test("--json prints one document with every case", () => {
  write("a.json", "echo", { inputs: { x: 1 }, outputs: { x: "NaN" } });
  const { status, lines } = conformance("--json");
  expect(status).toBe(1);
  expect(lines).toHaveLength(1);
  const document: unknown = JSON.parse(lines[0] ?? "");
  expect(document).toMatchObject({
    folder,
    unavailable: [{ name: "cuda", reason: "no device" }],
    totals: { passed: 0, failed: 2 },
    backends: [
      {
        backend: "js",
        functions: [{ function: "echo", cases: [{ status: "failed", differences: [{ numbers: { want: "NaN" } }] }] }],
      },
      { backend: "cpu" },
    ],
  });
});

test.each([
  ["an unknown option", ["--fast"], /Unknown option '--fast'[^]*usage:/],
  ["a stray word", ["fast"], /Unexpected argument 'fast'/],
  ["a backend that does not exist", ["--backend", "tpu"], /no backend "tpu"; there are js, cpu, cuda/],
  ["a backend that is not available", ["--backend", "cuda"], /backend cuda is not available: no device/],
  ["a family that is not there", ["--family", "other"], /no family "other" under .*; there are made-up/],
  ["a missing folder", ["--dir", "/nowhere/at/all"], /\/nowhere\/at\/all: no such folder/],
])("%s ends with status 2 and the reason", (_, args, reason) => {
  write("a.json", "echo", { inputs: { x: 1 }, outputs: { x: 1 } });
  const { status, errors, lines } = conformance(...args);
  expect(status).toBe(2);
  expect(errors.join("\n")).toMatch(reason);
  expect(lines).toEqual([]);
});

test("a malformed file ends with status 2 and its name", () => {
  write("a.json", "echo", { inputs: { x: 1 }, outputs: { x: 1 } });
  writeFileSync(join(folder, "broken.json"), "{");
  const { status, errors } = conformance();
  expect(status).toBe(2);
  expect(errors.join("\n")).toContain(join(folder, "broken.json"));
});

test("--family takes the files of one family", () => {
  write("a.json", "echo", { inputs: { x: 1 }, outputs: { x: 1 } });
  writeFileSync(
    join(folder, "b.json"),
    JSON.stringify({
      family: "other",
      function: "f",
      cases: [{ name: "c", inputs: {}, outputs: {}, rtol: 0, atol: 0 }],
    }),
  );
  expect(conformance("--family", "made-up", "--backend", "js").closing).toBe(
    "1 passed, 0 failed, 0 skipped, 0 left out, 0 not implemented",
  );
  expect(conformance("--family", "other", "--backend", "js").closing).toBe(
    "0 passed, 0 failed, 0 skipped, 0 left out, 1 not implemented",
  );
});

test("two mappings for one function are refused", () => {
  expect(() => mappingTable([echo, echo])).toThrow("two mappings for made-up/echo");
});

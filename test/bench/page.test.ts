// docs/performance.md and its chart out of lines of results, and the lines out of a file.
import { parseLines, toLines } from "../../bench/record";
import { toChart } from "../../bench/report/chart";
import { toPage } from "../../bench/report/page";
import { generated, readResults } from "../../bench/report/write";
import { read } from "../repo/rules/files";
import { even, resultLine } from "./result-lines";

const ours = resultLine({
  bytes: { least: 311_164_928, formula: "4·rows·vocab + 4·rows + 12·rows" },
  roof: { kind: "read", gigabytesPerSecond: even(40) },
  share: even(0.78),
  extraMegabytes: 0.25,
  canary: 0.031,
});
const peer = resultLine({
  contender: "torch: verl | form",
  backend: "torch",
  level: "",
  ratio: even(0.5),
  part: 0.25,
  error: { entropies: { maxAbs: 1e-3, maxRel: 0.02 } },
});
const file = { name: "cpu-some-cpu.jsonl", lines: [ours, peer] };

test("lines survive the file", () => {
  expect(parseLines(toLines([ours, peer]), "x")).toEqual([ours, peer]);
});

test("a line that lacks something is refused by its number", () => {
  const { time: _, ...broken } = ours;
  expect(() => parseLines(`${JSON.stringify(ours)}\n\n${JSON.stringify(broken)}\n`, "f.jsonl")).toThrow(
    "f.jsonl:3: time is no object",
  );
  expect(() => parseLines('{"format":2}', "f.jsonl")).toThrow("f.jsonl:1: not format 1");
});

test("the page has the numbers with their spread, the error beside them, and what is lost", () => {
  const page = toPage([file]);
  expect(page).toContain("## Some CPU (avx512), 4 cores: CPU");
  expect(page).toContain("Commit `0123456789ab`, 2026-01-02.");
  expect(page).toContain(
    "| `logprob`, Qwen vocabulary (512 × 151936), float32, normal | avx512 | 10 ms (9 ms–11 ms) | 31.1 | 40 read | 0.78 (0.70–0.86) | " +
      "entropies 1.0e-7, 20 % of 1e-6·\\|x\\| + 1e-12 | 0.3 |",
  );
  expect(page).toContain("ahead of each case differed by 3 % (median of the cases; 80th percentile 3 %).");
  expect(page).toContain("torch: verl \\| form (timed on 25 % of the rows, scaled)");
  expect(page).toContain("**slower:** 0.5 (0.45–0.55)x");
  expect(page).toContain("entropies 1.0e-3, relative 2.0e-2");
  expect(page).toContain(
    "| forward, float32, V ≥ 100K | ≥ 0.9 | ≥ 0.97 | 0.78 | **missed by 13 %** | Qwen vocabulary, normal |",
  );
  expect(page).toContain("No CUDA kernel has been timed on a GPU");
  expect(page).not.toContain("undefined");
});

test("with results of a GPU it says which families have none", () => {
  const page = toPage([file, { name: "cuda.jsonl", lines: [resultLine({ backend: "cuda", level: "9.0" })] }]);
  expect(page).toContain("## Some CPU: CUDA");
  expect(page).toContain("| forward, V ≥ 32K | ≥ 0.85 | ≥ 1.03 |");
  expect(page).toContain(
    "Never timed on a GPU: correction, delim, divergence, group, linear, loss, modulate, ratio, reduce, scan, select.",
  );
});

test("without results it claims nothing", () => {
  const page = toPage([]);
  expect(page).toContain("No result has been committed yet.");
  expect(page).not.toContain("performance.svg");
});

test("the chart has a bar for each share that a goal judges, with its marks, and is short where it is missed", () => {
  const good = resultLine({
    op: "gae",
    rowKind: "<masked>",
    share: even(0.9),
    roof: { kind: "read", gigabytesPerSecond: even(40) },
  });
  const unjudged = resultLine({ op: "moments", share: even(0.5) });
  const chart = toChart([{ name: "f", lines: [ours, good, unjudged, peer] }]);
  expect(chart.match(/<rect class="(bar|short)"/g)).toEqual(['<rect class="short"', '<rect class="bar"']);
  expect(chart.match(/class="must"/g)).toHaveLength(2);
  expect(chart.match(/class="aim"/g)).toHaveLength(2);
  expect(chart).toContain("&lt;masked&gt;");
  expect(chart).not.toContain("NaN");
});

test("docs/performance.md is what the committed results say: npm run bench -- --page", () => {
  const pages = generated(readResults());
  expect(Object.fromEntries(Object.keys(pages).map((path) => [path, read(path)]))).toEqual(pages);
});

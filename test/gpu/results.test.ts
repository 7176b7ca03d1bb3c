// What the bundle's run leaves in its folder: read, summed up, filed or refused.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { filed, nameOf, refusal } from "../../bench/gpu/import";
import { type GpuResults, readGpuResults } from "../../bench/gpu/results";
import { toSummary } from "../../bench/gpu/summary";
import { parseLines, toLines } from "../../bench/record";
import { even, resultLine } from "../bench/result-lines";

const card = {
  date: "2026-01-02T03:04:05Z",
  commit: "0123456789ab",
  machine: "NVIDIA H200",
  versions: { node: "20.0.0" },
  driver: { "clocks.sm": "1980 MHz" },
  computeCapability: "9.0",
};
const line = resultLine({ backend: "cuda", level: "9.0", threads: 0, share: even(0.9) });
const fromNode = { ...line, run: { ...line.run, through: "Node" } };
const torch = {
  torch: "2.9.0",
  repeats: 100,
  missing: [],
  checks: [
    {
      op: "scan_gae",
      title: "padded",
      passed: true,
      repeatable: true,
      outputs: { advantages: { share: 0.2, largest: 1e-7 } },
    },
  ],
};

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "surprisal-results-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(more: Readonly<Record<string, string>> = {}): void {
  const files: Readonly<Record<string, string>> = {
    "parts.tsv": "card\tpassed\t0\t1\nsuite\tfailed\t1\t60\nmemcheck\tskipped\t3\t0\n",
    "card.json": JSON.stringify(card),
    "suite.log": "much text\n12 passed, 1 failed, 0 skipped\n\n",
    "memcheck.log": "skipped: no compute-sanitizer here\n",
    "suite-counts.json": '{"passed":12,"failed":1,"skipped":0}\n',
    "torch.json": JSON.stringify(torch),
    "bench.jsonl": toLines([line]),
    "node.jsonl": toLines([fromNode]),
    ...more,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

test("parts carry their state, their time and their last word", () => {
  write();
  const results = readGpuResults(folder);
  expect(results.parts).toEqual([
    { name: "card", state: "passed", seconds: 1, says: "" },
    { name: "suite", state: "failed", seconds: 60, says: "12 passed, 1 failed, 0 skipped" },
    { name: "memcheck", state: "skipped", seconds: 0, says: "skipped: no compute-sanitizer here" },
  ]);
  expect(results).toMatchObject({
    backend: "cuda",
    suite: { passed: 12 },
    bench: [{ op: "logprob" }],
    node: [{ run: { through: "Node" } }],
  });
});

test("the summary says what failed, what was skipped and why, and how near torch is", () => {
  write();
  const page = toSummary(readGpuResults(folder));
  expect(page).toContain("# surprisal on NVIDIA H200");
  expect(page).toContain("| suite | **failed** | 60 | 12 passed, 1 failed, 0 skipped |");
  expect(page).toContain("| memcheck | skipped | 0 | skipped: no compute-sanitizer here |");
  expect(page).toContain("| scan_gae | padded | within | yes | advantages 1.0e-7, 20 % of its bound |");
  expect(page).toContain("0.90 (");
  expect(page).toMatch(
    /## From Node\n\n\| goal .*\n(?:.*\n)*\| forward, V ≥ 32K \| ≥ 0.85 \| ≥ 1.03 \| 0.9 \| reached \|/,
  );
  expect(page).toMatch(
    /\| logprob \| Qwen vocabulary .* \| 10 ms \(9 ms–11 ms\) \| .* \| 0.90 \(0.81–0.99\) \| entropies 1.0e-7, 20 % of 1e-6·\\\|x\\\|/,
  );
  expect(page).not.toContain("undefined");
});

test("results of a card are filed under its name and survive", () => {
  write();
  const results = readGpuResults(folder);
  expect(refusal(results)).toBeUndefined();
  const files = filed(results);
  expect(Object.keys(files)).toEqual([
    "bench/results/gpu-nvidia-h200.json",
    "bench/results/gpu-nvidia-h200.jsonl",
    "bench/results/gpu-nvidia-h200-node.jsonl",
  ]);
  expect(parseLines(files["bench/results/gpu-nvidia-h200-node.jsonl"]!, "f")).toEqual([fromNode]);
  expect(parseLines(files["bench/results/gpu-nvidia-h200.jsonl"]!, "f")).toEqual([line]);
  expect(nameOf("NVIDIA GeForce RTX 5090 (D)")).toBe("nvidia-geforce-rtx-5090-d");
});

test("one line of another backend is enough to tell", () => {
  write({ "node.jsonl": toLines([fromNode, { ...fromNode, backend: "emulated" }]) });
  expect(refusal(readGpuResults(folder))).toContain("the emulated backend: nothing in them is about a GPU");
  write({
    "bench.jsonl": "",
    "node.jsonl": "",
    "card.json": JSON.stringify({ ...card, machine: "emulated device", computeCapability: "0.0" }),
  });
  expect(refusal(readGpuResults(folder))).toContain("the emulated backend");
});

test("the emulated backend is held against no goal", () => {
  write({ "node.jsonl": toLines([{ ...fromNode, backend: "emulated" }]) });
  const page = toSummary(readGpuResults(folder));
  expect(page).toContain("nothing about a GPU");
  expect(page).not.toContain("| goal |");
});

test.each<[string, (results: GpuResults) => GpuResults, string]>([
  ["the emulated backend", (results) => ({ ...results, backend: "emulated" }), "nothing in them is about a GPU"],
  [
    "a changed tree",
    (results) => ({ ...results, card: { ...results.card, commit: "0123+" } }),
    "not committed (0123+)",
  ],
  [
    "wrong numbers",
    (results) => ({ ...results, torch: { checks: [{ op: "loss_row", title: "t", passed: false }] } }),
    "1 checks against torch failed (loss_row)",
  ],
  ["nothing", (results) => ({ ...results, parts: [] }), "no part ran"],
])("results of %s are refused", (_name, change, why) => {
  write();
  expect(refusal(change(readGpuResults(folder)))).toContain(why);
});

test("a folder that is none, or a broken part, is named", () => {
  expect(() => readGpuResults(folder)).toThrow("has no parts.tsv");
  write({ "parts.tsv": "card\twonderful\t0\t1\n" });
  expect(() => readGpuResults(folder)).toThrow('"card\twonderful\t0\t1" is no part');
});

test("a run without a bench is filed without its lines", () => {
  write({ "bench.jsonl": "", "node.jsonl": "" });
  expect(Object.keys(filed(readGpuResults(folder)))).toEqual(["bench/results/gpu-nvidia-h200.json"]);
});

// Folders and many files on a command line: their order, and what is said of all of them once.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { documentOf, jsonl, surprisal, temporaryFolder } from "./in-process";

const folder = temporaryFolder();

/** As verl dumps a run: a file a step, text alone. */
function dump(name: string): string {
  const place = folder.path(name);
  mkdirSync(place);
  for (const step of [1, 2, 10])
    writeFileSync(
      join(place, `${step}.jsonl`),
      jsonl([0, 1].map((score) => ({ input: "2+2?", output: `${score}`, score, step }))),
    );
  writeFileSync(join(place, "notes.txt"), "no rollouts");
  return place;
}

interface Document {
  readonly summary: { readonly steps: readonly { readonly label: string; readonly step: number }[] };
}

test("a folder stands for the files in it, in the order of their numbers; what all of them lack is said once", async () => {
  const place = dump("run");
  const answered = await surprisal(["inspect", place, "--json"]);
  const { summary } = documentOf(answered) as Document;
  expect(summary.steps.map(({ step }) => step)).toEqual([1, 2, 10]);
  const out = folder.path("page.html");
  const { code, stderr } = await surprisal(["report", place, "--out", out]);
  expect(code).toBe(0);
  expect(stderr.match(/^note: .*$/gm)).toEqual([
    `note: ${join(place, "1.jsonl")}:1: output: decoded text without ids: per-token statistics would need a tokenizer, and be of re-tokenised text; the same in 2 other files`,
  ]);
  expect(readFileSync(out, "utf8")).toContain(`${join(place, "10.jsonl")}, step 10`);
});

test("files in the order of a shell are shown in the order of their steps", async () => {
  const place = dump("shell");
  const files = ["1.jsonl", "10.jsonl", "2.jsonl"].map((name) => join(place, name));
  const { summary } = documentOf(await surprisal(["inspect", ...files, "--json"])) as Document;
  expect(summary.steps.map(({ step }) => step)).toEqual([1, 2, 10]);
  // Where two files are of one step, they stay as they were named.
  const twice = documentOf(await surprisal(["inspect", files[1]!, files[0]!, files[1]!, "--json"])) as Document;
  expect(twice.summary.steps.map(({ step }) => step)).toEqual([10, 1, 10]);
});

test("a folder without rollouts is refused by name", async () => {
  const place = folder.path("nothing");
  mkdirSync(place);
  const { code, stderr } = await surprisal(["inspect", place]);
  expect([code, stderr]).toEqual([1, expect.stringContaining(`${place}: no file of rollouts in it`)]);
});

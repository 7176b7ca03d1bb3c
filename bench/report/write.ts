// The page and its chart from the files in bench/results.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness/machine";
import { parseLines } from "../record";
import { toChart } from "./chart";
import { CHART, type ResultFile, toPage } from "./page";

const results = join(root, "bench", "results");

export function readResults(folder = results): ResultFile[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .map((name) => ({ name, lines: parseLines(readFileSync(join(folder, name), "utf8"), name) }));
}

/** What the files say by now, by path below the root. */
export function generated(files: readonly ResultFile[]): Readonly<Record<string, string>> {
  const page = { "docs/performance.md": toPage(files) };
  return files.length === 0 ? page : { ...page, [`docs/${CHART}`]: toChart(files) };
}

/** Writes them; answers their paths. */
export function writePage(): string[] {
  const pages = generated(readResults());
  for (const [path, text] of Object.entries(pages)) writeFileSync(join(root, path), text);
  return Object.keys(pages);
}

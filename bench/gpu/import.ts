// Files what a run of the GPU bundle left behind: npm run gpu:import -- RESULTS_DIR.tar (or RESULTS_DIR)
//
// bench/results/gpu-CARD.jsonl gets the lines of the bench beside torch, gpu-CARD-node.jsonl those of the bench from Node,
// gpu-CARD.json the parts, the suite's counts and the comparison with torch; docs/performance.md is written anew. A run on the emulated backend is refused: it says nothing about a GPU.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../harness/machine";
import { toLines } from "../record";
import { writePage } from "../report/write";
import { type GpuResults, readGpuResults } from "./results";

/** "NVIDIA H200" → "nvidia-h200". */
export function nameOf(card: string): string {
  return card
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
}

/** Why these results are not filed, or undefined where they may be. */
export function refusal({ backend, card, parts, torch }: GpuResults): string | undefined {
  if (backend !== "cuda") return `they were taken on the ${backend} backend: nothing in them is about a GPU`;
  if (parts.length === 0) return "no part ran";
  if (card.commit.endsWith("+"))
    return `they are of a tree with changes that were not committed (${card.commit}): bundle a commit`;
  const wrong = torch?.checks?.filter(({ passed }) => !passed) ?? [];
  if (wrong.length > 0)
    return `${wrong.length} checks against torch failed (${wrong.map(({ op }) => op).join(", ")}): a time of wrong numbers is none`;
  return undefined;
}

/** The files by path below the root. */
export function filed(results: GpuResults): Readonly<Record<string, string>> {
  const { bench, node, ...rest } = results;
  const base = `bench/results/gpu-${nameOf(results.card.machine)}`;
  return {
    [`${base}.json`]: `${JSON.stringify(rest, null, 1)}\n`,
    ...(bench.length > 0 && { [`${base}.jsonl`]: toLines(bench) }),
    ...(node.length > 0 && { [`${base}-node.jsonl`]: toLines(node) }),
  };
}

/** The folder of results: itself, or what the tar file holds, unpacked. */
export function folderOf(path: string): string {
  if (!path.endsWith(".tar")) return path;
  const folder = mkdtempSync(join(tmpdir(), "gpu-results-"));
  const { status, stderr } = spawnSync("tar", ["-xf", path, "-C", folder], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${path}: ${stderr}`);
  const [inside = ""] = readdirSync(folder);
  return join(folder, inside);
}

function main(path: string | undefined): number {
  if (path === undefined || !existsSync(path)) {
    console.error(
      `usage: npm run gpu:import -- RESULTS_DIR.tar\n\n  RESULTS_DIR.tar  what run.sh of the bundle wrote, or the folder${path === undefined ? "" : `; ${path} is not there`}`,
    );
    return 2;
  }
  const results = readGpuResults(folderOf(path));
  const why = refusal(results);
  if (why !== undefined) {
    console.error(`gpu:import: not filed: ${why}`);
    return 1;
  }
  const files = filed(results);
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text);
  for (const path of [...Object.keys(files), ...writePage()]) console.log(path);
  return 0;
}

if (require.main === module) process.exitCode = main(process.argv[2]);

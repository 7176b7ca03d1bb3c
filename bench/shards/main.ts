// npx tsx bench/shards/main.ts [--rollouts 1000000] [--bytes 1000] [--folder DIR]: a data set scored by surprisal reward in one process, in
// two parts and in four, each part a process, all at once. Writes bench/results/shards.json; holds that the files are the same.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machineFacts, root } from "../harness/machine";
import { makeRollouts } from "./make";

const FILES = 8;
const PARTS = [1, 2, 4];

interface Usage {
  readonly megabytes: number;
  readonly cpu: number;
}

interface Taken extends Usage {
  readonly seconds: number;
}

const main = join(root, "dist", "cli", "main.js");

async function run(args: readonly string[], usage: string): Promise<Taken> {
  const start = performance.now();
  const flags = ["--require", join(__dirname, "usage.cjs")];
  const child = spawn(process.execPath, [...flags, main, ...args, "--quiet"], {
    env: { ...process.env, SURPRISAL_BENCH_USAGE: usage },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const code = await new Promise<number | null>((done, fail) => child.on("error", fail).on("close", done));
  if (code !== 0) throw new Error(`surprisal ${args[0]!} ended with ${code}`);
  return { ...(JSON.parse(readFileSync(usage, "utf8")) as Usage), seconds: (performance.now() - start) / 1e3 };
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(file, { highWaterMark: 2 ** 20 }) as AsyncIterable<Buffer>)
    hash.update(piece);
  return hash.digest("hex");
}

async function scored(folder: string, files: readonly string[], parts: number) {
  const out = join(folder, `out-${parts}.jsonl`);
  const place = `${out}.shards`;
  const load = loadavg()[0]!;
  const command = ["reward", ...files, "--scorer", "math", "--out", out];
  const start = performance.now();
  const flags = (part: number): string[] => (parts === 1 ? [] : ["--shard", `${part}/${parts}`]);
  const processes = await Promise.all(
    Array.from({ length: parts }, (_, part) => run([...command, ...flags(part)], join(folder, `usage-${part}`))),
  );
  const merge = parts === 1 ? undefined : await run(["merge", place], join(folder, "usage-merge"));
  const seconds = (performance.now() - start) / 1e3;
  const sha256 = await hashOf(out);
  const bytes = statSync(out).size;
  rmSync(out);
  rmSync(place, { recursive: true, force: true });
  const most = Math.max(...processes.map(({ megabytes }) => megabytes));
  const all = processes.reduce((sum, { megabytes }) => sum + megabytes, 0);
  process.stdout.write(
    `${parts} part(s): ${seconds.toFixed(1)} s, ${most.toFixed(0)} MB a process, ${all.toFixed(0)} MB together\n`,
  );
  return { parts, load, seconds, processes, merge, bytes, sha256 };
}

async function bench(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rollouts: { type: "string", default: "1000000" },
      bytes: { type: "string", default: "1000" },
      folder: { type: "string" },
    },
  });
  const parent = values.folder ?? tmpdir();
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "surprisal-shards-"));
  try {
    const files = await makeRollouts(folder, FILES, Number(values.rollouts), Number(values.bytes));
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
    process.stdout.write(`${values.rollouts} rollouts, ${(bytes / 1e9).toFixed(2)} GB in ${FILES} files\n`);
    const results = [];
    for (const parts of PARTS) results.push(await scored(folder, files, parts));
    if (new Set(results.map(({ sha256 }) => sha256)).size !== 1) throw new Error("the outputs differ");
    const measured = { machine: machineFacts(), rollouts: Number(values.rollouts), bytes, files: FILES, results };
    writeFileSync(join(root, "bench/results/shards.json"), `${JSON.stringify(measured, null, 1)}\n`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

void bench();

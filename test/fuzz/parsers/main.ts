// npx tsx --expose-gc test/fuzz/parsers/main.ts --seed 1 --runs 1000 --corpus FOLDER [--keep] [--only npz]
//
// A coverage-guided fuzzer of everything that reads files. A run changes a file that is known and has it read. A file by which a block
// of our code runs that never ran before is known from then on; with --keep the small ones of these are written to the corpus.
//
// Each run must end with an answer or a SurprisalError, within its limit of processor time, with the prototypes of JavaScript as they
// were, and in bounded memory. The last line is JSON: what was done, and what was found. A file under way lies in FOLDER/../under-way.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { SurprisalError } from "../../../lib";
import { type Draw, fresh } from "../draw";
import { Blocks } from "./blocks";
import { LAYOUTS } from "./layouts";
import { mutate } from "./mutate";
import { makeTargets, type Target } from "./targets";

const { values: options } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    runs: { type: "string", default: "1000" },
    corpus: { type: "string" },
    keep: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    "under-way": { type: "string" },
  },
});
const MIB = 1 << 20;
const LIMIT = { seconds: 20, arrayBuffers: 256 * MIB, heap: 512 * MIB } as const;
const MOST_BYTES = 1 << 16; // of a file: a longer one shows nothing that this one does not
const MOST_KEPT = 4096; // bytes of a file in the corpus

/** What scripts may not change: the names of each prototype's properties. */
const PROTOTYPES = [Object, Array, Function, String, Number, Map, Promise, Uint8Array, Error].map(
  (made) => made.prototype as object,
);
const properties = (): string => PROTOTYPES.map((one) => Reflect.ownKeys(one).map(String).join()).join(";");
const clean = properties();

/** Objects of a result whose prototype is neither that of objects nor none. */
function strange(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || depth > 6) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const own =
    Array.isArray(value) || prototype === null || prototype === Object.prototype || prototype === Map.prototype;
  return !own || Object.values(value).some((inner) => strange(inner, depth + 1));
}

/** What is wrong with reading this file; undefined where nothing is. */
async function wrongWith(target: Target, file: Buffer): Promise<string | undefined> {
  const before = process.memoryUsage();
  const start = process.cpuUsage();
  let complaint: string | undefined;
  try {
    if (strange(await target.read(file))) complaint = "an object of the result has another prototype";
  } catch (error) {
    if (!(error instanceof SurprisalError))
      complaint = `it threw ${error instanceof Error ? error.stack : String(error)}`;
  }
  const { user, system } = process.cpuUsage(start);
  const after = process.memoryUsage();
  if (properties() !== clean) complaint ??= "a prototype was changed";
  if ((user + system) / 1e6 > LIMIT.seconds) complaint ??= `it took ${(user + system) / 1e6} s`;
  if (after.arrayBuffers - before.arrayBuffers > LIMIT.arrayBuffers) complaint ??= "it took more than 256 MiB";
  if (after.heapUsed - before.heapUsed > LIMIT.heap) complaint ??= "its heap grew by more than 512 MiB";
  return complaint;
}

/** A file made of a known one. */
function made(d: Draw, target: Target, known: readonly Buffer[]): Buffer {
  const [file, other] = [d.pick(known), d.pick(known)];
  const layout = LAYOUTS[target.layout];
  if (d.unit() < 0.75)
    try {
      const parts = layout.parts(file);
      const at = d.int(0, parts.length - 1);
      const foreign = layout.parts(other);
      return layout.whole(
        parts.map((part, i) => (i === at ? mutate(d, part, foreign[Math.min(i, foreign.length - 1)]!) : part)),
        file,
      );
    } catch {
      // A file that is damaged already: its bytes.
    }
  return mutate(d, file, other);
}

const folderOf = (name: string): string => join(options.corpus!, name.replaceAll(" ", "-"));

function corpusOf(name: string): Buffer[] {
  if (options.corpus === undefined || !existsSync(folderOf(name))) return [];
  return readdirSync(folderOf(name))
    .sort()
    .map((file) => readFileSync(join(folderOf(name), file)));
}

function keep(name: string, file: Buffer): void {
  if (!options.keep || file.length > MOST_KEPT) return;
  mkdirSync(folderOf(name), { recursive: true });
  writeFileSync(join(folderOf(name), createHash("sha256").update(file).digest("hex").slice(0, 12)), file);
}

let ended = false;
// A promise that nothing will settle keeps no process alive.
process.on("exit", () => {
  if (ended || process.exitCode) return;
  console.error("a read never ended: nothing was left that it could wait for");
  process.exitCode = 1;
});

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-parsers-"));
  const targets = Object.entries(await makeTargets(folder)).filter(([name]) => name.includes(options.only));
  rmSync(folder, { recursive: true });
  const blocks = new Blocks((url) => /\/lib\/(io|control|core)\//.test(url));
  const found: { target: string; complaint: string; file: string }[] = [];
  const kept: Record<string, number> = {};
  const runs = Number(options.runs);
  const weights = targets.reduce((sum, [, { weight }]) => sum + weight, 0);
  let done = 0;

  const attempt = async (name: string, target: Target, file: Buffer): Promise<boolean> => {
    if (options["under-way"] !== undefined) writeFileSync(options["under-way"], file);
    const complaint = await wrongWith(target, file);
    ++done;
    if (complaint !== undefined && found.length < 20)
      found.push({ target: name, complaint, file: file.toString("base64") });
    return blocks.fresh() > 0;
  };

  for (const [name, target] of targets) {
    const known = [...target.seeds];
    for (const file of [...target.seeds, ...corpusOf(name)]) if (await attempt(name, target, file)) known.push(file);
    const share = Math.ceil((runs * target.weight) / weights);
    for (let run = 0; run < share; ++run) {
      const file = made(fresh(Number(options.seed) * 1e6 + run), target, known);
      if (file.length > MOST_BYTES || !(await attempt(name, target, file))) continue;
      known.push(file);
      keep(name, file);
    }
    kept[name] = known.length - target.seeds.length;
    // Between turns, so that what is pending ends.
    await new Promise((next) => setImmediate(next));
  }
  ended = true;
  const maxRss = process.resourceUsage().maxRSS * 1024;
  console.log(JSON.stringify({ done, blocks: blocks.all, kept, maxRss, found }));
  blocks.close();
}

void main();

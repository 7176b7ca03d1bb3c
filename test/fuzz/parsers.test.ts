// Everything that reads files, under a fuzzer that V8's own counters guide (test/fuzz/parsers). Here what lies in the corpus and a few
// hundred files more; `npm run test:long -- parsers` makes a million, and
//
//   npx tsx test/fuzz/parsers/main.ts --runs 100000 --seed 7 --corpus test/fuzz/corpus/parsers --keep
//
// adds to the corpus what reaches new code.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HANG_MS } from "../support/hang";

const root = join(__dirname, "../..");
const LONG = process.env.SURPRISAL_LONG === "1";
const RUNS = process.env.SURPRISAL_FUZZ_FILES || (LONG ? "1000000" : "500");
const SEED = process.env.SURPRISAL_FUZZ_SEED || "1";
const TIMEOUT = LONG ? 24 * 60 * 60_000 : HANG_MS;

interface Outcome {
  readonly done: number;
  readonly blocks: number;
  readonly kept: Readonly<Record<string, number>>;
  readonly maxRss: number;
  readonly found: readonly unknown[];
}

test(
  "files of every layout and dialect, changed a little: an answer or a SurprisalError, soon, in bounded memory, no prototype changed",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "surprisal-parsers-"));
    const underWay = join(folder, "file");
    const args = [
      "--seed",
      SEED,
      "--runs",
      RUNS,
      "--corpus",
      join(__dirname, "corpus/parsers"),
      "--under-way",
      underWay,
    ];
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(root, "node_modules/tsx/dist/cli.mjs"), join(__dirname, "parsers/main.ts"), ...args],
      { encoding: "utf8", timeout: TIMEOUT, maxBuffer: 1 << 28 },
    );
    // Of one that hangs or takes the process with it, the file that was being read.
    const last = status !== 0 && existsSync(underWay) ? readFileSync(underWay).toString("base64") : undefined;
    rmSync(folder, { recursive: true });
    expect({ status, stderr, last }).toEqual({ status: 0, stderr: "", last: undefined });
    const outcome = JSON.parse(stdout) as Outcome;
    expect(outcome.found).toEqual([]);
    expect(outcome.done).toBeGreaterThan(Number(RUNS));
    // It is guided: files were found that reach what the samples do not.
    expect(outcome.blocks).toBeGreaterThan(500);
    expect(Object.keys(outcome.kept)).toHaveLength(15);
    expect(outcome.maxRss).toBeLessThan(1.5 * 2 ** 30);
  },
  TIMEOUT,
);

// What many calls and many workers leave behind: nothing. `npm run test:long -- endurance` makes 100 000 calls of every op, and
// starts 200 workers.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { backendInfo } from "../../lib";
import { CALLS } from "../fuzz/calls";
import type { Held } from "../fuzz/endure";
import { distFile } from "../support/dist";
import { HANG_MS } from "../support/hang";

const LONG = process.env.SURPRISAL_LONG === "1";
const root = join(__dirname, "../..");
const LIMIT = LONG ? 6 * 60 * 60_000 : HANG_MS;
const { available, reason } = backendInfo().backends.find(({ name }) => name === "cpu")!;

function run(args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: LIMIT });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout) as {
    readonly before: Held;
    readonly after: Held;
    readonly ops?: number;
    readonly sizes?: readonly number[];
  };
}

/** No file and no thread more than before; no array kept. The size of a process says something only after very many calls. */
function expectNothingLeft({ before, after }: { readonly before: Held; readonly after: Held }): void {
  expect(after.files).toBeLessThanOrEqual(before.files);
  expect(after.threads).toBeLessThanOrEqual(before.threads);
  expect(after.arrayBuffers).toBeLessThanOrEqual(before.arrayBuffers + 65_536);
}

/** A heap breathes by some percent: what a leak raises is the least that it comes down to. */
function expectFlat(sizes: readonly number[]): void {
  const half = sizes.length / 2;
  expect(Math.min(...sizes.slice(half)) / Math.min(...sizes.slice(0, half))).toBeLessThan(1.01);
}

(available ? test : test.skip)(
  `many calls of every op on cpu leave no file, no thread and no memory${available ? "" : ` (skipped: ${reason})`}`,
  () => {
    const tsx = join(root, "node_modules/tsx/dist/cli.mjs");
    const program = join(root, "test/fuzz/endure.ts");
    const flags = ["--expose-gc", "--max-semi-space-size=1"];
    const result = run([tsx, ...flags, program, LONG ? "100000" : "400"]);
    expect(result.ops).toBe(Object.keys(CALLS).length);
    expectNothingLeft(result);
    if (LONG) expectFlat(result.sizes!);
  },
  LIMIT,
);

const WORKERS = LONG ? 200 : 16;

(existsSync("/proc/self/task") ? test : test.skip)(
  `${WORKERS} workers that compute, four at a time, leave no file and no thread (needs /proc)`,
  () => {
    const program = `
      const { readdirSync } = require("node:fs");
      const { Worker } = require("node:worker_threads");
      const body = ${JSON.stringify(`
        const s = require(${JSON.stringify(distFile())});
        const { advantages } = s.gae(Float32Array.of(1, 2), new Float32Array(2), { shape: [1, 2], gamma: 1, lambda: 1 });
        require("node:worker_threads").parentPort.postMessage(advantages[0]);
        if (Math.random() < 0.5) process.exit();
      `)};
      const work = () => new Promise((done, fail) => {
        let sum;
        new Worker(body, { eval: true }).on("message", (value) => (sum = value)).on("error", fail).on("exit", () => done(sum));
      });
      async function held() {
        for (let turn = 0; turn < 3; ++turn) { gc(); await new Promise((next) => setImmediate(next)); }
        const { rss, arrayBuffers } = process.memoryUsage();
        return { rss, arrayBuffers, files: readdirSync("/proc/self/fd").length, threads: readdirSync("/proc/self/task").length };
      }
      (async () => {
        const four = async () => { for (const sum of await Promise.all([work(), work(), work(), work()])) if (sum !== 3) throw new Error("a worker gave " + sum); };
        for (let i = 0; i < 2; ++i) await four();
        const before = await held();
        for (let i = 0; i < ${WORKERS / 4}; ++i) await four();
        const after = await held();
        // The heaps of ended workers come and go: no law for the size of the process.
        console.log(JSON.stringify({ before, after: { ...after, rss: Math.min(after.rss, before.rss) } }));
      })();`;
    expectNothingLeft(run(["--expose-gc", "-e", program]));
  },
  LIMIT,
);

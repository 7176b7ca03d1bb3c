// The cpu backend's threads: how many is a setting that changes no bit, and calls that have them under way survive what
// happens around them. The latter cases are processes of their own.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { distFile } from "../support/dist";
import {
  backendInfo,
  configure,
  divergence,
  divergenceBackward,
  linearLogprob,
  linearLogprobBackward,
  logprob,
  logprobBackward,
  quantileMask,
  rowLoss,
  tokenLoss,
} from "../../lib";
import { probe } from "../../lib/backend/probe";
import { errorCode } from "../support/error-code";
import { rng } from "../support/rng";
import { HANG_MS } from "../support/hang";

const dist = JSON.stringify(distFile());
const { status } = probe("cpu", 0);
const why = status.available ? "" : ` (skipped: ${status.reason ?? ""})`;

function run(program: string, env: Record<string, string> = {}) {
  return spawnSync(process.execPath, ["-e", `const s = require(${dist}); ${program}`], {
    encoding: "utf8",
    timeout: HANG_MS,
    env: { ...process.env, ...env },
  });
}

/** The bits of every array in a result, by where it stands: short to compare. */
function digests(value: unknown): unknown {
  if (ArrayBuffer.isView(value))
    return createHash("sha1")
      .update(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
      .digest("hex");
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, digests(inner)]));
}

const ended = (stdout: string) => ({ stdout, stderr: "", status: 0, signal: null });
const runs = (program: string, env?: Record<string, string>) => {
  const { stdout, stderr, status, signal } = run(program, env);
  return { stdout, stderr, status, signal };
};

(status.available ? describe : describe.skip)(`threads of the cpu backend${why}`, () => {
  afterEach(() => {
    configure({ threads: undefined });
  });

  test("configure says how many; the default is what the process may use", () => {
    const given = backendInfo().threads;
    expect(given).toBeGreaterThanOrEqual(1);
    configure({ threads: 3 });
    expect(backendInfo().threads).toBe(3);
    configure({ threads: undefined });
    expect(backendInfo().threads).toBe(given);
  });

  test.each([0, -1, 1.5, 1025, NaN, "2"])("threads: %p is refused, and what was set stays", (threads) => {
    configure({ threads: 2 });
    expect(errorCode(() => configure({ threads: threads as number }))).toBe("ERR_SURPRISAL_OPTION");
    expect(backendInfo().threads).toBe(2);
  });

  test("SURPRISAL_THREADS is obeyed or refused, and configure outranks it", () => {
    const program = `const first = s.backendInfo().threads; s.configure({ threads: 5 }); console.log(first, s.backendInfo().threads)`;
    expect(runs(program, { SURPRISAL_THREADS: "4" })).toEqual(ended("4 5\n"));
    const refused = `try { s.backendInfo() } catch (e) { console.log(e.code, e.message) }`;
    expect(run(refused, { SURPRISAL_THREADS: "many" }).stdout).toMatch(
      /^ERR_SURPRISAL_OPTION SURPRISAL_THREADS.*"many".*\[1, 1024\]/,
    );
  });

  // Large enough to be cut into pieces, with rows that do not divide evenly; one wide row is a piece of its own.
  test("the number of threads changes no bit", () => {
    const [N, V, D] = [67, 4099, 24];
    const [x, y] = [rng(1).normal(N * V, 0, 4), rng(2).normal(N * V, 0, 4)];
    const [hidden, weight] = [rng(3).normal(N * D), rng(4).normal(V * D, 0, 0.3)];
    const targets = rng(5).i32(N, 0, V);
    const mask = rng(6).mask(N, 0.8);
    const [gradLogProbs, advantages] = [rng(7).normal(N), rng(8).normal(N)];
    const logits = { shape: [N, V] as const, mask, backend: "cpu" as const };
    const head = { shape: [N, D] as const, mask, backend: "cpu" as const };
    const tokens = {
      logProbs: x,
      oldLogProbs: y,
      advantages,
      shape: [N, V] as const,
      clipLow: 0.2,
      clipHigh: 0.2,
      backend: "cpu" as const,
    };
    const all = (threads: number) => {
      configure({ threads });
      const state = logprob(x, targets, logits);
      const linear = linearLogprob(hidden, weight, targets, head);
      return digests({
        state,
        linear,
        logits: logprobBackward(x, targets, state, { ...logits, gradLogProbs }),
        head: linearLogprobBackward(hidden, weight, targets, linear, {
          ...head,
          gradLogProbs,
          gradients: ["hidden", "weight"],
        }),
        divergences: divergence(x, y, { ...logits, beta: 0.4 }),
        student: divergenceBackward(x, y, gradLogProbs, { ...logits, beta: 0.4 }),
        quantiles: quantileMask(x, { shape: [N, V], over: "row", q: 0.9, backend: "cpu" }),
        tokenLoss: tokenLoss({ ...tokens, form: "clip" }),
        rowLoss: rowLoss({ ...tokens, form: "clip" }),
      });
    };
    const alone = all(1);
    expect(all(7)).toEqual(alone);
  });

  const LARGE = `const logits = new Float32Array(64 * 32000);
    const call = () => s.logprob(logits, null, { shape: [64, 32000], backend: "cpu" }).entropies[63].toFixed(4);
    s.configure({ threads: 3 });`;

  /** A worker that makes calls for ever, and how the main thread waits for the first of them. */
  const forEver = JSON.stringify(
    `const s = require(${dist}); ${LARGE} const { calls } = require("node:worker_threads").workerData;
      for (;;) { call(); Atomics.add(calls, 0, 1); Atomics.notify(calls, 0); }`,
  );
  const WORKER = `${LARGE} const { Worker } = require("node:worker_threads");
    const calls = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(${forEver}, { eval: true, workerData: { calls } });
    const started = async () => { await Atomics.waitAsync(calls, 0, 0).value; };`;

  test("three workers and the main thread make large calls at once", () => {
    const body = JSON.stringify(
      `const s = require(${dist}); ${LARGE} let last; for (let i = 0; i < 4; ++i) last = call(); require("node:worker_threads").parentPort.postMessage(last);`,
    );
    const program = `${LARGE} const { Worker } = require("node:worker_threads");
      const work = () => new Promise((done, fail) => new Worker(${body}, { eval: true }).on("message", done).on("error", fail));
      const together = [work(), work(), work()];
      for (let i = 0; i < 4; ++i) call();
      Promise.all(together).then((results) => console.log([...results, call()].join(" ")));`;
    expect(runs(program)).toEqual(ended("10.3735 10.3735 10.3735 10.3735\n"));
  });

  test("a worker is terminated in the middle of large calls, and the pool goes on", () => {
    const program = `${WORKER} started().then(() => worker.terminate()).then(() => console.log(call()));`;
    expect(runs(program)).toEqual(ended("10.3735\n"));
  });

  test("process.exit while a worker and a promise have large calls under way", () => {
    const program = `${WORKER} started().then(() => {
        void s.logprobAsync(logits, null, { shape: [64, 32000], backend: "cpu" });
        setImmediate(() => { console.log("bye"); process.exit(0); });
      });`;
    expect(runs(program)).toEqual(ended("bye\n"));
  });

  test("a child process forked in the middle of a call computes as well", () => {
    const child = JSON.stringify(`const s = require(${dist}); ${LARGE} console.log(call())`);
    const program = `${LARGE} const pending = s.logprobAsync(logits, null, { shape: [64, 32000], backend: "cpu" });
      const { execFileSync } = require("node:child_process");
      process.stdout.write(execFileSync(process.execPath, ["-e", ${child}]));
      pending.then(({ entropies }) => console.log(entropies[63].toFixed(4)));`;
    expect(runs(program)).toEqual(ended("10.3735\n10.3735\n"));
  });

  test("threads of the pool are started once, whatever the number of workers", () => {
    const body = JSON.stringify(
      `const s = require(${dist}); ${LARGE} call(); require("node:worker_threads").parentPort.postMessage(0);`,
    );
    const program = `${LARGE} const { Worker } = require("node:worker_threads"); const { readdirSync, readFileSync } = require("node:fs");
      const own = () => readdirSync("/proc/self/task").filter((id) => readFileSync("/proc/self/task/" + id + "/comm", "utf8") === "surprisal\\n").length;
      (async () => {
        for (let i = 0; i < 3; ++i) await new Promise((done) => new Worker(${body}, { eval: true }).on("exit", done));
        call();
        console.log(own());
      })();`;
    if (process.platform === "linux") expect(runs(program)).toEqual(ended("2\n"));
  });
});

// The addon in worker threads, at process exit and with calls under way. Each case is a process of its own: what goes
// wrong here ends a process, not a test.
import { spawnSync } from "node:child_process";
import { distFile } from "../support/dist";
import { HANG_MS } from "../support/hang";

const dist = JSON.stringify(distFile());

function run(program: string) {
  return spawnSync(process.execPath, ["-e", program], { encoding: "utf8", timeout: HANG_MS });
}

const GAE = `const s = require(${dist});
const gae = () => s.gae(Float32Array.of(1, 2), new Float32Array(2), { shape: [1, 2], gamma: 1, lambda: 1 }).advantages[0];
`;

test("five workers one after the other, and three at once beside the main thread, all compute", () => {
  const program = `${GAE}
    const { Worker } = require("node:worker_threads");
    const body = ${JSON.stringify(GAE)} + "let sum = 0; for (let i = 0; i < 1000; ++i) sum += gae(); require('node:worker_threads').parentPort.postMessage(sum);";
    const work = () => new Promise((done, fail) => new Worker(body, { eval: true }).on("message", done).on("error", fail));
    (async () => {
      const sums = [];
      for (let i = 0; i < 5; ++i) sums.push(await work());
      const together = [work(), work(), work()];
      for (let i = 0; i < 1000; ++i) gae();
      sums.push(...(await Promise.all(together)));
      console.log(JSON.stringify(sums));
    })();`;
  const { stdout, stderr, status } = run(program);
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  expect(JSON.parse(stdout)).toEqual(Array(8).fill(3000));
});

test("a worker that is terminated in the middle of calls takes nothing with it", () => {
  const program = `${GAE}
    const { Worker } = require("node:worker_threads");
    const body = ${JSON.stringify(GAE)} + "require('node:worker_threads').parentPort.postMessage('go'); for (;;) gae();";
    const worker = new Worker(body, { eval: true });
    worker.once("message", async () => { await worker.terminate(); console.log(gae()); });`;
  const { stdout, stderr, status } = run(program);
  expect({ stdout, stderr, status }).toEqual({ stdout: "3\n", stderr: "", status: 0 });
});

test("process.exit with asynchronous calls under way ends the process normally", () => {
  const program = `const s = require(${dist});
    const logits = new Float32Array(64 * 32000), targets = new Int32Array(64);
    for (let i = 0; i < 4; ++i) void s.logprobAsync(logits, targets, { shape: [64, 32000] });
    setImmediate(() => process.exit(0));`;
  const { stderr, status, signal } = run(program);
  expect({ stderr, status, signal }).toEqual({ stderr: "", status: 0, signal: null });
});

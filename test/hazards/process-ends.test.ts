// A process may end at any moment: before the first call, inside of one, with calls under way, in its last handlers. It ends as it was
// told to, and prints nothing of its own.
import { spawnSync } from "node:child_process";
import { backendInfo } from "../../lib";
import { distFile } from "../support/dist";
import { HANG_MS } from "../support/hang";

const PROGRAM = `const s = require(${JSON.stringify(distFile())});
const backend = process.argv[1];
const gae = () => s.gae(Float32Array.of(1, 2), new Float32Array(2), { shape: [1, 2], gamma: 1, lambda: 1, backend });
const logits = new Float32Array(32 * 8000), targets = new Int32Array(32);
const later = () => s.logprobAsync(logits, targets, { shape: [32, 8000], backend });
`;

/** What the program does, its exit code, the signal that ends it, and what Node says. */
const ENDS: Readonly<
  Record<string, readonly [program: string, status: number | null, signal?: NodeJS.Signals, says?: RegExp]>
> = {
  "nothing was called": ["process.exit(5)", 5],
  "after a call": ["gae(); process.exit(5)", 5],
  "of its own accord, with asynchronous calls under way": ["for (let i = 0; i < 8; ++i) void later();", 0],
  "with calls that wait for a thread": ["for (let i = 0; i < 64; ++i) void later(); process.exit(5)", 5],
  "in the turn in which a call is done": ["later().then(() => process.exit(5)); void later();", 5],
  "with a call in the handler of exit": ["process.on('exit', () => gae()); gae();", 0],
  "with a call that begins in the handler of exit": ["process.on('exit', () => void later()); gae();", 0],
  "with calls in beforeExit": [
    "let left = 3; process.on('beforeExit', () => { if (left-- > 0) void later(); }); gae();",
    0,
  ],
  "by an error that nobody catches": [
    "later().then(() => { throw new Error('x'); }); void later();",
    1,
    undefined,
    /^[^\n]*\n[^\n]*\n[ ^]*\n\nError: x\n( +at [^\n]*\n)+\nNode.js [^\n]*\n$/,
  ],
  "by a signal": ["for (let i = 0; i < 8; ++i) void later(); process.kill(process.pid, 'SIGTERM');", null, "SIGTERM"],
  "while another thread computes": [
    `const { Worker, isMainThread } = require("node:worker_threads");
     new Worker("const s = require(" + ${JSON.stringify(JSON.stringify(distFile()))} + "); require('node:worker_threads').parentPort.postMessage(0);" +
       "for (;;) s.gae(Float32Array.of(1, 2), new Float32Array(2), { shape: [1, 2], gamma: 1, lambda: 1 });", { eval: true })
       .once("message", () => process.exit(5));`,
    5,
  ],
};

const backends = backendInfo().backends.filter(({ name }) => name !== "cuda");
for (const { name, available, reason } of backends)
  if (!available) test.skip(`${name} is not here: ${reason}`, () => undefined);

describe.each(backends.filter(({ available }) => available).map(({ name }) => name))("on %s", (backend) => {
  test.each(Object.entries(ENDS))("%s", (_, [program, status, signal, says = /^$/]) => {
    const ended = spawnSync(process.execPath, ["-e", PROGRAM + program, backend], {
      encoding: "utf8",
      timeout: HANG_MS,
    });
    expect({ stdout: ended.stdout, stderr: ended.stderr, status: ended.status, signal: ended.signal }).toEqual({
      stdout: "",
      stderr: expect.stringMatching(says) as string,
      status,
      signal: signal ?? null,
    });
  });
});

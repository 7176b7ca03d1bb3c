// The installed package in Bun and Deno: each backend computes there what it computes in Node, and files are read alike.
import { existsSync, rmSync } from "node:fs";
import * as path from "node:path";
import { HANG_MS } from "../support/hang";
import { otherRuntimes } from "../support/nodes";
import { installTarball, type Consumer } from "./consumer";

const BUILT = path.join(__dirname, "../../build/Release");
const MODULE = path.join(__dirname, "../../build-wasm/surprisal.wasm");

/** A call of each kind: off the event loop too, refused, of a file in the package's own format and packed. */
const PROGRAM = `
import { gzipSync } from "node:zlib";
import { writeFileSync } from "node:fs";
import { backendInfo, computeAdvantages, configure, findSpans, logprob, logprobAsync } from "surprisal";
import { readAllRollouts, toBatch } from "surprisal/io";
import { mathReward } from "surprisal/reward";
import { renderTerminal, summarize } from "surprisal/report";

configure({ warnings: false });
const shape = [4, 32768];
const logits = Float32Array.from({ length: shape[0] * shape[1] }, (_, i) => 8 * Math.fround(((i * 7919) % 10007) / 10007));
const targets = Int32Array.of(1, 2, 3, 32767);
const now = logprob(logits, targets, { shape });
const later = await logprobAsync(logits, targets, { shape });
let refused;
try { logprob(logits, Int32Array.of(1, 2, 3, 32768), { shape }); } catch (error) { refused = [error.code, error.message]; }

const lines = [1, 0, 0.5, 1].map((reward, i) => JSON.stringify({ group: i >> 1, reward, sampler_logprobs: [-0.5, -i] })).join("\\n");
writeFileSync("rollouts.jsonl.gz", gzipSync(lines));
const { rollouts } = await readAllRollouts("rollouts.jsonl.gz");
const { rowAdvantages } = computeAdvantages("grpo", toBatch(rollouts));
const spans = findSpans(BigInt64Array.of(9n, 1n, 5n, 5n, 2n), { start: [1], end: [2] });

console.log(JSON.stringify({
  selected: backendInfo().selected,
  now: [...now.logProbs, ...now.entropies],
  later: [...later.logProbs, ...later.entropies],
  refused,
  rowAdvantages: [...rowAdvantages],
  spans: Object.values(spans).map(String),
  rewards: (await mathReward(["so it is \\\\boxed{7}"], [7])).map(({ reward }) => reward),
  report: renderTerminal(summarize([{ label: "one", rollouts }])).length > 0,
}));
`;

const WITHOUT_WEBASSEMBLY = `delete globalThis.WebAssembly;\n`;

interface Said {
  readonly selected: string;
  readonly now: number[];
  readonly later: number[];
}

const [addon, wasm] = [existsSync(path.join(BUILT, "surprisal.node")), existsSync(MODULE)];
const CASES = [
  { title: "the addon", backend: "cpu", env: { SURPRISAL_NATIVE_PATH: BUILT }, first: "", missing: addon ? "" : "no addon was built" }, // oxfmt-ignore
  { title: "without the addon", backend: "wasm", env: { SURPRISAL_NATIVE_PATH: "" }, first: "", missing: wasm ? "" : "no WebAssembly module was built" }, // oxfmt-ignore
  { title: "without the addon and WebAssembly", backend: "js", env: { SURPRISAL_NATIVE_PATH: "" }, first: WITHOUT_WEBASSEMBLY, missing: "" }, // oxfmt-ignore
];

let consumer: Consumer;
beforeAll(() => {
  consumer = installTarball();
  // What is not there, on a platform that no addon was built for.
  rmSync(path.join(consumer.folder, "node_modules/surprisal/prebuilds"), { recursive: true, force: true });
});
afterAll(() => {
  consumer.remove();
});

describe.each(otherRuntimes)("$name", ({ name, program, run, env: own }) => {
  if (program === undefined) {
    test.skip(`the package in ${name}: not installed, "npm run nodes" does`, () => undefined);
    return;
  }
  for (const { title, backend, env, first, missing } of CASES)
    if (missing) test.skip(`${title}: ${missing}`, () => undefined);
    else
      test(
        `${title}: auto takes ${backend}, and computes what Node does`,
        () => {
          const given = { SURPRISAL_BACKEND: "", NODE_OPTIONS: "", ...own, ...env };
          // What stands above the imports runs behind them, and before the first call, which chooses the backend.
          const said = (by?: readonly string[]): Said =>
            JSON.parse(consumer.run("program.mjs", first + PROGRAM, given, by)) as Said;
          const here = said();
          const there = said([program, ...run]);
          expect(here.selected).toBe(backend);
          expect(there.later).toEqual(there.now);
          if (backend !== "js") return expect(there).toEqual(here);
          // Math.exp is the engine's own: its last bit may differ.
          const close = (numbers: readonly number[]) => numbers.map((x) => expect.closeTo(x, 5) as number);
          expect(there).toEqual({ ...here, now: close(here.now), later: close(here.later) });
        },
        HANG_MS,
      );
});

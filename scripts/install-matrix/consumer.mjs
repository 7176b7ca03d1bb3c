// A package of somebody else's that uses this one: what it runs, and what its answer has to be.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { attempt } from "../build/run.mjs";
import { work } from "./tools.mjs";

/** Computes a log-prob on `auto` and on js, and prints what ran it: more than 64 KiB, so that auto chooses for speed. */
const BODY = `
const n = 32768;
const logits = Float32Array.from({ length: 2 * n }, (_, i) => Math.sin(i));
const call = (backend) => logprob(logits, Int32Array.of(3, 4), { shape: [2, n], backend }).logProbs;
const [auto, js] = [call("auto"), call("js")];
if (Math.abs(auto[1] - js[1]) > 1e-5) throw new Error(auto[1] + " is not " + js[1]);
console.log("ran on " + backendInfo().selected);
`;

const PROGRAMS = {
  "main.cjs": `const { logprob, backendInfo } = require("surprisal");${BODY}`,
  "main.mjs": `import { logprob, backendInfo } from "surprisal";${BODY}`,
  "main.ts": `import { logprob, backendInfo } from "surprisal";
import { codeReward } from "surprisal/reward";
const n = 32768;
const rows: Float32Array = new Float32Array(2 * n);
const { logProbs } = logprob(rows, Int32Array.of(3, 4), { shape: [2, n], backend: "js" });
console.log(logProbs[0]!.toFixed(3), backendInfo().selected, typeof codeReward);
`,
};

/** An empty folder with those programs and a manifest. */
export function makeConsumer(name, manifest = {}) {
  const folder = join(work, "consumers", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "consumer", version: "1.0.0", private: true, ...manifest }),
  );
  for (const [file, text] of Object.entries(PROGRAMS)) writeFileSync(join(folder, file), text);
  return folder;
}

export function write(folder, file, text) {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

/** Runs a program in the folder. What it printed; a failure is an error with its last lines. */
export async function ran(folder, command, args, env = {}) {
  const { status, stdout, stderr } = await attempt(command, args, {
    cwd: folder,
    env: { SURPRISAL_BACKEND: "", ...env },
  });
  if (status === 0) return stdout;
  const lines = (stdout + stderr).trim().split("\n");
  const wrong = lines.filter((line) => /error/i.test(line));
  throw new Error(
    `${command.split("/").at(-1)} ended with ${status}: ${(wrong.length > 0 ? wrong : lines).slice(0, 3).join(" | ").slice(0, 300)}`,
  );
}

/** Needs the answer of the native addon. */
export function onCpu(printed) {
  const found = /ran on (\w+)/.exec(printed);
  if (found?.[1] !== "cpu") throw new Error(`${found ? found[0] : printed.slice(0, 200)}, not on cpu`);
  return "native";
}

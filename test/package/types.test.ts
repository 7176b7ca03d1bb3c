// The declarations as users compile them: with the oldest and the newest TypeScript, without @types/node, every library file checked.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { distFile } from "../support/dist";

const CASES = [
  ["5.4", "nodenext", require.resolve("typescript-5.4/bin/tsc"), { module: "nodenext", moduleResolution: "nodenext" }],
  ["the newest", "bundler", require.resolve("typescript/bin/tsc"), { module: "esnext", moduleResolution: "bundler" }],
] as const;

const PROGRAM = `
import { clippedObjective, computeAdvantages, gae, logprob, logprobBackward, policyLoss, type PolicyLossOptions, ppoLoss, SurprisalError, tokenLoss } from "surprisal";
import { createCollective, watchWorker } from "surprisal/collective";
import { readRollouts } from "surprisal/io";
import { mathReward } from "surprisal/reward";
import { ExperienceMaker } from "surprisal/experience";
import { renderHtml } from "surprisal/report";

export const all = [computeAdvantages, createCollective, watchWorker, readRollouts, mathReward, ExperienceMaker, renderHtml, SurprisalError];
export const options: PolicyLossOptions = { kl: { coefficient: 0.1 } };
const { logProbs } = logprob(new Float32Array(6), [0, 1], { shape: [2, 3] });
export const half: Float32Array = logProbs;
const batch = { shape: [2, 1], logProbs, advantages: new Float32Array(2), advantagesPer: "row" } as const;
// @ts-expect-error a clip width has no default
policyLoss("ppo", batch, {});
// @ts-expect-error nor has one of two
ppoLoss(batch, { clipLow: 0.2 });
policyLoss("reinforce", batch);
export const losses = [policyLoss("ppo", batch, { clip: 0.2 }), ppoLoss(batch, { clipLow: 0.2, clipHigh: 0.28 })];
export const { advantages } = gae(new Float32Array(2), new Float32Array(2), { shape: [1, 2], gamma: 1, lambda: 1 });

// Of float32 alone a call returns float32; of plain arrays, or of both types, one or the other.
const x = new Float32Array(2);
const rows = { shape: [1, 2] } as const;
export const narrow: readonly Float32Array[] = [
  advantages,
  tokenLoss({ ...rows, form: "linear", logProbs: x, advantages: x, outputs: ["losses"] }).losses,
  clippedObjective(x, x, x, { ...rows, level: "token", clipLow: 0.2, clipHigh: 0.2, advantagesPer: "token" }).gradLogProbs,
  policyLoss("reinforce", batch).gradLogProbs,
  computeAdvantages("grpo", { rewards: x, groups: [1, 1] }).advantages,
];
const loss = tokenLoss({ form: "linear", logProbs: [[-1, -2]], advantages: [1], outputs: ["losses"] });
// @ts-expect-error which was not asked for
loss.ratios;
// @ts-expect-error plain arrays are computed in float64
export const wide: Float32Array = loss.losses;
// @ts-expect-error so is what is float64 in part
export const mixed: Float32Array = gae(x, new Float64Array(2), { ...rows, gamma: 1, lambda: 1 }).advantages;
// @ts-expect-error no option of it
gae(x, x, { ...rows, gamma: 1, lambda: 1, lamda: 1 });
clippedObjective([[-1, -2]], [[-1, -2]], [1], { level: "sequence", clipLow: 0.2, clipHigh: 0.2 });
const logits = [[1, 2, 3]];
const state = logprob(logits, [1]);
export const gradient: Float32Array = logprobBackward(logits, [1], state, { gradLogProbs: [1] });
export const halves: Uint16Array = logprobBackward(new Uint16Array(3), [1], state, { shape: [1, 3], dtype: "float16", gradLogProbs: x });
`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "surprisal-types-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** What the compiler says of the program. */
function compile(compiler: string, resolution: object): { status: number | null; stdout: string } {
  const installed = join(folder, "node_modules", "surprisal");
  mkdirSync(installed, { recursive: true });
  const root = join(distFile("."), "..");
  for (const name of ["dist", "package.json", "schema"]) symlinkSync(join(root, name), join(installed, name));
  const compilerOptions = {
    ...{ target: "es2022", strict: true, noEmit: true, types: [], skipLibCheck: false, preserveSymlinks: true },
    ...resolution,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.mts"] }));
  writeFileSync(join(folder, "program.mts"), PROGRAM);
  const { status, stdout } = spawnSync(process.execPath, [compiler], {
    cwd: folder,
    encoding: "utf8",
  });
  return { status, stdout };
}

test.each(CASES)("TypeScript %s, resolution %s: no error", (_version, _name, compiler, resolution) => {
  expect(compile(compiler, resolution)).toEqual({ status: 0, stdout: "" });
});

// What a program waits for before its first result: loading the package and the first call, in a process of its own.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { exact } from "../accuracy/budgets";
import type { Case, Subject } from "../harness/case";
import { errorOf } from "../harness/check";
import { root } from "../harness/machine";

/** Prints milliseconds, and the first advantage: the rewards' sum, a 1 and a 2 among them. */
const PROGRAM = `
const [entry, steps] = process.argv.slice(1);
const [rewards, values] = [new Float32Array(+steps), new Float32Array(+steps)];
rewards.set([1, 2]);
const began = performance.now();
const { gae } = require(entry);
const { advantages } = gae(rewards, values, { shape: [1, +steps], gamma: 1, lambda: 1 });
console.log(performance.now() - began, advantages[0]);`;

function startSubject(steps: number): Subject {
  let advantage = NaN;
  return {
    // Of the tree that the bench is in, whichever build is asked.
    ours: () => ({
      name: "start",
      prepare: () => (advantage = NaN),
      run: () => {
        const said = execFileSync(process.execPath, ["-e", PROGRAM, join(root, "dist", "index.js"), String(steps)], {
          encoding: "utf8",
        });
        const [milliseconds, first] = said.split(" ").map(Number);
        advantage = first!;
        return milliseconds! / 1e3;
      },
      check: () => ({ advantage: errorOf(Float64Array.of(advantage), { values: Float64Array.of(3), budget: exact }) }),
    }),
  };
}

/** A call that stays in JavaScript, and one that loads the native code. */
const STEPS = { "two steps": 2, "1,024 steps": 1024 } as const;

export function startCases(): Case[] {
  return Object.entries(STEPS).map(([name, steps]) => ({
    kernel: "scan",
    op: 'require("surprisal") and the first call',
    dtype: "float32",
    rowKind: "all kept",
    shape: { name, sizes: [1, steps] },
    threads: 1,
    prepare: () => startSubject(steps),
  }));
}

// What a program waits for before its first result: loading the package and the first call, in a process of its own.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { exact } from "../accuracy/budgets";
import type { Case, Subject } from "../harness/case";
import { errorOf } from "../harness/check";
import { root } from "../harness/machine";

/** Prints milliseconds, and the first advantage. */
const PROGRAM = `
const began = performance.now();
const { gae } = require(process.argv[1]);
const { advantages } = gae(Float32Array.of(1, 2), Float32Array.of(0, 0), { shape: [1, 2], gamma: 1, lambda: 1 });
console.log(performance.now() - began, advantages[0]);`;

function startSubject(): Subject {
  let advantage = NaN;
  return {
    // Of the tree that the bench is in, whichever build is asked.
    ours: () => ({
      name: "start",
      prepare: () => (advantage = NaN),
      run: () => {
        const said = execFileSync(process.execPath, ["-e", PROGRAM, join(root, "dist", "index.js")], {
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

export function startCase(): Case {
  return {
    kernel: "scan",
    op: 'require("surprisal") and the first call',
    dtype: "float32",
    rowKind: "all kept",
    shape: { name: "two steps", sizes: [1, 2] },
    threads: 1,
    prepare: startSubject,
  };
}

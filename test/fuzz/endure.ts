// npx tsx --expose-gc test/fuzz/endure.ts CALLS: so many calls of every op on `cpu`, what they left behind, and how large the process was
// at ten looks on the way, as JSON. For test/hazards/endurance.test.ts.
import { readdirSync } from "node:fs";

import { CALLS } from "./calls";
import type { Drawn } from "./calling";
import { outcomeOf } from "./agree";
import { fresh } from "./draw";

/** What a process holds. Files and threads only where /proc says. */
export interface Held {
  readonly rss: number;
  readonly arrayBuffers: number;
  readonly files: number;
  readonly threads: number;
}

const count = (folder: string): number => {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
};

async function held(): Promise<Held> {
  // Finalizers run in later turns.
  for (let turn = 0; turn < 3; ++turn) {
    globalThis.gc!();
    await new Promise((next) => setImmediate(next));
  }
  const { rss, arrayBuffers } = process.memoryUsage();
  return { rss, arrayBuffers, files: count("/proc/self/fd"), threads: count("/proc/self/task") };
}

/** Calls of an op that take turns: drawn once, since drawing costs more than calling. */
const drawn: readonly (readonly Drawn[])[] = Object.values(CALLS).map((make) =>
  Array.from({ length: 16 }, (_, seed) => make(fresh(seed + 1))),
);

function callAll(times: number): void {
  for (const turns of drawn) for (let i = 0; i < times; ++i) outcomeOf(() => turns[i % turns.length]!.run("cpu"));
}

const LOOKS = 10;

async function main(times: number): Promise<void> {
  // Compiled code, pools and the heap's own room are there before the first look.
  callAll(Math.max(200, times / 10));
  const before = await held();
  const sizes: number[] = [];
  for (let look = 0; look < LOOKS; ++look) {
    callAll(times / LOOKS);
    sizes.push((await held()).rss);
  }
  console.log(JSON.stringify({ ops: drawn.length, before, after: await held(), sizes }));
}

void main(Number(process.argv[2]));

// npx tsx test/fuzz/bits.ts CALLS: what `cpu` answers to random calls of every op, as a hash of all bits of each op, on 1 to 8 threads,
// as JSON.
import { createHash } from "node:crypto";
import { serialize } from "node:v8";

import { configure } from "../../lib";
import { outcomeOf } from "./agree";
import { CALLS } from "./calls";
import { fresh } from "./draw";

/** The same with one NaN for all: sign and payload of a NaN belong to the engine, whose compiled code makes others than its interpreter. */
function withPlainNaN(value: unknown): unknown {
  // As an array: on its own a whole number is written as the engine happens to hold it, as an integer or as a double.
  if (typeof value === "number") return Number.isNaN(value) ? "NaN" : Float64Array.of(value);
  if (value instanceof Float32Array || value instanceof Float64Array) {
    const copy = value.slice();
    const words = new Uint32Array(copy.buffer);
    const size = words.length / copy.length;
    copy.forEach((x, i) => {
      if (Number.isNaN(x)) words.fill(0xffffffff, i * size, (i + 1) * size);
    });
    return copy;
  }
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withPlainNaN(inner)]));
}

/** All bits of a result or an error. */
export const bitsOfOutcome = (outcome: unknown): Buffer => serialize(withPlainNaN(outcome));

/** One hash for each op, over its calls of the seeds 1 … `calls`. */
export function bitsOnCpu(calls: number): Record<string, string> {
  return Object.fromEntries(
    Object.entries(CALLS).map(([name, make]) => {
      const hash = createHash("sha256");
      for (let seed = 1; seed <= calls; ++seed)
        hash.update(bitsOfOutcome(outcomeOf(() => make(fresh(seed)).run("cpu"))));
      return [name, hash.digest("hex")];
    }),
  );
}

/** The same on 1, 2, … threads. */
function bitsOnThreads(calls: number, most: number): Record<string, string>[] {
  return Array.from({ length: most }, (_, k) => {
    configure({ threads: k + 1 });
    return bitsOnCpu(calls);
  });
}

if (require.main === module) console.log(JSON.stringify(bitsOnThreads(Number(process.argv[2]), 8)));

// npx tsx test/fuzz/bits.ts CALLS: what `cpu` answers to random calls of every op, as a hash of all bits of each op, as JSON.
import { createHash } from "node:crypto";
import { serialize } from "node:v8";

import { outcomeOf } from "./agree";
import { CALLS } from "./calls";
import { fresh } from "./draw";

/** One hash for each op, over its calls of the seeds 1 … `calls`. */
export function bitsOnCpu(calls: number): Record<string, string> {
  return Object.fromEntries(
    Object.entries(CALLS).map(([name, make]) => {
      const hash = createHash("sha256");
      for (let seed = 1; seed <= calls; ++seed) hash.update(serialize(outcomeOf(() => make(fresh(seed)).run("cpu"))));
      return [name, hash.digest("hex")];
    }),
  );
}

if (require.main === module) console.log(JSON.stringify(bitsOnCpu(Number(process.argv[2]))));

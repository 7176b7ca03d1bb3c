// One rank of bench/collective/measure.ts, started by an MPI launcher: rank 0 prints what calls took, in microseconds.
//
// Calls follow each other as in a program, and their sum is timed: of a single one the root of a broadcast would be timed, not those
// who wait for it, and whoever leaves a barrier last would find the others there.
import { openCollective } from "../../lib/collective";
import { quantile } from "../harness/statistics";

export interface Timed {
  readonly call: "barrier" | "allReduce" | "allGather" | "broadcast";
  /** Of each rank's array. */
  readonly bytes: number;
  readonly batches: number;
  /** Calls of a batch, one after another; times are of one call. */
  readonly calls: number;
  readonly fastest: number;
  readonly median: number;
  readonly p90: number;
}

const WARM_UP = 4;
const BATCHES = 25;

function main(): void {
  const collective = openCollective("mpi");
  const one = Float64Array.of(collective.rank);
  const many = new Float64Array(2 ** 17).fill(collective.rank);
  const cases: readonly [Timed["call"], number, number, () => unknown][] = [
    ["barrier", 0, 50, () => collective.barrier()],
    ["allReduce", 8, 50, () => collective.allReduce(one, "sum")],
    ["allGather", 8, 50, () => collective.allGather(one)],
    ["allGather", many.byteLength, 5, () => collective.allGather(many)],
    ["broadcast", many.byteLength, 5, () => collective.broadcast(many, 0)],
  ];
  const times: number[][] = cases.map(() => []);
  // In turns: what comes first in a process finds it cold.
  for (let batch = -WARM_UP; batch < BATCHES; ++batch)
    cases.forEach(([, , calls, run], i) => {
      collective.barrier();
      const start = performance.now();
      for (let k = 0; k < calls; ++k) run();
      if (batch >= 0) times[i]!.push((1e3 * (performance.now() - start)) / calls);
    });
  cases.forEach(([call, bytes, calls], i) => {
    const own = times[i]!;
    const timed: Timed = {
      call,
      bytes,
      batches: BATCHES,
      calls,
      fastest: Math.min(...own),
      median: quantile(own, 0.5),
      p90: quantile(own, 0.9),
    };
    if (collective.rank === 0) process.stdout.write(`${JSON.stringify(timed)}\n`);
  });
  collective.close();
}

main();

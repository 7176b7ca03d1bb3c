// One rank of bench/collective/measure.ts, started by an MPI launcher: rank 0 prints what calls took, in microseconds.
import { openCollective } from "../../lib/collective";
import { quantile } from "../harness/statistics";

export interface Timed {
  readonly call: "barrier" | "allReduce" | "allGather" | "broadcast";
  /** Of each rank's array. */
  readonly bytes: number;
  readonly calls: number;
  readonly fastest: number;
  readonly median: number;
  readonly p90: number;
}

const WARM_UP = 20;

function main(): void {
  const collective = openCollective("mpi");
  const one = Float64Array.of(collective.rank);
  const many = new Float64Array(2 ** 17).fill(collective.rank);
  const cases: readonly [Timed["call"], number, number, () => unknown][] = [
    ["barrier", 0, 200, () => collective.barrier()],
    ["allReduce", 8, 200, () => collective.allReduce(one, "sum")],
    ["allGather", 8, 200, () => collective.allGather(one)],
    ["allGather", many.byteLength, 30, () => collective.allGather(many)],
    ["broadcast", many.byteLength, 30, () => collective.broadcast(many, 0)],
  ];
  for (const [call, bytes, calls, run] of cases) {
    const times: number[] = [];
    for (let i = -WARM_UP; i < calls; ++i) {
      collective.barrier();
      const start = performance.now();
      run();
      if (i >= 0) times.push(1e3 * (performance.now() - start));
    }
    const timed: Timed = {
      call,
      bytes,
      calls,
      fastest: Math.min(...times),
      median: quantile(times, 0.5),
      p90: quantile(times, 0.9),
    };
    if (collective.rank === 0) process.stdout.write(`${JSON.stringify(timed)}\n`);
  }
  collective.close();
}

main();

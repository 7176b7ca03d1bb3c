// Which cores the bench runs on: one thread is pinned to one core, so that neither a move nor a neighbour's cache is measured.
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** The last cores: interrupts tend to go to the first. */
export function lastCores(count: number, of = availableParallelism()): number[] {
  return Array.from({ length: Math.min(count, of) }, (_, i) => of - 1 - i).sort((a, b) => a - b);
}

let possible: boolean | undefined;

/** Moves all threads of processes to these cores. False where this machine cannot (no taskset, or not allowed). */
export function pinTo(cores: readonly number[], pids: readonly number[] = [process.pid]): boolean {
  if (possible === false) return false;
  const results = pids.map((pid) =>
    spawnSync("taskset", ["-a", "-c", "-p", cores.join(","), String(pid)], { stdio: "ignore" }),
  );
  // A peer's process may have ended; this one has not.
  possible ??= results[0]?.status === 0;
  return possible;
}

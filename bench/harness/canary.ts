// Whether the cores were ours: a fixed piece of work that takes longer where something else runs.
import type { Roof } from "../roof/roof";
import { lastCores, pinTo } from "./cores";

const TURNS = 5;
const MILLISECONDS = 20;

/** The spread of repeated runs, (slowest − fastest) / fastest, on `threads` cores at once. */
export function canary(roof: Roof, threads: number): number {
  pinTo(lastCores(threads));
  const steps = roof.stepsIn(MILLISECONDS);
  const times = Array.from({ length: TURNS }, () => {
    const began = performance.now();
    roof.spin(steps, threads);
    return performance.now() - began;
  });
  const fastest = Math.min(...times);
  return (Math.max(...times) - fastest) / fastest;
}

/** Two cores are only believed when the work repeats this well. */
export const QUIET = 0.05;

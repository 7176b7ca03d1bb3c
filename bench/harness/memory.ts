// How much resident memory a run adds at its peak.
import { readFileSync, writeFileSync } from "node:fs";

function kilobytes(field: string): number {
  const match = new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(readFileSync("/proc/self/status", "utf8"));
  return match ? Number(match[1]) : NaN;
}

/** Peak growth of this process during `run`, in megabytes; undefined where the system does not tell. */
export async function peakGrowth(run: () => unknown): Promise<number | undefined> {
  try {
    writeFileSync("/proc/self/clear_refs", "5"); // sets the peak back to what is resident now
  } catch {
    return undefined;
  }
  const before = kilobytes("VmRSS");
  await run();
  return Math.max(0, kilobytes("VmHWM") - before) / 1024;
}

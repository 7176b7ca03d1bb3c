// How many compilers run at a time, and how long that takes: a build says so before it starts.

import { availableParallelism } from "node:os";

// A compiler of our largest files takes 0.6 GB.
const MOST = 8;

export const JOBS = Math.min(MOST, availableParallelism());

/** How long `coreSeconds` of work take, spread over `jobs`, as a person would say it. */
export function roughly(coreSeconds, jobs = JOBS) {
  const seconds = Math.ceil(coreSeconds / jobs / 10) * 10;
  const time = seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} minutes`;
  return `about ${time} on ${jobs === 1 ? "one core" : `${jobs} cores`}`;
}

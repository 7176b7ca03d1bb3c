// What is kept of one training run: a figure per step, and the rollouts of some steps or of all.
import * as path from "node:path";
import { type Rollout, writeRollouts } from "../../lib/io";
import type { MethodName } from "./methods";
import { isRecorded, recordsOf } from "./records";
import { type Run, train } from "./train";

export interface RunResult {
  readonly method: MethodName;
  readonly seed: number;
  /** One a step, measured before its update. */
  readonly rewards: number[];
  readonly solved: number[];
  readonly entropies: number[];
  /** From the second step on; 0 for a run of one step. */
  readonly stepsPerSecond: number;
  /** Of the recorded steps. */
  readonly rollouts: Rollout[];
}

/** A run, and the folder for the rollouts of all its steps, if they are wanted. */
export interface KeptRun extends Run {
  readonly folder?: string;
}

export async function runAndKeep(
  { folder, ...run }: KeptRun,
  onProgress: (step: number, reward: number) => void,
): Promise<RunResult> {
  const { method, seed, steps } = run;
  const result = {
    method,
    seed,
    rewards: [] as number[],
    solved: [] as number[],
    entropies: [] as number[],
    rollouts: [] as Rollout[],
  };
  const all: Rollout[] = [];
  let started = performance.now();
  await train(run, (report) => {
    if (report.step === 0) started = performance.now(); // the cold start and the compilation of the network do not count
    result.rewards.push(report.reward);
    result.solved.push(report.solved);
    result.entropies.push(report.entropy);
    if (isRecorded(report.step, steps)) result.rollouts.push(...recordsOf(report, run));
    if (folder !== undefined) all.push(...recordsOf(report, run));
    onProgress(report.step + 1, report.reward);
  });
  const seconds = (performance.now() - started) / 1000;
  if (folder !== undefined) await writeRollouts(path.join(folder, `${method}-${seed}.jsonl`), all);
  return { ...result, stepsPerSecond: (steps - 1) / seconds };
}

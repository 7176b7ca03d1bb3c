// What is kept of one training run: a figure per step, and the rollouts of some steps.
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
  /** Lines of rollouts.jsonl. */
  readonly lines: string[];
}

export function runAndKeep(run: Run, onProgress: (step: number, reward: number) => void): RunResult {
  const { method, seed, steps } = run;
  const result = { method, seed, rewards: [] as number[], solved: [] as number[], entropies: [] as number[], lines: [] as string[] };
  let started = performance.now();
  train(run, (report) => {
    if (report.step === 0) started = performance.now(); // the cold start and the compilation of the network do not count
    result.rewards.push(report.reward);
    result.solved.push(report.solved);
    result.entropies.push(report.entropy);
    if (isRecorded(report.step, steps))
      for (const record of recordsOf(report, method, seed)) result.lines.push(JSON.stringify(record));
    onProgress(report.step + 1, report.reward);
  });
  const seconds = (performance.now() - started) / 1000;
  return { ...result, stepsPerSecond: (steps - 1) / seconds };
}

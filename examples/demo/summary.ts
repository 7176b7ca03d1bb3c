// Results of the runs, per method: means and spread over seeds.
import { type MethodName, METHODS } from "./methods";
import type { RunResult } from "./run";

/** One run in figures: means over the first and the last `window` steps. */
interface RunSummary {
  readonly seed: number;
  readonly rewardStart: number;
  readonly rewardEnd: number;
  /** Share of right answers at the end. */
  readonly solvedEnd: number;
  /** Mean over tokens at the end, nats. */
  readonly entropyEnd: number;
  readonly stepsPerSecond: number;
}

/** One method in figures: means over its runs. */
export interface MethodSummary extends Omit<RunSummary, "seed"> {
  readonly method: MethodName;
  readonly title: string;
  /** Largest minus smallest reward at the end. */
  readonly rewardSpread: number;
  /** Of plain GRPO's reward at the end, seed by seed; absent for itself, and where it did not run. */
  readonly againstGrpo?: { readonly difference: number; readonly seedsAhead: number };
  readonly runs: readonly RunSummary[];
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Steps that "at the start" and "at the end" stand for. */
export function windowOf(steps: number): number {
  return Math.min(20, Math.ceil(steps / 5));
}

function summarizeRun({ seed, rewards, solved, entropies, stepsPerSecond }: RunResult): RunSummary {
  const window = windowOf(rewards.length);
  return {
    seed,
    rewardStart: mean(rewards.slice(0, window)),
    rewardEnd: mean(rewards.slice(-window)),
    solvedEnd: mean(solved.slice(-window)),
    entropyEnd: mean(entropies.slice(-window)),
    stepsPerSecond,
  };
}

export function summarize(results: readonly RunResult[]): MethodSummary[] {
  const runsOf = (method: MethodName): RunSummary[] =>
    results.filter((result) => result.method === method).map(summarizeRun);
  const grpo = runsOf("grpo");
  return [...new Set(results.map((result) => result.method))].map((method) => {
    const runs = runsOf(method);
    const over = (figure: Exclude<keyof RunSummary, "seed">): number => mean(runs.map((run) => run[figure]));
    const ends = runs.map((run) => run.rewardEnd);
    const differences = grpo.map((plain, i) => ends[i]! - plain.rewardEnd); // runs of all methods are in the order of the seeds
    return {
      method,
      title: METHODS[method].title,
      rewardStart: over("rewardStart"),
      rewardEnd: over("rewardEnd"),
      rewardSpread: Math.max(...ends) - Math.min(...ends),
      solvedEnd: over("solvedEnd"),
      entropyEnd: over("entropyEnd"),
      stepsPerSecond: over("stepsPerSecond"),
      ...(method !== "grpo" &&
        grpo.length > 0 && {
          againstGrpo: {
            difference: mean(differences),
            seedsAhead: differences.filter((difference) => difference > 0).length,
          },
        }),
      runs,
    };
  });
}

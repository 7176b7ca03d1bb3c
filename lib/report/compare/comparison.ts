// What `compareRuns` returns: plain data, for the page, for tables and for --json.

export interface ComparedRun {
  readonly name: string;
  readonly steps: number;
  readonly rollouts: number;
}

export interface CurvePoint {
  /** Training step. */
  readonly step: number;
  readonly value: number;
}

/** One scalar over the steps of every run. */
export interface Curve {
  /** As loggers call it: "reward/mean". */
  readonly name: string;
  readonly title: string;
  /** null: it has none, or the reward's own. */
  readonly unit: string | null;
  /** One list a run, in the order of the runs; empty where a run does not have it. */
  readonly series: readonly (readonly CurvePoint[])[];
}

/** One figure of rollouts, a run's mean minus the first run's. */
export interface Difference {
  /** "reward", a reward function, "length", "entropy". */
  readonly figure: string;
  /** Number of the run, from 1. */
  readonly run: number;
  /** Means over prompts, each the mean of its rollouts. */
  readonly first: number;
  readonly mean: number;
  /** mean − first. */
  readonly difference: number;
  /** Percentile bootstrap over prompts, 95 %. */
  readonly low: number;
  readonly high: number;
  /** true: over the prompts that both runs have, drawn as pairs; false: each run's own prompts, drawn apart. */
  readonly paired: boolean;
  /** Prompts of the first run and of this one. */
  readonly prompts: readonly [number, number];
}

/** A prompt that the first run and another one have. */
export interface PromptChange {
  /** Text of the prompt; where no run has it, the label of its group. */
  readonly prompt: string;
  /** Mean reward in each run; null where a run does not have the prompt. */
  readonly rewards: readonly (number | null)[];
  /** Rollouts with a reward in each run. */
  readonly counts: readonly number[];
  /** The other run's mean reward minus the first's, of the run where it is largest in size. */
  readonly difference: number;
  /** In each run the rollout with the greatest reward, the first of several: [step's place, rollout]; null without one. */
  readonly best: readonly (readonly [step: number, rollout: number] | null)[];
}

export interface Comparison {
  /** The first is what the others are compared with. */
  readonly runs: readonly ComparedRun[];
  readonly curves: readonly Curve[];
  /** Steps of each run that differences and prompts are about: the first and last training step of them; null for a run without rollouts. */
  readonly window: readonly (readonly [first: number, last: number] | null)[];
  readonly differences: readonly Difference[];
  /** Largest change first. */
  readonly prompts: readonly PromptChange[];
}

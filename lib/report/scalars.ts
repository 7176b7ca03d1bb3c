// The numbers of a step that have a course over a run: tiles, curves, tables and loggers read this one list.
import { percent, shortNumber, signedNumber } from "./numbers";
import type { StepSummary } from "./summary";

/** One number a step. */
export interface Scalar {
  /** As loggers call it: "reward/mean". */
  readonly name: string;
  readonly title: string;
  /** Absent: it has none, or the reward's own. */
  readonly unit?: string;
  /** null: the step does not have it. */
  readonly value: (step: StepSummary) => number | null;
  readonly show: (value: number) => string;
}

const FIXED: readonly Scalar[] = [
  {
    name: "reward/mean",
    title: "Mean reward",
    value: ({ distributions }) => distributions.reward?.mean ?? null,
    show: shortNumber,
  },
  {
    name: "entropy/mean",
    title: "Mean entropy",
    unit: "nats",
    value: ({ distributions }) => distributions.entropy?.mean ?? null,
    show: shortNumber,
  },
  {
    name: "length/mean",
    title: "Mean length",
    unit: "tokens",
    value: ({ distributions }) => distributions.length?.mean ?? null,
    show: shortNumber,
  },
  {
    name: "groups/equal_rewards",
    title: "Equal rewards",
    unit: "of groups",
    value: ({ equalRewardGroups }) => equalRewardGroups,
    show: percent,
  },
  {
    name: "length_reward_correlation",
    title: "Length ~ reward",
    unit: "r",
    value: ({ lengthRewardCorrelation }) => lengthRewardCorrelation,
    show: (r) => signedNumber(Number(r.toFixed(2))),
  },
  {
    name: "sampler_gap/mean_absolute",
    title: "Sampler gap",
    unit: "nats",
    value: ({ samplerGap }) => samplerGap?.meanAbsolute ?? null,
    show: shortNumber,
  },
  { name: "clipped", title: "Clipped", unit: "of tokens", value: ({ clipped }) => clipped, show: percent },
  { name: "truncated", title: "Cut off", unit: "of rollouts", value: ({ truncated }) => truncated, show: percent },
  {
    name: "reference_kl",
    title: "KL to reference",
    unit: "nats",
    value: ({ referenceKl }) => referenceKl,
    show: shortNumber,
  },
  {
    name: "advantage/std",
    title: "Advantage, std",
    value: ({ distributions }) => distributions.advantage?.std ?? null,
    show: shortNumber,
  },
  {
    name: "spans/scale",
    title: "Step weight",
    unit: "mean factor of spans",
    value: ({ spanScale }) => spanScale,
    show: shortNumber,
  },
];

/** Keys of all, by first appearance. */
const keysOf = (records: readonly Readonly<Record<string, unknown>>[]): string[] =>
  Array.from(new Set(records.flatMap(Object.keys)));

/** The scalars that some of these steps have: the fixed ones, then each reward function, then pass@k. */
export function scalarsOf(steps: readonly StepSummary[]): Scalar[] {
  const functions = keysOf(steps.map(({ rewardFunctions }) => rewardFunctions)).map((name): Scalar => ({
    name: `reward/${name}/mean`,
    title: `Reward ${name}`,
    value: ({ rewardFunctions }) => rewardFunctions[name]?.mean ?? null,
    show: shortNumber,
  }));
  const ks = keysOf(steps.map(({ passAtK }) => passAtK)).map((k): Scalar => ({
    name: `pass@${k}`,
    title: `pass@${k}`,
    unit: "of groups",
    value: ({ passAtK }) => passAtK[k] ?? null,
    show: percent,
  }));
  return [...FIXED, ...functions, ...ks].filter(({ value }) => steps.some((step) => value(step) !== null));
}

/** A scalar over the steps of a run. */
export interface Course extends Scalar {
  /** One a step; null where the step does not have it. */
  readonly series: readonly (number | null)[];
}

/** The courses of the scalars that some of these steps have. */
export const coursesOf = (steps: readonly StepSummary[]): Course[] =>
  scalarsOf(steps).map((scalar) => ({ ...scalar, series: steps.map(scalar.value) }));

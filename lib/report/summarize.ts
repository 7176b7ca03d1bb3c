// Steps of a run in numbers.
import { needNumber } from "../core/option-checks";
import { tokenCount } from "../io/record";
import { checkSteps } from "./check";
import { commonEdges, correlation, distributionOf, mean, type Sample, sampleOf } from "./distribution";
import { summarizeGroups } from "./group-summaries";
import { DEFAULT_LIMITS, type WarningLimits } from "./limits";
import { logProbsOf } from "./log-probs";
import { clippedShare, differencesOf, lengthOf, spanScaleOf, truncatedShare, valuesOf } from "./measures";
import type { ReportRollout, ReportStep } from "./model";
import { passAtKOf } from "./pass-at-k";
import { rewardFunctionsOf } from "./reward-functions";
import { type GroupSummary, type Measure, MEASURES, type SamplerGap, type StepSummary, type Summary } from "./summary";
import { warningsOf } from "./warnings";

export interface SummarizeOptions {
  /** The limits of the warnings. Each has a default. */
  readonly limits?: WarningLimits;
  /** A rollout counts as correct for pass@k where its reward is above this. Default 0.5. */
  readonly correctAbove?: number;
}

type ByMeasure<T> = Readonly<Record<Measure, T>>;

const byMeasure = <T>(of: (measure: Measure) => T): ByMeasure<T> =>
  Object.fromEntries(MEASURES.map((measure) => [measure, of(measure)])) as ByMeasure<T>;

const trainerLogProbs = ({ recomputedLogProbs, oldLogProbs }: ReportRollout) => recomputedLogProbs ?? oldLogProbs;

function samplerGapOf({ rollouts }: ReportStep): SamplerGap | null {
  const gaps = differencesOf(rollouts, ({ samplerLogProbs }) => samplerLogProbs, trainerLogProbs);
  if (gaps.length === 0) return null;
  const sizes = gaps.map(Math.abs);
  const maxAbsolute = sizes.reduce((most, size) => Math.max(most, size), 0);
  return { tokens: gaps.length, kl: mean(gaps), meanAbsolute: mean(sizes), maxAbsolute };
}

function referenceKlOf({ rollouts }: ReportStep): number | null {
  const gaps = differencesOf(rollouts, trainerLogProbs, ({ referenceLogProbs }) => referenceLogProbs);
  return gaps.length === 0 ? null : mean(gaps);
}

function lengthReward({ rollouts }: ReportStep): number | null {
  const pairs = rollouts.flatMap((rollout): [number, number][] => {
    const length = lengthOf(rollout);
    return length !== undefined && rollout.reward !== undefined && Number.isFinite(rollout.reward)
      ? [[length, rollout.reward]]
      : [];
  });
  return correlation(
    pairs.map(([length]) => length),
    pairs.map(([, reward]) => reward),
  );
}

function equalShare(groups: readonly GroupSummary[]): number | null {
  const compared = groups.filter(({ rollouts, rewardMean }) => rollouts.length > 1 && rewardMean !== null);
  return compared.length === 0 ? null : compared.filter(({ equalRewards }) => equalRewards).length / compared.length;
}

function measure(
  step: ReportStep,
  place: number,
  samples: ByMeasure<Sample>,
  edges: ByMeasure<readonly number[]>,
  correctAbove: number,
): Omit<StepSummary, "warnings"> {
  const { label, rollouts } = step;
  const groups = summarizeGroups(step);
  return {
    label,
    step: step.step ?? place,
    rollouts: rollouts.length,
    tokens: rollouts.reduce((sum, rollout) => sum + (tokenCount(rollout) ?? 0), 0),
    keptTokens: rollouts.reduce((sum, rollout) => sum + (lengthOf(rollout) ?? 0), 0),
    spans: rollouts.reduce((sum, { spans }) => sum + (spans?.length ?? 0), 0),
    distributions: byMeasure((name) => distributionOf(samples[name], edges[name])),
    nonFinite: byMeasure((name) => samples[name].nonFinite),
    groups,
    equalRewardGroups: equalShare(groups),
    lengthRewardCorrelation: lengthReward(step),
    truncated: truncatedShare(rollouts),
    clipped: clippedShare(rollouts),
    samplerGap: samplerGapOf(step),
    logProbs: logProbsOf(rollouts),
    rewardFunctions: rewardFunctionsOf(rollouts),
    referenceKl: referenceKlOf(step),
    passAtK: passAtKOf(groups, step, correctAbove),
    spanScale: spanScaleOf(step),
  };
}

function limitsOf(op: string, given: WarningLimits = {}): Required<WarningLimits> {
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  for (const [name, value] of Object.entries(given)) limits[name] = needNumber(op, `limits.${name}`, value, { min: 0 });
  return limits as unknown as Required<WarningLimits>;
}

/** The summary of steps that were checked. */
export function summarizeChecked(op: string, steps: readonly ReportStep[], options: SummarizeOptions): Summary {
  const given = limitsOf(op, options.limits);
  const correctAbove = needNumber(op, "correctAbove", options.correctAbove ?? 0.5);
  const samples = steps.map((step) => byMeasure((name) => sampleOf(valuesOf(name, step))));
  const edges = byMeasure((name) =>
    commonEdges(
      samples.map((sample) => sample[name]),
      name === "length",
    ),
  );
  const measured = steps.map((step, s) => measure(step, s, samples[s]!, edges, correctAbove));
  return { steps: measured.map((step) => ({ ...step, warnings: warningsOf(step, measured[0]!, given) })) };
}

/**
 * Returns the numbers of each step of a run: counts, distributions with histograms of common edges, one row for each group, shares,
 * correlation of length and reward, the gap between sampler and trainer, and warnings. They are plain data for `JSON.stringify`.
 *
 *     equalRewardGroups        groups of two or more rollouts whose rewards are the same / such groups with rewards
 *     lengthRewardCorrelation  Pearson's r over rollouts of (kept tokens, reward)
 *     samplerGap.kl            mean of samplerLogProbs − trainer's over kept tokens: an estimate of KL(sampler ‖ trainer)
 *     logProbs.<who>.nll       −mean of the log-probs over kept tokens, nats a token
 *     rewardFunctions.<name>   count, mean, std and range over the rollouts on which the function did not abstain
 *     referenceKl              mean of trainer's − referenceLogProbs over kept tokens
 *     passAtK                  `passAtK` of each group of k rollouts or more, meaned over groups; correct: reward > correctAbove
 *     spanScale                mean of the spans' `scale`
 *
 * where the trainer's are recomputedLogProbs, or oldLogProbs of a rollout without them.
 *
 * Entropies, log-probs and divergences in nats, lengths in kept tokens, shares from 0 to 1. Tokens under a mask are not read. Values
 * that are not finite are counted and enter nothing else. What no rollout has is null.
 *
 * @param steps in the order of the run; `ReportRollout` says which numbers a rollout can carry
 * @param options `limits` of the warnings, `correctAbove`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE for numbers per token of another length than the ids, _RANGE for a span outside its
 * rollout, _OPTION
 */
export function summarize(steps: readonly ReportStep[], options: SummarizeOptions = {}): Summary {
  checkSteps("summarize", steps);
  return summarizeChecked("summarize", steps, options);
}

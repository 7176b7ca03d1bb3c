// Micro-batches for the advantage pipeline, and the program that runs it, which travels to workers and processes as text.
import type * as surprisal from "../../lib";
import { rng } from "../support/rng";
import type { Collective, PipelineBatch, PipelineEstimator } from "../../lib";

export interface PipelineInput {
  readonly backend: surprisal.BackendChoice;
  readonly estimator: PipelineEstimator;
  readonly batches: readonly PipelineBatch[];
  readonly groups: Int32Array;
}

export function pipelineInput(backend: surprisal.BackendChoice, estimator: PipelineEstimator): PipelineInput {
  const r = rng(11);
  const batches = [3, 2, 4, 1].map((rows) => ({
    shape: [rows, 5] as const,
    rewards: r.f32(rows, -1, 2),
    kl: r.f32(5 * rows, 0, 0.1),
    values: r.f32(5 * rows, -1, 1),
    mask: r.mask(5 * rows, 0.8),
  }));
  return { backend, estimator, batches, groups: r.i32(10, 0, 3) };
}

/** Batches cuts[i] … cuts[i + 1] for each rank. */
export function pipelineParts(input: PipelineInput, cuts: readonly number[]): PipelineInput[] {
  const begins = [0];
  for (const { rewards } of input.batches) begins.push(begins.at(-1)! + rewards.length);
  return cuts.slice(1).map((end, i) => ({
    ...input,
    batches: input.batches.slice(cuts[i], end),
    groups: input.groups.slice(begins[cuts[i]!], begins[end]),
  }));
}

export function runPipeline(
  collective: Collective | undefined,
  s: typeof surprisal,
  { backend, estimator, batches, groups }: PipelineInput,
) {
  return s.advantagePipeline(batches, {
    estimator,
    groups,
    gamma: 0.97,
    klCoefficient: 0.1,
    rewardClip: [-1, 1],
    runningMoments: s.NO_MOMENTS,
    subtractRunningMean: true,
    whiten: true,
    backend,
    ...(collective && { collective }),
  });
}

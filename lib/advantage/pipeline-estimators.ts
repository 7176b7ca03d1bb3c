// The estimators of advantagePipeline by name.
import { needWord } from "../core/option-checks";
import ESTIMATORS, { type AdvantageName } from "./estimators";
import type { PipelineStage } from "./pipeline-stages";

/** An estimator of `advantagePipeline`, `estimateAdvantages` and `shapeGroupRewards`. */
export type PipelineEstimator = {
  [Name in AdvantageName]: (typeof ESTIMATORS)[Name] extends { readonly pipeline: PipelineStage } ? Name : never;
}[AdvantageName];

const names = Object.entries(ESTIMATORS).flatMap(([name, entry]) =>
  "pipeline" in entry ? [name as PipelineEstimator] : [],
);

export function needStage(op: string, estimator: PipelineEstimator): PipelineStage {
  return ESTIMATORS[names[needWord(op, "estimator", estimator, names)]!].pipeline;
}

/** Those whose advantages are normalised over all batches by default. */
export const normalizedByDefault: readonly PipelineEstimator[] = names.filter(
  (name) => ESTIMATORS[name].pipeline.normalized,
);

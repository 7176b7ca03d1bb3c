// From judged samples to advantages: penalty, KL, groups, the estimator. Nothing waits here, and what moves on is returned.
import { advantagePipeline, type AdvantagePipelineOptions } from "../advantage/advantage-pipeline";
import { compareInGroups } from "../advantage/group-shaping";
import { needStage } from "../advantage/pipeline-estimators";
import type { BackendOption } from "../backend/select";
import { type KlController, type KlControllerOptions, updateKlController } from "../control/kl-controller";
import type { RunningMoments } from "../control/running-moments";
import { needFloats } from "../core/arrays";
import type { Collective } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { optionError } from "../core/errors";
import { needFlag } from "../core/option-checks";
import { gatherIntegers, gatherRowPartials } from "../core/row-partials";
import { klEstimates, type KlKind } from "../ops/loss";
import { countKept, moments } from "../ops/reduce";
import { overlongPenalty, type OverlongPenaltyOptions } from "../reward/overlong-penalty";
import { type EstimatorSteps, estimateBy, isOwn } from "./estimator-steps";
import type { Experience } from "./records";
import type { RewardWeights } from "./score";

/** Options of `advantagePipeline`, and what goes before it. */
export type PipelineSteps = Omit<AdvantagePipelineOptions, "groups" | "groupOffsets" | "backend" | "collective">;

/** An estimator by its name, with its options: the steps of `advantagePipeline`, or any other of `computeAdvantages`. */
export type AdvantageSteps<Data = unknown> = PipelineSteps | EstimatorSteps<Data>;

/** Computes one advantage per response token from the experience so far, in place of a built-in estimator. */
export type AdvantageFunction<Data = unknown> = (
  experience: Experience<Data>,
) => FloatArray | { readonly advantages: FloatArray; readonly returns?: FloatArray };

/** A KL coefficient that is steered: the state to begin with, and where to. */
export interface KlControl extends KlControllerOptions {
  readonly state: KlController;
}

/** The discounts of one call, in place of those of the steps. */
export interface Discounts {
  /** γ of this call, in [0, 1]. Default: that of `advantages`. */
  readonly gamma?: number;
  /** λ of this call, in [0, 1]. Default: that of `advantages`. */
  readonly lambda?: number;
}

export interface EstimateSettings<Data> {
  readonly overlong: OverlongPenaltyOptions | undefined;
  readonly dropGroups: "constant" | "zeroOrOne" | undefined;
  readonly klEstimator: KlKind | undefined;
  readonly klControl: KlControl | undefined;
  readonly advantages: AdvantageSteps<Data> | AdvantageFunction<Data> | undefined;
  /** Weights of the sources, where they are the same for all rows. */
  readonly weights: RewardWeights | undefined;
  readonly backend: BackendOption["backend"];
  /** The ranks whose rows are one batch. */
  readonly collective: Collective | undefined;
}

/** What an experience begins with, and what the next one does. */
export interface MovingState {
  readonly runningMoments: RunningMoments | undefined;
  readonly klController: KlController | undefined;
}

interface Estimated<Data> {
  readonly experience: Experience<Data>;
  readonly state: MovingState;
}

export const isOwnSteps = <Data>(steps: AdvantageSteps<Data>): steps is EstimatorSteps<Data> => isOwn(steps.estimator);

/** The controller after the mean KL of the rows that have tokens, on all ranks. */
function steered<Data>(
  op: string,
  control: KlControl,
  state: KlController,
  { offsets, mask, meanKls }: Experience<Data>,
  { backend, collective }: Pick<EstimateSettings<Data>, "backend" | "collective">,
): KlController {
  const counts = countKept({ offsets, mask, backend });
  const own = Float64Array.from(Array.from(meanKls!).filter((_, b) => counts[b]! > 0));
  const measured = gatherRowPartials(op, collective, own).partials;
  if (measured.length === 0) return updateKlController(state, { kl: 0, steps: 0 }, control);
  const kl = measured.reduce((sum, x) => sum + x, 0) / measured.length;
  return updateKlController(state, { kl, steps: measured.length }, control);
}

function ownAdvantages<Data>(
  op: string,
  experience: Experience<Data>,
  estimate: AdvantageFunction<Data>,
): Partial<Experience<Data>> {
  const result = estimate(experience);
  const { advantages, returns } = ArrayBuffer.isView(result) ? { advantages: result, returns: undefined } : result;
  const n = experience.tokenIds.length;
  return {
    advantages: needFloats(op, "advantages", advantages, n, "one per response token"),
    returns: returns && needFloats(op, "returns", returns, n, "one per response token"),
  };
}

/** Penalty, groups and KL: everything before the estimator. */
function prepared<Data>(op: string, judged: Experience<Data>, settings: EstimateSettings<Data>): Experience<Data> {
  const { overlong, dropGroups, klEstimator, backend } = settings;
  const { groups, offsets, mask, oldLogProbs, referenceLogProbs, scores } = judged;
  const penalized = overlong && overlongPenalty(scores, Array.from(countKept({ offsets, mask, backend })), overlong);
  const rewards = penalized ? Float64Array.from(penalized.rewards) : scores;
  const shaping = { offsets, mask, groups, dropGroups, backend };
  const { keptGroups: taught, groupIds, mask: kept = mask } = compareInGroups(op, rewards, null, shaping);
  const keptGroups = judged.keptGroups.slice();
  groups.forEach((group, b) => (keptGroups[group] = taught[groupIds[b]!]!));
  if (referenceLogProbs && !oldLogProbs)
    throw optionError(op, "reference", "given", "log-probs of the policy or of the sampler beside it");
  const where = { offsets, mask: dropGroups ? kept : mask, backend };
  const kl =
    referenceLogProbs &&
    oldLogProbs &&
    klEstimates(oldLogProbs, referenceLogProbs, { ...where, kind: klEstimator ?? "k1" }).values;
  return {
    ...judged,
    mask: where.mask,
    rewards,
    keptGroups,
    penalties: penalized && Float64Array.from(penalized.penalties),
    kl,
    meanKls: kl && moments(kl, { ...where, over: "row" }).means,
  };
}

/** The groups of the rows here, by numbers that no other rank has: a prompt's rows are on one rank. */
function ownGroups<Data>({ groups, prompts }: Experience<Data>, collective: Collective | undefined): Int32Array {
  if (!collective) return groups;
  const counts = gatherIntegers(collective, prompts.length);
  const before = counts.slice(0, collective.rank).reduce((sum, count) => sum + count, 0);
  return groups.map((group) => group + before);
}

/** The steps with the discounts of the call, where it has any. */
function withDiscounts<Steps extends object>(steps: Steps, discounts: Discounts): Steps {
  const given = Object.entries(discounts).filter(([, value]) => value !== undefined);
  return { ...steps, ...(Object.fromEntries(given) as Discounts) };
}

function throughPipeline<Data>(
  op: string,
  { offsets, mask, rewards, kl, values }: Experience<Data>,
  groups: Int32Array,
  steps: PipelineSteps,
  more: Pick<AdvantagePipelineOptions, "runningMoments" | "klCoefficient" | "backend" | "collective">,
) {
  const shaped = needFlag(op, "advantages.shapeGroups", steps.shapeGroups ?? true) === 1;
  return advantagePipeline([{ offsets, mask, rewards, kl, values }], {
    ...steps,
    ...more,
    groups: shaped && needStage(op, steps.estimator).shaping !== "refuse" ? groups : undefined,
  });
}

/** The steps behind the judging, from the state given to the one after. `dry`: on no rows, to check the options. */
export function estimateExperience<Data>(
  op: string,
  judged: Experience<Data>,
  settings: EstimateSettings<Data>,
  state: MovingState,
  discounts: Discounts,
  dry = false,
): Estimated<Data> {
  const { advantages, klControl, backend, weights } = settings;
  // A rehearsal is this rank's own.
  const collective = dry ? undefined : settings.collective;
  const before = prepared(op, judged, settings);
  const used = state.klController?.coefficient;
  const klController =
    klControl && state.klController && steered(op, klControl, state.klController, before, { backend, collective });
  const experience = { ...before, klCoefficient: used, klController };
  const next = { ...state, klController };
  if (advantages === undefined) return { experience, state: next };
  if (typeof advantages === "function")
    return {
      experience: dry ? experience : { ...experience, ...ownAdvantages(op, experience, advantages) },
      state: next,
    };

  const klCoefficient = advantages.klCoefficient ?? used;
  const groups = ownGroups(experience, collective);
  if (isOwnSteps(advantages)) {
    const named = withDiscounts(advantages, discounts);
    const result = estimateBy(op, experience, {
      steps: named,
      klCoefficient,
      weights,
      backend,
      collective,
      groups,
      dry,
    });
    const { advantages: values, returns } = result;
    return { experience: { ...experience, klCoefficient, advantages: values, returns, estimate: result }, state: next };
  }
  const { batches, runningMoments } = throughPipeline(op, experience, groups, withDiscounts(advantages, discounts), {
    runningMoments: state.runningMoments,
    klCoefficient,
    backend,
    collective,
  });
  return { experience: { ...experience, klCoefficient, ...batches[0] }, state: { ...next, runningMoments } };
}

// From prompts to advantages: generate, judge, score, estimate.
import type { BackendOption } from "../backend/select";
import { advantagePipeline, type AdvantagePipelineOptions } from "../advantage/advantage-pipeline";
import { compareInGroups } from "../advantage/group-shaping";
import { needStage } from "../advantage/pipeline-estimators";
import type { RunningMoments } from "../control/running-moments";
import { needFloats } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { argumentError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { klEstimates, type KlKind } from "../ops/loss";
import { countKept, moments } from "../ops/reduce";
import { overlongPenalty, type OverlongPenaltyOptions } from "../reward/overlong-penalty";
import type { Critic, Policy, RewardSource, ScoringPolicy } from "./adapters";
import type { Prompt } from "./completion";
import { runBounded } from "./bounded";
import { generateCompletions, type GenerateOptions, type GenerationProgress, type PolicyGeneration } from "./generate";
import type { GenerationOptions } from "./generation";
import { askPolicy, collect, type Collected } from "./judge";
import { type Experience, type LogProbSource, rowCount, type Samples } from "./records";
import { samplesOf } from "./samples";
import {
  type CheckedRecipe,
  type NamedSources,
  needRecipe,
  ONE_SOURCE,
  type RewardRecipe,
  rewardTasks,
  scoresOf,
  type SourceRewards,
  weightsOfRows,
} from "./score";

const OLD_LOG_PROBS = ["policy", "sampler"] as const;
const DROP_GROUPS = ["constant", "zeroOrOne"] as const;

/** Options of `advantagePipeline`, and what goes before it. */
export interface AdvantageSteps extends Omit<
  AdvantagePipelineOptions,
  "groups" | "groupOffsets" | "backend" | "collective"
> {
  /** Compare rewards within their group, as the estimator does. Default true; never for an estimator that compares the rows of a batch. */
  readonly shapeGroups?: boolean;
}

/** Computes one advantage per response token from the experience so far, in place of a built-in estimator. */
export type AdvantageFunction<Data = unknown> = (
  experience: Experience<Data>,
) => FloatArray | { readonly advantages: FloatArray; readonly returns?: FloatArray };

export interface ExperienceMakerOptions<Data = unknown> extends GenerationOptions, BackendOption {
  readonly policy: Policy<Data>;
  /** What judges the responses: one source, or several by name. */
  readonly rewards: RewardSource<Data> | NamedSources<Data>;
  /** Weights of the sources, for all rows or by the prompt's label. Default: 1 each. */
  readonly recipe?: RewardRecipe;
  /** The reference policy of the KL term. */
  readonly reference?: ScoringPolicy<Data>;
  readonly critic?: Critic<Data>;
  /** Whose log-probs the ratio refers to: the policy's, computed again, or the sampler's. Default: the policy's where it can say them. */
  readonly oldLogProbs?: (typeof OLD_LOG_PROBS)[number];
  /** Penalty for long responses. Default: none. */
  readonly overlong?: OverlongPenaltyOptions;
  /** Estimate of the KL from the reference policy. Default `"k1"`. */
  readonly klEstimator?: KlKind;
  /** Masks the rows of groups that teach nothing: of equal rewards, or of rewards all 0 or all 1. Default: none. */
  readonly dropGroups?: (typeof DROP_GROUPS)[number];
  /** From rewards to advantages. Default: no advantages. */
  readonly advantages?: AdvantageSteps | AdvantageFunction<Data>;
  /** Prompts of one call of `generate`. Default: what the policy says, else all. */
  readonly promptsPerCall?: number;
  /** Rows of one call of a model. Default: what the adapter says, else all. */
  readonly rowsPerCall?: number;
  /** Calls under way at a time, in all. Default 8. */
  readonly concurrency?: number;
}

export interface JudgeProgress {
  readonly step: "logProbs" | "reference" | "values" | "rewards";
  /** Rows judged, over all sources. */
  readonly done: number;
  readonly total: number;
}

export type MakeProgress = GenerationProgress | JudgeProgress;

export interface MakeOptions {
  /** An abort ends the making, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: MakeProgress) => void;
}

/** An experience, with the completions that the generation left out and the calls that failed. */
export interface MadeExperience<Data> extends Experience<Data> {
  readonly leftOut: PolicyGeneration<Data>["leftOut"];
  readonly failures: PolicyGeneration<Data>["failures"];
}

function isSource<Data>(rewards: RewardSource<Data> | NamedSources<Data>): rewards is RewardSource<Data> {
  return typeof rewards === "function" || typeof (rewards as { rewards?: unknown }).rewards === "function";
}

/**
 * Makes experiences, in this order: generation → log-probs, reference, critic and rewards side by side → overlong penalty → shaping within groups
 * → running normalisation → clip → KL penalty → estimator → normalisation over the batch. Steps without options are left
 * out; the others keep their numbers in the result.
 *
 * Nothing is kept between calls but `runningMoments`, which moves on only when an experience is complete.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for options that contradict each other
 */
export class ExperienceMaker<Data = unknown> {
  readonly #options: ExperienceMakerOptions<Data>;
  readonly #sources: NamedSources<Data>;
  readonly #recipe: CheckedRecipe;
  #runningMoments: RunningMoments | undefined;

  constructor(options: ExperienceMakerOptions<Data>) {
    const op = "ExperienceMaker";
    this.#options = options;
    this.#sources = isSource(options.rewards) ? { [ONE_SOURCE]: options.rewards } : options.rewards;
    if (Object.keys(this.#sources).length === 0)
      throw argumentError("ERR_SURPRISAL_OPTION", op, "rewards", options.rewards, "at least one source");
    this.#recipe = needRecipe(op, options.recipe, this.#sources);
    needNumber(op, "rowsPerCall", options.rowsPerCall ?? 1, { min: 1, integer: true });
    needNumber(op, "concurrency", options.concurrency ?? 1, { min: 1, integer: true });
    if (options.oldLogProbs !== undefined) needWord(op, "oldLogProbs", options.oldLogProbs, OLD_LOG_PROBS);
    if (options.dropGroups !== undefined) needWord(op, "dropGroups", options.dropGroups, DROP_GROUPS);
    const { policy, reference, critic, advantages } = options;
    if (options.oldLogProbs === "policy" && !askPolicy(policy, {}))
      throw argumentError(
        "ERR_SURPRISAL_OPTION",
        op,
        "oldLogProbs",
        "policy",
        'a policy with logProbs or logits; or "sampler"',
      );
    if (reference && !askPolicy(reference, {}))
      throw argumentError("ERR_SURPRISAL_OPTION", op, "reference", reference, "logProbs or logits");
    if (typeof advantages === "object") {
      const { estimator } = advantages;
      if (needStage(op, estimator).needsValues && !critic)
        throw argumentError("ERR_SURPRISAL_OPTION", op, "critic", critic, `a critic with estimator "${estimator}"`);
      if ((advantages.klCoefficient ?? 0) > 0 && !reference)
        throw argumentError(
          "ERR_SURPRISAL_OPTION",
          op,
          "reference",
          reference,
          "a reference policy with a klCoefficient above 0",
        );
      this.#runningMoments = advantages.runningMoments;
    }
  }

  /** State of the running normalisation of rewards, after the last complete experience; undefined where there is none. */
  get runningMoments(): RunningMoments | undefined {
    return this.#runningMoments;
  }

  /**
   * Completions of the prompts, judged and estimated.
   *
   * @throws as `generateCompletions` and `evaluate`
   */
  async make(prompts: readonly Prompt<Data>[], options: MakeOptions = {}): Promise<MadeExperience<Data>> {
    const generation = await this.generate(prompts, options);
    const experience = await this.evaluate(samplesOf(generation.groups), options);
    const { statistics, leftOut, failures } = generation;
    return { ...experience, generation: statistics, leftOut, failures };
  }

  /** The first step alone. `samplesOf(groups)` is what `evaluate` takes. */
  generate(prompts: readonly Prompt<Data>[], options: MakeOptions = {}): Promise<PolicyGeneration<Data>> {
    const { policy } = this.#options;
    const given: GenerateOptions = { ...this.#options, ...options };
    return generateCompletions(policy, prompts, given);
  }

  /**
   * The steps behind the generation, for samples from anywhere.
   *
   * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _VALUE or _OPTION for an adapter's answer that is not what it should be;
   * what an adapter throws; the signal's reason
   */
  async evaluate(samples: Samples<Data>, options: MakeOptions = {}): Promise<Experience<Data>> {
    const op = "ExperienceMaker.evaluate";
    const { concurrency = 8 } = this.#options;
    const judged = this.#judge(op, samples, options);
    await runBounded(op, judged.tasks, concurrency, options.signal);
    return this.#estimate(op, judged.finish());
  }

  /** Calls of all models and reward sources, and what they add to the samples. */
  #judge(op: string, samples: Samples<Data>, { onProgress }: MakeOptions) {
    const { policy, reference, critic, rowsPerCall = Infinity, backend: name } = this.#options;
    const backend = { backend: name };
    const B = rowCount(samples);
    const size = (own: number | undefined): number => own ?? rowsPerCall;
    const counter = (step: JudgeProgress["step"], total: number) => {
      let done = 0;
      return (rows: number): void => onProgress?.({ step, done: (done += rows), total });
    };

    const fromSampler = this.#options.oldLogProbs === "sampler";
    const ask = fromSampler ? undefined : askPolicy(policy, backend);
    if (fromSampler && !samples.samplerLogProbs)
      throw argumentError(
        "ERR_SURPRISAL_OPTION",
        op,
        "oldLogProbs",
        "sampler",
        "samples with log-probs of the sampler for every row",
      );
    const old = ask && collect(op, "policy.", samples, size(policy.rowsPerCall), ask, counter("logProbs", B));
    const referred =
      reference &&
      collect(
        op,
        "reference.",
        samples,
        size(reference.rowsPerCall),
        askPolicy(reference, backend)!,
        counter("reference", B),
      );
    const valued: Collected | undefined =
      critic &&
      collect(
        op,
        "critic.",
        samples,
        size(critic.rowsPerCall),
        async (part, call) => ({ values: await critic.values(part, call) }),
        counter("values", B),
      );
    const weights = weightsOfRows(op, this.#recipe, samples);
    const total = weights.reduce((sum, own) => sum + Object.keys(own).length, 0);
    const sources: Record<string, SourceRewards> = {};
    const scoring = rewardTasks(op, samples, this.#sources, weights, sources, rowsPerCall, counter("rewards", total));

    const finish = (): Experience<Data> => {
      const scores = scoresOf(op, sources, weights);
      const oldLogProbSource: LogProbSource = ask ? (policy.logits ? "logits" : "logProbs") : "sampler";
      const oldLogProbs = old?.values("logProbs") ?? samples.samplerLogProbs;
      return {
        ...samples,
        oldLogProbs,
        oldLogProbSource: oldLogProbs && oldLogProbSource,
        entropies: old && policy.logits ? old.values("entropies") : undefined,
        referenceLogProbs: referred && referred.values("logProbs"),
        values: valued && valued.values("values"),
        sourceRewards: Object.fromEntries(Object.entries(sources).map(([source, { values }]) => [source, values])),
        sourceReasons: Object.fromEntries(Object.entries(sources).map(([source, { reasons }]) => [source, reasons])),
        scores,
        rewards: scores,
        keptGroups: new Uint8Array(samples.prompts.length).fill(1),
      };
    };
    return { tasks: [...(old?.tasks ?? []), ...(referred?.tasks ?? []), ...(valued?.tasks ?? []), ...scoring], finish };
  }

  /** Penalty, KL, groups, then the estimator. No waiting from here on. */
  #estimate(op: string, judged: Experience<Data>): Experience<Data> {
    const { overlong, dropGroups, klEstimator, advantages, backend: name } = this.#options;
    const backend = name ? { backend: name } : {};
    const { groups, offsets, mask, oldLogProbs, referenceLogProbs, scores } = judged;
    const penalized =
      overlong && overlongPenalty(scores, Array.from(countKept({ offsets, mask, ...backend })), overlong);
    const rewards = penalized ? Float64Array.from(penalized.rewards) : scores;
    const shaping = { offsets, mask, groups, dropGroups, ...backend };
    const { keptGroups: taught, groupIds, mask: kept = mask } = compareInGroups(op, rewards, null, shaping);
    const keptGroups = judged.keptGroups.slice();
    groups.forEach((group, b) => (keptGroups[group] = taught[groupIds[b]!]!));
    if (referenceLogProbs && !oldLogProbs)
      throw argumentError(
        "ERR_SURPRISAL_OPTION",
        op,
        "reference",
        "given",
        "log-probs of the policy or of the sampler beside it",
      );
    const where = { offsets, mask: dropGroups ? kept : mask, ...backend };
    const kl =
      referenceLogProbs &&
      oldLogProbs &&
      klEstimates(oldLogProbs, referenceLogProbs, { ...where, kind: klEstimator ?? "k1" }).values;
    const experience: Experience<Data> = {
      ...judged,
      mask: where.mask,
      rewards,
      keptGroups,
      penalties: penalized && Float64Array.from(penalized.penalties),
      kl,
      meanKls: kl && moments(kl, { ...where, over: "row" }).means,
    };
    if (advantages === undefined) return experience;
    if (typeof advantages === "function") return { ...experience, ...ownAdvantages(op, experience, advantages) };
    return { ...experience, ...this.#pipeline(op, experience, advantages) };
  }

  #pipeline(
    op: string,
    { offsets, mask, groups, rewards, kl, values }: Experience<Data>,
    { shapeGroups = true, ...steps }: AdvantageSteps,
  ): Partial<Experience<Data>> {
    const { backend } = this.#options;
    const batch = { offsets, mask, rewards, kl, values };
    const { batches, runningMoments } = advantagePipeline([batch], {
      ...steps,
      runningMoments: this.#runningMoments,
      groups: shapeGroups && needStage(op, steps.estimator).shaping !== "refuse" ? groups : undefined,
      backend,
    });
    if (runningMoments) this.#runningMoments = runningMoments;
    return batches[0]!;
  }
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

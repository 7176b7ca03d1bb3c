// From prompts to advantages: generate, judge, score, estimate.
import type { BackendOption } from "../backend/select";
import type { CollectiveOption } from "../core/collective";
import { advantageNames } from "../advantage/compute";
import { needStage } from "../advantage/pipeline-estimators";
import type { KlController } from "../control/kl-controller";
import type { RunningMoments } from "../control/running-moments";
import { readingArguments } from "../core/checked-call";
import { optionError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { KL_KINDS, type KlKind } from "../ops/loss/kl-estimates";
import type { OverlongPenaltyOptions } from "../reward/overlong-penalty";
import type { Critic, Policy, RewardSource, ScoringPolicy } from "./adapters";
import type { Prompt } from "./completion";
import { runBounded } from "./bounded";
import {
  type AdvantageFunction,
  type AdvantageSteps,
  type Discounts,
  estimateExperience,
  type EstimateSettings,
  isOwnSteps,
  type KlControl,
  type MovingState,
} from "./estimate";
import { costsKl, readsSources, takesOption } from "./estimator-steps";
import { generateCompletions, type GenerateOptions, type GenerationProgress, type PolicyGeneration } from "./generate";
import { type GenerationOptions, needGenerationOptions } from "./generation";
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

export type { AdvantageFunction, AdvantageSteps, Discounts, KlControl, PipelineSteps } from "./estimate";
export type { EstimatorInputs, EstimatorSteps } from "./estimator-steps";

const OLD_LOG_PROBS = ["policy", "sampler"] as const;
const DROP_GROUPS = ["constant", "zeroOrOne"] as const;

export interface ExperienceMakerOptions<Data = unknown> extends GenerationOptions, BackendOption, CollectiveOption {
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
  /** Steers the KL coefficient, which the advantages then cost, or the loss. Needs a reference. Default: none. */
  readonly klController?: KlControl;
  /** From rewards to advantages: an estimator by its name with its options, or a function. Default: no advantages. */
  readonly advantages?: AdvantageSteps<Data> | AdvantageFunction<Data>;
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

export interface MakeOptions extends Discounts {
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
  return typeof rewards === "function" || typeof (rewards as { rewards?: unknown } | null)?.rewards === "function";
}

/** Sources and adapters that can be called, in pieces of whole numbers. */
function needCalls<Data>(
  op: string,
  { policy, critic, ...options }: ExperienceMakerOptions<Data>,
  sources: NamedSources<Data>,
): void {
  needGenerationOptions(op, options);
  for (const name of ["promptsPerCall", "rowsPerCall", "concurrency"] as const)
    needNumber(op, name, options[name] ?? 1, { min: 1, integer: true });
  const asks = (model: object | undefined, name: string): unknown =>
    (model as Record<string, unknown> | undefined)?.[name];
  if (typeof asks(policy, "generate") !== "function")
    throw optionError(op, "policy.generate", asks(policy, "generate"), "a function");
  needNumber(op, "policy.promptsPerCall", policy.promptsPerCall ?? 1, { min: 1, integer: true });
  const models = { policy, reference: options.reference, critic };
  for (const [name, model] of Object.entries(models))
    needNumber(op, `${name}.rowsPerCall`, model?.rowsPerCall ?? 1, { min: 1, integer: true });
  if (critic && typeof asks(critic, "values") !== "function")
    throw optionError(op, "critic.values", asks(critic, "values"), "a function");
  const named: unknown = sources;
  if (typeof named !== "object" || named === null || Object.keys(named).length === 0)
    throw optionError(op, "rewards", sources, "at least one source");
  for (const [name, source] of Object.entries(sources))
    if (!isSource(source)) throw optionError(op, `rewards.${name}`, source, "a function, or { rewards }");
}

/** Models that say what the steps ask of them. */
function needModels<Data>(
  op: string,
  { policy, reference, oldLogProbs, klEstimator, klController }: ExperienceMakerOptions<Data>,
): void {
  needWord(op, "klEstimator", klEstimator ?? "k1", KL_KINDS);
  if (oldLogProbs === "policy" && !askPolicy(policy, {}))
    throw optionError(op, "oldLogProbs", "policy", 'a policy with logProbs or logits; or "sampler"');
  if (reference && !askPolicy(reference, {})) throw optionError(op, "reference", reference, "logProbs or logits");
  if (klController && !reference)
    throw optionError(op, "reference", reference, "a reference policy with a klController");
  if (klController && typeof (klController.state as KlController | null | undefined)?.coefficient !== "number")
    throw optionError(op, "klController.state", klController.state, "{ coefficient }");
}

/** Whether a discount changes the advantages of these steps. */
function discounts(steps: AdvantageSteps<never>, name: string): boolean {
  if (isOwnSteps(steps) || name !== "gamma") return takesOption(steps.estimator, name);
  return needStage("ExperienceMaker", steps.estimator).reads.includes("tokenRewards");
}

/** Steps that have what they read, and nothing that contradicts another option. */
function needSteps<Data>(
  op: string,
  steps: AdvantageSteps<Data>,
  { critic, reference, klController, overlong }: ExperienceMakerOptions<Data>,
  recipe: CheckedRecipe,
): void {
  const { estimator, klCoefficient } = steps;
  const refuse = (name: string, got: unknown, want: string): Error => optionError(op, name, got, want);
  needWord(op, "advantages.estimator", estimator, advantageNames);
  if (klController && klCoefficient !== undefined)
    throw refuse("advantages.klCoefficient", klCoefficient, "nothing beside a klController, which has the coefficient");
  if ((klCoefficient ?? 0) > 0 && !reference)
    throw refuse("reference", reference, "a reference policy with a klCoefficient above 0");
  if (!isOwnSteps(steps)) {
    if (needStage(op, steps.estimator).needsValues && !critic)
      throw refuse("critic", critic, `a critic with estimator "${estimator}"`);
    return;
  }
  if (klCoefficient !== undefined && !costsKl(steps.estimator))
    throw refuse("advantages.klCoefficient", klCoefficient, `nothing with estimator "${estimator}", which costs no KL`);
  if (!readsSources(estimator)) return;
  if (overlong)
    throw refuse(
      "overlong",
      overlong,
      `nothing with estimator "${estimator}", which compares the sources; add a source`,
    );
  const { weights } = steps as { readonly weights?: unknown };
  if (recipe.all === undefined && weights === undefined)
    throw refuse("recipe", "one for each label", `one for all with estimator "${estimator}"; or advantages.weights`);
}

/**
 * Makes experiences, in this order: generation → log-probs, reference, critic and rewards side by side → overlong penalty → shaping within groups
 * → running normalisation → clip → KL penalty → estimator → normalisation over the batch. Steps without options are left
 * out; the others keep their numbers in the result.
 *
 * With `collective` every rank generates and judges its own prompts, and the steps behind that see the batch of all ranks:
 * normalisation, running moments and the KL controller are the same on each. All ranks make each call of `make` or `evaluate`. A
 * rank whose call fails before that has to close the collective, or the others wait for it.
 *
 * Nothing is kept between calls but `runningMoments` and `klController`, which move on only when an experience is complete. All
 * options are checked before anything is generated: those of the maker when it is made, those of a call when it is called.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for options out of their range, or that contradict each other; as the estimator
 */
export class ExperienceMaker<Data = unknown> {
  readonly #options: ExperienceMakerOptions<Data>;
  readonly #sources: NamedSources<Data>;
  readonly #recipe: CheckedRecipe;
  readonly #settings: EstimateSettings<Data>;
  #state: MovingState;

  constructor(options: ExperienceMakerOptions<Data>) {
    const op = "ExperienceMaker";
    this.#options = options;
    this.#sources = isSource(options.rewards) ? { [ONE_SOURCE]: options.rewards } : options.rewards;
    needCalls(op, options, this.#sources);
    this.#recipe = needRecipe(op, options.recipe, this.#sources);
    if (options.oldLogProbs !== undefined) needWord(op, "oldLogProbs", options.oldLogProbs, OLD_LOG_PROBS);
    if (options.dropGroups !== undefined) needWord(op, "dropGroups", options.dropGroups, DROP_GROUPS);
    needModels(op, options);
    const { overlong, dropGroups, klEstimator, klController: klControl, advantages, backend, collective } = options;
    if (typeof advantages === "object") needSteps(op, advantages, options, this.#recipe);
    else if (advantages !== undefined && typeof advantages !== "function")
      throw optionError(op, "advantages", advantages, "{ estimator, … } or a function");
    const weights = this.#recipe.all;
    this.#settings = { overlong, dropGroups, klEstimator, klControl, advantages, weights, backend, collective };
    const runningMoments =
      typeof advantages === "object" && !isOwnSteps(advantages) ? advantages.runningMoments : undefined;
    this.#state = { runningMoments, klController: klControl?.state };
    this.#rehearse(op, {});
  }

  /** State of the running normalisation of rewards, after the last complete experience; undefined where there is none. */
  get runningMoments(): RunningMoments | undefined {
    return this.#state.runningMoments;
  }

  /** State of the KL controller, after the last complete experience; undefined where there is none. */
  get klController(): KlController | undefined {
    return this.#state.klController;
  }

  /** The steps behind the judging on no rows at all: whatever options they refuse, they refuse before anything is asked for. */
  #rehearse(op: string, { gamma, lambda }: MakeOptions): void {
    const { policy, reference, critic, advantages } = this.#options;
    for (const [name, value] of Object.entries({ gamma, lambda })) {
      if (value === undefined) continue;
      needNumber(op, name, value, { min: 0, max: 1 });
      if (typeof advantages === "object" && discounts(advantages, name)) continue;
      const by = typeof advantages === "object" ? `estimator "${advantages.estimator}"` : "these advantages";
      throw optionError(op, name, value, `nothing: ${by} has no ${name}`);
    }
    const none = new Float64Array(0);
    const nothing: Experience<Data> = {
      prompts: [],
      groups: new Int32Array(0),
      promptIds: new Int32Array(0),
      promptOffsets: new Int32Array(1),
      tokenIds: new Int32Array(0),
      offsets: new Int32Array(1),
      mask: new Uint8Array(0),
      samplerLogProbs: none,
      texts: [],
      finishReasons: [],
      truncated: new Uint8Array(0),
      oldLogProbs: none,
      entropies: policy.logits && this.#options.oldLogProbs !== "sampler" ? none : undefined,
      referenceLogProbs: reference && none,
      values: critic && none,
      sourceRewards: Object.fromEntries(Object.keys(this.#sources).map((source) => [source, none])),
      sourceReasons: {},
      scores: none,
      rewards: none,
      keptGroups: new Uint8Array(0),
    };
    estimateExperience(op, nothing, this.#settings, this.#state, { gamma, lambda }, true);
  }

  /**
   * Completions of the prompts, judged and estimated.
   *
   * @throws as `generateCompletions` and `evaluate`
   */
  async make(prompts: readonly Prompt<Data>[], options: MakeOptions = {}): Promise<MadeExperience<Data>> {
    const op = "ExperienceMaker.make";
    readingArguments(op, () => this.#rehearse(op, options));
    const generation = await this.generate(prompts, options);
    const experience = await this.evaluate(samplesOf(generation.groups), options);
    const { statistics, leftOut, failures } = generation;
    return { ...experience, generation: statistics, leftOut, failures };
  }

  /** The first step alone. `samplesOf(groups)` is what `evaluate` takes. */
  async generate(
    prompts: readonly Prompt<Data>[],
    options: Omit<MakeOptions, keyof Discounts> = {},
  ): Promise<PolicyGeneration<Data>> {
    const op = "ExperienceMaker.generate";
    const given = readingArguments(op, (): GenerateOptions => {
      if (!Array.isArray(prompts)) throw optionError(op, "prompts", prompts, "an array");
      return { ...this.#options, ...options };
    });
    return generateCompletions(this.#options.policy, prompts, given);
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
    const { judged, gamma, lambda, signal } = readingArguments(op, () => {
      this.#rehearse(op, options);
      const { gamma, lambda, signal } = options;
      return { judged: this.#judge(op, samples, options), gamma, lambda, signal };
    });
    await runBounded(op, judged.tasks, concurrency, signal);
    const { experience, state } = estimateExperience(op, judged.finish(), this.#settings, this.#state, {
      gamma,
      lambda,
    });
    this.#state = state;
    return experience;
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
      throw optionError(op, "oldLogProbs", "sampler", "samples with log-probs of the sampler for every row");
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
}

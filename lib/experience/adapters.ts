// What a trainer plugs in: the policy, and what judges its responses. Every method may answer at once or with a promise, gets a
// signal that aborts when the answer is not wanted any more, and may throw: the error goes to the caller of the maker.
import type { FloatArray } from "../core/dtype";
import type { Logits } from "../ops/logprob";
import type { RewardInput, RewardResult } from "../reward/reward-function";
import type { Samples } from "./records";

export type Awaitable<T> = T | Promise<T>;

export interface CallOptions {
  /** Aborts when the call was given up: by the caller, or since another one failed. */
  readonly signal: AbortSignal;
}

export interface Prompt<Data = unknown> {
  /** Ids of the prompt, template and all. Needed where the policy does not report them. */
  readonly ids?: ArrayLike<number>;
  readonly text?: string;
  /** Chooses the recipe of its rewards; the `ability` of reward functions. */
  readonly label?: string;
  /** What responses are compared with, as reward functions take it. */
  readonly answer?: unknown;
  /** Anything else that rewards want to know. Handed through. */
  readonly data?: Data;
}

/** One response, exactly as sampled. */
export interface Completion {
  readonly tokenIds: ArrayLike<number>;
  /** Ids of the prompt as the policy saw it. Default: those of the prompt. */
  readonly promptIds?: ArrayLike<number>;
  readonly text?: string;
  /** Log-probs of the tokens as the sampler had them, nats. */
  readonly logProbs?: ArrayLike<number>;
  /** 1 = the policy's token, 0 = not (what a tool said). Default: all 1. */
  readonly mask?: ArrayLike<number>;
  /** `"length"`: cut. */
  readonly finishReason?: string | null;
  readonly stopReason?: string | null;
  /** Overrules what the finish reason says. */
  readonly truncated?: boolean | null;
}

export interface GenerationRequest<P = Prompt> {
  readonly prompts: readonly P[];
  /** Which prompts these are of those given. */
  readonly indices: readonly number[];
  /** Completions wanted of each prompt; 0 = as many as there are. */
  readonly counts: readonly number[];
  /** 0 = the first time; above: prompts that lack completions, with what they lack. */
  readonly round: number;
}

/** The completions of each prompt of a request, in its order. Fewer lists than prompts, or null: nothing came for the others. */
export type Generated<C = Completion> = readonly (readonly C[])[] | null;

/** A policy that can be asked for the log-probs of given tokens: also the reference policy of a KL term. */
export interface ScoringPolicy<Data = unknown> {
  /** Rows of one call of `logProbs`, `logits` or `values`. Default: as the maker says. */
  readonly rowsPerCall?: number;
  /** Log-probs of the response tokens, nats; one per token, packed as `samples.offsets` says. */
  logProbs?(samples: Samples<Data>, options: CallOptions): Awaitable<FloatArray>;
  /** The logits that score each response token, [tokens, vocabulary]; log-probs and entropies are computed from them. */
  logits?(samples: Samples<Data>, options: CallOptions): Awaitable<Logits>;
}

export interface Policy<Data = unknown> extends ScoringPolicy<Data> {
  /** Prompts of one call of `generate`. Default: as the maker says. */
  readonly promptsPerCall?: number;
  generate(request: GenerationRequest<Prompt<Data>>, options: CallOptions): Awaitable<Generated>;
}

export interface Critic<Data = unknown> {
  readonly rowsPerCall?: number;
  /** V at each response token, packed. */
  values(samples: Samples<Data>, options: CallOptions): Awaitable<FloatArray>;
}

/** A number, with its reason or without; null, or a result with NaN, where this reward does not apply to the row. */
export type RewardValue = number | null | RewardResult;

/** One per row. NaN (but as a result's) and infinities are refused. */
export type RewardValues = ArrayLike<RewardValue>;

export interface RewardModel<Data = unknown> {
  readonly rowsPerCall?: number;
  rewards(samples: Samples<Data>, options: CallOptions): Awaitable<RewardValues>;
}

/** One response, as a reward function sees it. Reading `completion` of a response without text throws: it is not empty. */
export interface RewardRow<Data = unknown> extends RewardInput {
  /** The prompt as it was given to the maker. */
  readonly source: Prompt<Data>;
  /** Which prompt of the batch it is. */
  readonly group: number;
  readonly promptIds: Int32Array;
  readonly tokenIds: Int32Array;
  readonly finishReason: string | undefined;
  readonly truncated: boolean;
}

/** All functions of surprisal/reward are such functions. */
export type RewardFunction<Data = unknown> = (rows: readonly RewardRow<Data>[], options: CallOptions) => Awaitable<RewardValues>;

export type RewardSource<Data = unknown> = RewardModel<Data> | RewardFunction<Data>;

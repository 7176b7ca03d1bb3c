// What a trainer gives to the maker: the policy, and what judges its responses. Every method may return its answer or a promise of
// it. It gets a signal that aborts when the answer is no longer needed. An error that it throws goes to the caller of the maker.
import type { FloatArray } from "../core/dtype";
import type { Logits } from "../ops/logprob";
import type { RewardInput, RewardResult } from "../reward/reward-function";
import type { Prompt } from "./completion";
import type { Generated, GenerationRequest } from "./generation";
import type { Samples } from "./records";

export type Awaitable<T> = T | Promise<T>;

export interface CallOptions {
  /** Aborts when the caller gives up, or when another call has failed. */
  readonly signal: AbortSignal;
}

/** A policy that computes the log-probs of given tokens, such as the reference policy of a KL term. */
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

/** A number, or a number with its reason; null, or a result with NaN, where this reward does not apply to the row. */
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
export type RewardFunction<Data = unknown> = (
  rows: readonly RewardRow<Data>[],
  options: CallOptions,
) => Awaitable<RewardValues>;

export type RewardSource<Data = unknown> = RewardModel<Data> | RewardFunction<Data>;

// What a reward function is: completions in, a number with its reason for each out.

/** A completion, and what its reward is decided by. */
export interface RewardInput {
  /** The text that the policy wrote, without the prompt. */
  readonly completion: string;
  readonly prompt?: string;
  /** What the answer is compared with: a text or number, several that count alike, or the tests of a program. */
  readonly answer?: unknown;
  /** Which scorer decides, such as "math" or "code". */
  readonly ability?: string;
  /** Anything else that a function of one's own reads. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface RewardResult {
  /** NaN: this function says nothing about the completion. */
  readonly reward: number;
  /** Why, in a word or a few: `"equal"`, `"different"`, `"no answer"`, `"time limit"` … */
  readonly reason: string;
  /** What a person would look at next. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface RewardCallOptions {
  /** Ends the call: it rejects with the signal's reason, and programs that run are stopped. */
  readonly signal?: AbortSignal;
  /** Called after each completion with how many of them have a reward. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** One result for each input, in their order. What it throws is a fault of the caller or of the function, never of a completion. */
export type RewardFunction = (
  inputs: readonly RewardInput[],
  options?: RewardCallOptions,
) => readonly RewardResult[] | Promise<readonly RewardResult[]>;

// What generation is about: a prompt, and one response to it.

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
  readonly samplerLogProbs?: ArrayLike<number>;
  /** 1 = the policy's token, 0 = not (what a tool said). Default: all 1. */
  readonly mask?: ArrayLike<number>;
  /** `"length"`: cut. */
  readonly finishReason?: string | null;
  readonly stopReason?: string | null;
  /** Overrules what the finish reason says. */
  readonly truncated?: boolean | null;
}

// The one record that every reader gives and every writer takes: a rollout, which is one completion of one prompt.
//
// In TypeScript the fields are camelCase and hold typed arrays; in JSON (a line of our JSONL, a column of Parquet) they are
// snake_case and hold plain arrays, as JSON_NAMES says. schema/rollout.schema.json is the same as a JSON Schema.
//
// T is the number of the completion's tokens. Log-probs and entropies are in nats. A field that a source does not have is
// absent, never guessed: text is not re-tokenised, a top-k list is not an entropy, and log-probs of the sampler do not stand in
// for those of the trainer.

/** What is likeliest at each token, as an inference server lists it: the k best, and often the sampled token besides. */
export interface TopK {
  /** Int32 [T+1]: the alternatives of token t are entries offsets[t] … offsets[t+1] of the arrays below. */
  readonly offsets: Int32Array;
  /** Log-prob of each alternative, nats. */
  readonly logProbs: Float64Array;
  /** Vocabulary id of each alternative, where the source has ids. */
  readonly ids?: Int32Array;
  /** Text of each alternative, where the source has text. */
  readonly tokens?: readonly string[];
}

/** One completion of one prompt, with what is known about it. */
export interface Rollout {
  /**
   * Which rollouts belong together: those of one prompt. The same label in another `step` is another group. Sources without
   * one are grouped by identical prompt, and the label is then made of a hash of the prompt.
   */
  readonly group?: string | number;
  /** The source's own name of this completion. */
  readonly id?: string;
  /** Training step. */
  readonly step?: number;

  /** Text of the prompt, as the source has it (special tokens may have been dropped there). */
  readonly prompt?: string;
  /** Text of the completion. */
  readonly text?: string;
  /** Ids of the prompt. */
  readonly promptIds?: Int32Array;
  /** Ids of the completion, exactly as sampled; [T]. */
  readonly tokenIds?: Int32Array;
  /** Text of each token of the completion, where the source has it; [T]. */
  readonly tokens?: readonly string[];

  /** Log-probs of the sampled tokens as the inference server (the sampler) computed them; [T]. */
  readonly samplerLogProbs?: Float64Array;
  /** The same tokens under the same weights, computed again by the trainer; [T]. `samplerGap` compares the two. */
  readonly recomputedLogProbs?: Float64Array;
  /** Log-probs under the policy that an update starts from: the denominator of the ratio; [T]. */
  readonly oldLogProbs?: Float64Array;
  /** Log-probs under the reference policy of a KL term; [T]. */
  readonly referenceLogProbs?: Float64Array;
  /** Entropy over the whole vocabulary at each token; [T]. A bound from top-k never stands here: see `entropyBounds`. */
  readonly entropies?: Float64Array;
  /** The likeliest tokens at each position. */
  readonly topK?: TopK;
  /** A critic's value at each token; [T]. */
  readonly values?: Float64Array;
  /** 1 = the policy's token, 0 = not (tool output, padding); [T]. Absent: all 1. */
  readonly mask?: Uint8Array;

  /** The outcome reward of the completion. */
  readonly reward?: number;
  /** Rewards by name, where there are several functions; `reward` is what they come to, if the source says. */
  readonly rewards?: Readonly<Record<string, number>>;
  /** Reward at each token; [T]. */
  readonly tokenRewards?: Float64Array;
  /** One advantage for the completion, as some trainers log it. */
  readonly advantage?: number;
  /** Advantage at each token, 0 under the mask; [T]. */
  readonly advantages?: Float64Array;

  /** Why generation ended, in the source's words: "stop", "length", "abort", "tool_calls" … */
  readonly finishReason?: string;
  /** What else the source says about this completion, as JSON values. */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** TypeScript name → name in JSON. */
export const JSON_NAMES = {
  group: "group",
  id: "id",
  step: "step",
  prompt: "prompt",
  text: "text",
  promptIds: "prompt_ids",
  tokenIds: "token_ids",
  tokens: "tokens",
  samplerLogProbs: "sampler_logprobs",
  recomputedLogProbs: "recomputed_logprobs",
  oldLogProbs: "old_logprobs",
  referenceLogProbs: "reference_logprobs",
  entropies: "entropies",
  /** `{"logprobs": [[…], …], "ids"?: [[…], …], "tokens"?: [[…], …]}`, one inner array per token. */
  topK: "topk",
  values: "values",
  mask: "mask",
  reward: "reward",
  rewards: "rewards",
  tokenRewards: "token_rewards",
  advantage: "advantage",
  advantages: "advantages",
  finishReason: "finish_reason",
  meta: "meta",
} as const satisfies Record<keyof Rollout, string>;

/**
 * A rollout with more fields, or other ones. Not by spread syntax: V8 gives each object that it clones and then adds to a hidden class of
 * its own, and what reads a million of those is 20 times slower.
 */
export function withFields<R extends Rollout, F extends object>(rollout: R, fields: F): R & F {
  return Object.assign({}, rollout, fields);
}

/** The fields that hold one float64 per token of the completion. */
export const TOKEN_FIELDS = [
  "samplerLogProbs",
  "recomputedLogProbs",
  "oldLogProbs",
  "referenceLogProbs",
  "entropies",
  "values",
  "tokenRewards",
  "advantages",
] as const satisfies readonly (keyof Rollout)[];

export type TokenField = (typeof TOKEN_FIELDS)[number];

/** The fields that hold one entry per token of the completion. */
export const PER_TOKEN = ["tokenIds", "tokens", "mask", ...TOKEN_FIELDS] as const;

/** The first of the fields whose length is not `count`; undefined where all have it or are absent. */
export function wrongLength<Field extends string>(
  record: { readonly [Name in Field]?: ArrayLike<unknown> },
  fields: readonly Field[],
  count: number,
): { readonly field: Field; readonly length: number } | undefined {
  for (const field of fields) {
    const length = record[field]?.length;
    if (length !== undefined && length !== count) return { field, length };
  }
  return undefined;
}

/**
 * How many tokens the completion of a rollout has; undefined where no field has one entry per token. The fields are those of `PER_TOKEN`,
 * each by its name: this is asked many times of each of a million rollouts.
 */
export function tokenCount(rollout: Rollout): number | undefined {
  const known =
    rollout.tokenIds ??
    rollout.tokens ??
    rollout.mask ??
    rollout.samplerLogProbs ??
    rollout.recomputedLogProbs ??
    rollout.oldLogProbs ??
    rollout.referenceLogProbs ??
    rollout.entropies ??
    rollout.values ??
    rollout.tokenRewards ??
    rollout.advantages;
  return known?.length ?? (rollout.topK && rollout.topK.offsets.length - 1);
}

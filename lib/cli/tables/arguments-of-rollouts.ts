// What the arguments of the library are called in a rollout: the fields that are tried, in order. `--field argument=field` says
// another one. A field of `meta` is "meta.name".

/** The arguments of a batch: needed, taken where every rollout has them, or not for a command line. */
export type Reads<Batch> = {
  readonly [Name in Exclude<keyof Batch, "shape" | "offsets" | "groupOffsets" | "advantagesPer" | "rolloutWeightsPer">]-?: "need" | "take" | "leave";
};

export interface ArgumentSource {
  /** One number a token, or one a rollout. */
  readonly per: "token" | "row";
  readonly fields: readonly string[];
}

const token = (...fields: string[]): ArgumentSource => ({ per: "token", fields });
const row = (...fields: string[]): ArgumentSource => ({ per: "row", fields });

/** Numbers. Ids, masks and groups have one place each. */
export const ARGUMENTS = {
  rewards: row("reward"),
  scores: row("reward"),
  baselines: row("meta.baseline"),
  bootstrap: row("meta.bootstrap"),
  rowAdvantages: row("advantage"),
  rowMask: row("meta.row_mask"),
  oldSequenceLogProbs: row("meta.old_sequence_logprob"),
  tokenLevelRewards: token("token_rewards"),
  values: token("values"),
  entropies: token("entropy"),
  advantages: token("advantages"),
  logProbs: token("recomputed_logprobs", "old_logprobs", "logprobs"),
  oldLogProbs: token("old_logprobs", "recomputed_logprobs", "logprobs"),
  studentLogProbs: token("recomputed_logprobs", "old_logprobs", "logprobs"),
  referenceLogProbs: token("ref_logprobs"),
  samplerLogProbs: token("logprobs"),
  rolloutLogProbs: token("logprobs"),
  teacherLogProbs: token("meta.teacher_logprobs"),
  sumSquares: token("meta.sum_squares"),
  importance: token("meta.importance"),
  importanceWeights: token("meta.importance_weights"),
  rolloutWeights: token("meta.rollout_weights"),
  entropyMask: token("meta.entropy_mask"),
  termMask: token("meta.term_mask"),
  dones: token("meta.dones"),
} as const satisfies Readonly<Record<string, ArgumentSource>>;

export type ArgumentName = keyof typeof ARGUMENTS;

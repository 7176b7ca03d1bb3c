// Which fields of a rollout each argument of the library is read from: the first that every rollout has. `--field argument=field`
// names another one. A field of `meta` is "meta.name".

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
  roles: row("meta.role"),
  logZ: row("meta.log_z"),
  bootstrap: row("meta.bootstrap"),
  rowAdvantages: row("advantage"),
  rowMask: row("meta.row_mask"),
  oldSequenceLogProbs: row("meta.old_sequence_logprob"),
  tokenRewards: token("token_rewards"),
  values: token("values"),
  entropies: token("entropies"),
  advantages: token("advantages"),
  logProbs: token("recomputed_logprobs", "old_logprobs", "sampler_logprobs"),
  oldLogProbs: token("old_logprobs", "recomputed_logprobs", "sampler_logprobs"),
  studentLogProbs: token("recomputed_logprobs", "old_logprobs", "sampler_logprobs"),
  referenceLogProbs: token("reference_logprobs"),
  samplerLogProbs: token("sampler_logprobs"),
  teacherLogProbs: token("meta.teacher_logprobs"),
  sumSquares: token("meta.sum_squares"),
  importanceWeights: token("meta.importance_weights"),
  rolloutWeights: token("meta.rollout_weights"),
  entropyMask: token("meta.entropy_mask"),
  termMask: token("meta.term_mask"),
  dones: token("meta.dones"),
} as const satisfies Readonly<Record<string, ArgumentSource>>;

/** Whether an argument has a number for each token. */
export function isPerToken(name: string): boolean {
  if (name === "mask" || name === "tokens") return true;
  return (ARGUMENTS as Readonly<Partial<Record<string, ArgumentSource>>>)[name]?.per === "token";
}

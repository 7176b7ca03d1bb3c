// Sizes that training has, by name. Everything the bench times has one of these.

export interface Shape {
  readonly name: string;
  readonly sizes: readonly number[];
}

function shape<const S extends readonly number[]>(name: string, ...sizes: S) {
  return { name, sizes } as const;
}

/** [rows, vocabulary] of logits. */
export const LOGITS = {
  qwen: shape("Qwen vocabulary", 512, 151_936),
  llama2: shape("Llama 2 vocabulary", 4096, 32_000),
  small: shape("small vocabulary", 16_384, 4096),
  oneToken: shape("one token", 1, 151_936),
  fewTokens: shape("63 tokens", 63, 151_936),
} as const;

/** [rows, steps] of token rows. */
export const ROLLOUTS = {
  batch: shape("512 rollouts", 512, 8192),
  long: shape("8 long episodes", 8, 1_048_576),
  single: shape("one endless episode", 1, 8_388_608),
  short: shape("65536 short rollouts", 65_536, 128),
  odd: shape("41000 rollouts of an odd length", 41_000, 101),
} as const;

/** [rows, tokens] of rollouts with steps between delimiters. */
export const EPISODES = { million: shape("1e6 tokens of episodes", 512, 2048) } as const;

/** Token ids of a corpus. */
export const TOKENS = {
  million: shape("1e6 tokens", 1e6),
  tenMillion: shape("1e7 tokens", 1e7),
  hundredMillion: shape("1e8 tokens", 1e8),
} as const;

/** [rewards, rewards of a group]; 0: groups of 1 to 64, drawn. */
export const REWARDS = {
  eights: shape("groups of 8", 1e6, 8),
  sixtyFours: shape("groups of 64", 1e6, 64),
  ragged: shape("ragged groups", 1e6, 0),
} as const;

/** [rows, dim, vocabulary] of a linear head. */
export const HEADS = {
  block: shape("a block of rows, Llama 2 vocabulary", 512, 1024, 32_000),
  few: shape("64 rows, Llama 2 vocabulary", 64, 1024, 32_000),
} as const;

/** So small that only the way through the public function counts. */
export const SMALL = {
  group: shape("one group of 8", 1, 8),
  ratio: shape("64 rows of 64", 64, 64),
  tokens: shape("64 tokens", 1, 64),
} as const;

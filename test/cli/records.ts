// Rollouts with everything in them that some estimator or loss reads.
import { rng } from "../support/rng";
import { jsonl } from "./in-process";

export interface RecordLine {
  readonly group: string;
  readonly step: number;
  readonly token_ids: readonly number[];
  readonly sampler_logprobs: readonly number[];
  readonly old_logprobs: readonly number[];
  readonly reference_logprobs: readonly number[];
  readonly entropies: readonly number[];
  readonly values: readonly number[];
  readonly mask: readonly number[];
  readonly reward: number;
  readonly rewards: Readonly<Record<string, number>>;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** Steps of tokens 4 … 5; token 6 ends the thinking. */
const DELIMITERS = { start: [[4]], end: [[5]], think_end: 6 };

export function records(seed: number, groups: number, members: number): RecordLine[] {
  const random = rng(seed);
  const list = (count: number, low: number, high: number): number[] => Array.from(random.f64(count, low, high));
  return Array.from({ length: groups * members }, (_, row) => {
    const steps = 1 + (row % 3);
    const token_ids = [...Array.from({ length: steps }, () => [4, 1, 2, 5]).flat(), 6, 3];
    const tokens = token_ids.length;
    const reward = random.f64(1, -1, 1)[0]!;
    return {
      group: `problem ${Math.floor(row / members)}`,
      step: 7,
      token_ids,
      sampler_logprobs: list(tokens, -2, 0),
      old_logprobs: list(tokens, -2, 0),
      reference_logprobs: list(tokens, -2, 0),
      entropies: list(tokens, 0.1, 2),
      values: list(tokens, -1, 1),
      mask: token_ids.map((_id, t) => (t === 1 ? 0 : 1)),
      reward,
      rewards: { form: reward > 0 ? 1 : 0, content: reward },
      meta: {
        delimiters: DELIMITERS,
        baseline: 0.25,
        role: row % 2,
        teacher_logprobs: list(tokens, -2, 0),
        sum_squares: list(tokens, 0.1, 0.9),
        dones: token_ids.map((_id, t) => (t === tokens - 1 ? 1 : 0)),
      },
    };
  });
}

export const recordText = (seed: number, groups = 4, members = 3): string => jsonl(records(seed, groups, members));

/** The flags without which an estimator refuses. */
export const NEEDED: Readonly<Record<string, readonly string[]>> = {
  gae: ["--gamma", "1", "--lambda", "0.95"],
  turnGae: ["--gamma", "1", "--lambda", "0.95"],
  ppo: ["--gamma", "1", "--lambda", "0.95", "--kl-coefficient", "0.1"],
  optimalValue: ["--beta", "0.5"],
  miniLlm: ["--gamma", "1"],
  iwOpd: ["--gamma", "1"],
  puff: ["--gamma", "1", "--lambda", "0.9"],
  lambdaGrpo: ["--lambda", "1", "--length-scale", "0.2"],
  fipo: ["--gamma", "0.9"],
};

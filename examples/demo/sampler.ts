// Rollouts: tokens drawn one by one from the policy's own logits, several responses to each prompt.
import { FEATURES, type Network, writeFeatures } from "./network";
import type { Collective } from "../../lib";
import type { Random } from "./random";
import { aroundHere } from "./ranks";
import { ANSWER_END, MAX_TOKENS, type Problem, type Responses, VOCABULARY } from "./task";

export interface Rollouts extends Responses {
  /** The problem of each row. */
  readonly problems: readonly Problem[];
  /** 1 = a token of the policy, 0 = behind the end of the response. */
  readonly mask: Uint8Array;
  /** What the policy sees at each token: [rows * tokens, FEATURES]. */
  readonly features: Float32Array;
  /** The logits that each token was drawn from: [rows * tokens, VOCABULARY]; 0 for responses that are given. */
  readonly logits: Float32Array;
}

/**
 * Draws an id from softmax(logits): the smallest one whose cumulative weight passes `uniform` of the total. In float64 from
 * the logits themselves, so that no backend's rounding decides about a token.
 */
function draw(logits: Float32Array, uniform: number): number {
  const largest = logits.reduce((a, b) => Math.max(a, b));
  const weights = Array.from(logits, (logit) => Math.exp(logit - largest));
  let left = uniform * weights.reduce((a, b) => a + b);
  const id = weights.findIndex((weight) => (left -= weight) < 0);
  return id < 0 ? logits.length - 1 : id;
}

/**
 * A response to the problem of each row. It ends with </answer>, or is cut at MAX_TOKENS. Ranks share one sequence of random numbers:
 * each row gets those that it would get on one rank.
 */
export function sample(
  policy: Network,
  random: Random,
  problems: readonly Problem[],
  collective?: Collective,
): Rollouts {
  const rows = problems.length;
  const batch = emptyBatch(problems);
  const ended = new Uint8Array(rows);
  for (let position = 0; position < MAX_TOKENS; ++position) {
    const open = ended.reduce((count, flag) => count + 1 - flag, 0);
    const [before, behind] = aroundHere(open, collective);
    if (before + open + behind === 0) break;
    random.skip(before);
    const logits = policy.logits(featuresAt(batch, position));
    for (let row = 0; row < rows; ++row) {
      if (ended[row]) continue;
      const at = row * MAX_TOKENS + position;
      const own = logits.subarray(row * VOCABULARY, (row + 1) * VOCABULARY);
      const token = draw(own, random.uniform());
      batch.logits.set(own, at * VOCABULARY);
      batch.tokens[at] = token;
      batch.mask[at] = 1;
      batch.lengths[row] = position + 1;
      ended[row] = token === ANSWER_END ? 1 : 0;
    }
    random.skip(behind);
  }
  return batch;
}

/** Given responses as a batch: demonstrations for supervised training, or sampled responses whose logits are computed again. */
export function batchOf(problems: readonly Problem[], responses: readonly ArrayLike<number>[]): Rollouts {
  const batch = emptyBatch(problems);
  responses.forEach((response, row) => {
    batch.tokens.set(response, row * MAX_TOKENS);
    batch.mask.fill(1, row * MAX_TOKENS, row * MAX_TOKENS + response.length);
    batch.lengths[row] = response.length;
  });
  for (let position = 0; position < MAX_TOKENS; ++position) featuresAt(batch, position);
  return batch;
}

function emptyBatch(problems: readonly Problem[]): Rollouts {
  const rows = problems.length;
  const n = rows * MAX_TOKENS;
  return {
    shape: [rows, MAX_TOKENS],
    problems,
    tokens: new Int32Array(n),
    lengths: new Int32Array(rows),
    mask: new Uint8Array(n),
    features: new Float32Array(n * FEATURES),
    logits: new Float32Array(n * VOCABULARY),
  };
}

/** The features of all rows at one position, [rows, FEATURES]; also entered in the batch. */
function featuresAt({ problems, tokens, features }: Rollouts, position: number): Float32Array {
  const block = new Float32Array(problems.length * FEATURES);
  problems.forEach((problem, row) => {
    const own = block.subarray(row * FEATURES, (row + 1) * FEATURES);
    writeFeatures(own, problem, tokens.subarray(row * MAX_TOKENS, (row + 1) * MAX_TOKENS), position);
    features.set(own, (row * MAX_TOKENS + position) * FEATURES);
  });
  return block;
}

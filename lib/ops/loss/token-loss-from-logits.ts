// A token loss whose log-probs come from logits: value, figures, and the gradient of the logits.
import { optionalFloats, optionalMask, type TokenIds } from "../../core/arrays";
import { needsHostArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { needNumber } from "../../core/option-checks";
import { needRows } from "../../core/row-layout";
import { broadcastRows } from "../group/broadcast";
import type { AsyncOption } from "../../backend/run-async";
import type { Logits } from "../logprob/logits";
import { rowMoments } from "../reduce/moments";
import {
  differentiateLogits,
  differentiateLogitsAsync,
  type LogitLossOptions,
  type TokenLogitsResult,
} from "./logit-gradient";
import type { LossOutput, LossResult } from "./types";
import { evaluateTokenLoss } from "./token-loss";

needsHostArrays(
  "tokenLossFromLogits",
  "its terms go to float64 between two kernels; logprob, tokenLoss and logprobBackward do the same on a device",
);

/** A reward for entropy: − coefficient·Σ_b rowWeights[b]·Σ_t entropy. */
export interface EntropyTerm {
  /** In loss per nat; a negative one punishes entropy. */
  readonly coefficient: number;
  /** Weight of each row's sum, [rows]. Default: `rowWeights` of the loss. */
  readonly rowWeights?: FloatArray;
  /** 1 = a kept token whose entropy counts, [n]. Default: all kept ones. */
  readonly mask?: Uint8Array;
}

export type TokenLossFromLogitsOptions<Output extends LossOutput = LossOutput> = LogitLossOptions & {
  /** Default: none. */
  readonly entropy?: EntropyTerm;
  /** The arrays of `tokenLoss` to return beside sums, figures and the gradient. Default: `["gradLogProbs"]`. */
  readonly outputs?: readonly Output[];
};

export type TokenLossFromLogitsResult<Output extends LossOutput, L extends Logits> = LossResult<Output> &
  TokenLogitsResult<L> & {
    /** −coefficient·Σ of the weighed entropies, which `total` contains and `figures` do not; 0 without an entropy term. */
    readonly entropyLoss: number;
  };

interface Weighed {
  /** d total / d entropy, one a token; null without a term. */
  readonly weights: Float64Array | null;
  readonly loss: (entropies: Float32Array) => number;
}

function weigh(op: string, options: TokenLossFromLogitsOptions): Weighed {
  const { entropy, shape, offsets, backend } = options;
  if (!entropy) return { weights: null, loss: () => 0 };
  const { n, B, meaning } = needRows(op, options);
  const coefficient = needNumber(op, "entropy.coefficient", entropy.coefficient);
  const given = optionalFloats(op, "entropy.rowWeights", entropy.rowWeights, B, "one per row") ?? options.rowWeights;
  const kept = optionalMask(op, "mask", options.mask, n, meaning);
  const chosen = optionalMask(op, "entropy.mask", entropy.mask, n, meaning);
  const mask = chosen && kept ? chosen.map((on, i) => (on !== 0 && kept[i] !== 0 ? 1 : 0)) : (chosen ?? kept);
  const slopes = Float64Array.from({ length: B }, (_, b) => (given?.[b] === 0 ? 0 : -coefficient * (given?.[b] ?? 1)));
  const where = {
    shape,
    offsets,
    mask: mask ?? undefined,
    backend,
  };
  return {
    weights: broadcastRows(op, "entropy.rowWeights", slopes, where) as Float64Array,
    loss: (entropies) =>
      rowMoments(op, entropies, where).sums.reduce(
        (loss, sum, b) => (slopes[b] === 0 ? loss : loss + slopes[b]! * sum),
        0,
      ),
  };
}

function conclude<Output extends LossOutput, L extends Logits>(
  op: string,
  found: TokenLogitsResult<L>,
  options: TokenLossFromLogitsOptions<Output>,
  { loss }: Weighed,
): TokenLossFromLogitsResult<Output, L> {
  const { out: _, ...rest } = options;
  const value = evaluateTokenLoss<Output>(op, { ...rest, logProbs: found.logProbs });
  const entropyLoss = loss(found.entropies);
  return { ...found, ...value, total: value.total + entropyLoss, entropyLoss };
}

/**
 * `logprob`, `tokenLoss` with an entropy term, and `logprobBackward` in one: every row of logits becomes its log-prob, its loss and
 * its gradient before the next one is touched.
 *
 *     total = Σ_b rowWeights[b]·Σ_t factor·loss(t) + the KL term of `tokenLoss` − entropy.coefficient·Σ_b w_b·Σ_t entropy(t)
 *     gradLogits = d total / d logits
 *
 * The same numbers as the three calls give, to the bit on one backend. Row i of the logits belongs to token i; a masked token is
 * not read, and its row of the gradient is exactly 0. A form of `rowLoss` needs the log-probs of its whole row first: `logprob`,
 * `rowLoss`, `logprobBackward`.
 *
 * @param logits float32, float16 or bfloat16, a row of the vocabulary for each of n tokens
 * @param targets the id of each token, [n]
 * @returns the results of `logprob` and of `tokenLoss`, and `gradLogits`: `out` if given
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (a target, offsets) or _BUFFER, naming the argument
 * @see docs/ops/loss.md for the forms
 */
export function tokenLossFromLogits<const Output extends LossOutput = "gradLogProbs", L extends Logits = Logits>(
  logits: L,
  targets: TokenIds,
  options: TokenLossFromLogitsOptions<Output>,
): TokenLossFromLogitsResult<Output, L> {
  const op = "tokenLossFromLogits";
  const weighed = weigh(op, options);
  return conclude(op, differentiateLogits(op, logits, targets, options, weighed.weights), options, weighed);
}

/**
 * `tokenLossFromLogits` off the event loop. The arrays must not be touched until it resolves.
 */
export async function tokenLossFromLogitsAsync<
  const Output extends LossOutput = "gradLogProbs",
  L extends Logits = Logits,
>(
  logits: L,
  targets: TokenIds,
  options: TokenLossFromLogitsOptions<Output> & AsyncOption,
): Promise<TokenLossFromLogitsResult<Output, L>> {
  const op = "tokenLossFromLogitsAsync";
  options.signal?.throwIfAborted();
  const weighed = weigh(op, options);
  return conclude(op, await differentiateLogitsAsync(op, logits, targets, options, weighed.weights), options, weighed);
}

// Policies that imitate weights over the completions of a prompt: the cross entropy of MaxEnt-GRPO.
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { allocateFloat, widestFloat } from "../core/float-arrays";
import { SurprisalError } from "../core/errors";
import { gatherGroups } from "../core/gathered-groups";
import { type GroupLayout, type Groups, needGroups, type NamedGroups } from "../core/groups";
import { gatherRowPartials } from "../core/row-partials";
import { needMaskedRows, type RowLayout } from "../core/row-layout";
import { groupLogSumExp, groupSoftmax } from "../ops/group";
import { spreadRows } from "../ops/group/broadcast";
import { rowMoments } from "../ops/reduce/moments";

export interface ListwisePolicyLossOptions extends RowLayout, GroupLayout, BackendOption, CollectiveOption {
  /** 1 = a token of the completion; the others are not read and get gradient 0. Default: all 1. */
  readonly mask?: Uint8Array;
  /** A completion's score is its mean log-prob per token; false: its summed log-prob, which favours short ones. Default true. */
  readonly lengthNormalize?: boolean;
}

export interface ListwisePolicyLoss {
  /** Mean over the prompts that have completions, to be minimised, float64; 0 without any. */
  readonly loss: number;
  /** d loss / d logProbs; 0 under the mask. Weights are constants. */
  readonly gradLogProbs: FloatArray;
  /** −Σ w_i·ln π_i of each prompt, of those of all workers, float64; 0 for one without completions. */
  readonly losses: Float64Array;
  /** s_i, mean or summed log-prob, nats, one per completion, float64. */
  readonly scores: Float64Array;
  /** π_i: the policy's own distribution over the completions of each prompt, float64. */
  readonly policyWeights: Float64Array;
}

const OP = "listwisePolicyLoss";

function refuseEmpty(counts: Float64Array): void {
  const row = counts.indexOf(0);
  if (row >= 0)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${OP}: completion ${row} has no token, expected at least one; drop it`,
      {
        op: OP,
        name: "logProbs",
        got: 0,
        want: "at least one token",
      },
    );
}

/**
 * Cross entropy between given weights and the policy, over the completions of each prompt:
 *
 *     s_i = mean (or sum) over tokens of logProbs_i,   ln π_i = s_i − ln Σ_j exp s_j over the prompt
 *     loss = mean over prompts of −Σ_i w_i·ln π_i
 *     d loss / d logProbs_it = (π_i·Σ_j w_j − w_i) / prompts   / tokens_i where scores are means
 *
 * The smallest loss of a prompt is the entropy of its weights, where π = w. Weights of 0 add nothing, whatever their score; NaN
 * spreads to its prompt and to the loss. With a `collective` prompts span its workers, and the loss is that of all.
 *
 * @param logProbs of the tokens under the policy, nats, [n] as `shape` or `offsets` say
 * @param weights one per completion, constants: `listwiseWeights`
 * @param options `groups` (a label per completion, or `"all"`) or `groupOffsets`
 * @returns the gradient in the widest float type of the inputs
 * @throws SurprisalError ERR_SURPRISAL_SHAPE (a completion without tokens too), _DTYPE, _OPTION, _RANGE or _BUFFER
 */
export function listwisePolicyLoss(
  logProbs: FloatArray,
  weights: FloatArray,
  options: ListwisePolicyLossOptions & NamedGroups,
): ListwisePolicyLoss {
  const masked = needMaskedRows(OP, options);
  const { rows } = masked;
  const given = needFloats(OP, "logProbs", logProbs, rows.n, rows.meaning);
  const ownWeights = needFloats(OP, "weights", weights, rows.B, "one per completion");
  const local = needGroups(OP, options, rows.B);
  const { collective } = options;
  const where = { backend: options.backend };
  const normalize = options.lengthNormalize ?? true;

  const { counts, means, sums } = rowMoments(OP, given, masked, options.backend);
  refuseEmpty(counts);
  const own = normalize ? means : sums;
  // From here on the completions of all workers.
  const groups: Groups = collective ? gatherGroups(OP, collective, local) : local;
  const { partials: scores, begin, end } = gatherRowPartials(OP, collective, own);
  const w = gatherRowPartials(OP, collective, Float64Array.from(ownWeights)).partials;
  // Prompts keep their numbers: empty ones stay among them.
  const { G, offsets: bounds, members } = groups;
  const order = members ? { groups: groups.ids, ...where } : { groupOffsets: bounds, ...where };
  const policyWeights = Float64Array.from(groupSoftmax(scores, order));
  const { logSumExps } = groupLogSumExp(scores, order);

  const losses = new Float64Array(G);
  const totals = new Float64Array(G);
  groups.ids.forEach((g, i) => {
    totals[g]! += w[i]!;
    if (w[i] !== 0) losses[g]! -= w[i]! * (scores[i]! - logSumExps[g]!);
  });
  const prompts = new Set(groups.ids).size;
  const gradScores = allocateFloat(widestFloat(given, ownWeights), rows.B);
  for (let i = begin; i < end; ++i) {
    const slope = (policyWeights[i]! * totals[groups.ids[i]!]! - w[i]!) / prompts;
    gradScores[i - begin] = slope / (normalize ? counts[i - begin]! : 1);
  }
  return {
    loss: prompts === 0 ? 0 : losses.reduce((sum, loss) => sum + loss, 0) / prompts,
    gradLogProbs: spreadRows(OP, gradScores, masked, options.backend),
    losses,
    scores: own,
    policyWeights: policyWeights.slice(begin, end),
  };
}

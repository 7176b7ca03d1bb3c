// Returns less a baseline per column of the group, in which rows count by the norm of their gradient.
import type { BackendOption } from "../backend/select";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { groupingOf, type GroupLayout, needGroups } from "../core/groups";
import { needWord } from "../core/option-checks";
import { rowBegin, rowEnd } from "../core/row-layout";
import { groupColumns } from "../ops/group";
import { discountedReturns, scoreNorms } from "../ops/scan";
import { type PresetOption, resolvePreset } from "../presets";
import { type CheckedTokens, needTokenBatch, roundedTo, type TokenRewardBatch } from "./token-rewards";

/** Baselines that weigh each row by the norm of its gradient. */
export interface TokenBaselineConventions {
  /** Added to the summed weights of a column, >= 0. Default 1e-8. */
  readonly epsilon?: number;
}

export interface OptimalTokenBaselineBatch extends TokenRewardBatch, GroupLayout {
  /** Log-probs of the tokens under the policy that sampled, nats. */
  readonly logProbs: FloatArray;
  /** Σ p² over the vocabulary at each token: `logprob` returns it. */
  readonly sumSquares: FloatArray;
  /** Importance weights per token. Default: 1. */
  readonly importanceWeights?: FloatArray;
}

export interface OptimalTokenBaselineOptions
  extends TokenBaselineConventions, PresetOption<"optimalTokenBaselineAdvantage">, BackendOption, CollectiveOption {
  /**
   * What a column is: a `"position"` of the row, or the number of `"kept"` tokens before (rollouts of several turns, between
   * which lie tokens of the environment). Default `"position"`.
   */
  readonly columns?: "position" | "kept";
  /** Baseline 0 where one row of the group alone is still running. Default: true with `columns: "kept"`, else false. */
  readonly zeroTail?: boolean;
}

/** Per token; 0 under the mask, but for the returns. */
export interface OptimalTokenBaselineResult {
  readonly advantages: FloatArray;
  /** Sum of the kept rewards from the token on, also at masked tokens. */
  readonly returns: FloatArray;
  readonly baselines: FloatArray;
  /** W: the squared gradient norms of the row up to the token, summed. */
  readonly pathNorms: FloatArray;
}

interface Arrays {
  readonly returns: FloatArray;
  readonly logProbs: FloatArray;
  readonly sumSquares: FloatArray;
  readonly weights: FloatArray | null;
}

/** The kept tokens alone, as packed rows. */
function compacted({ rows, mask }: CheckedTokens, arrays: Arrays) {
  const positions: number[] = [];
  const offsets = new Int32Array(rows.B + 1);
  for (let b = 0; b < rows.B; ++b) {
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i) if (!mask || mask[i] !== 0) positions.push(i);
    offsets[b + 1] = positions.length;
  }
  const gather = (values: FloatArray): FloatArray => Float64Array.from(positions, (i) => values[i]!);
  const scatter = (values: FloatArray): FloatArray => {
    const out = new Float64Array(rows.n);
    positions.forEach((i, k) => (out[i] = values[k]!));
    return out;
  };
  const { returns, logProbs, sumSquares, weights } = arrays;
  return {
    offsets,
    scatter,
    arrays: {
      returns: gather(returns),
      logProbs: gather(logProbs),
      sumSquares: gather(sumSquares),
      weights: weights && gather(weights),
    },
  };
}

/**
 * Optimal token baseline: returns less the baseline that minimises the variance of the gradient, token by token.
 *
 *     ret[t] = Σ_{kept j ≥ t} r[j],   w[t] = (1 − 2·exp(logp[t]) + Σ p²)·importance[t]²,   W[t] = Σ_{kept j ≤ t} w[j]
 *     base_t = Σ_rows W·ret / (Σ_rows W + ε) over the rows of the group with a kept token in column t
 *     A[t] = ret[t] − base_t at kept tokens;   a group of one row has baseline 0
 *
 * @returns in the widest float type of the inputs; computed in float64, rounded once
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function optimalTokenBaselineAdvantage(
  batch: OptimalTokenBaselineBatch,
  options: OptimalTokenBaselineOptions = {},
): OptimalTokenBaselineResult {
  const op = "optimalTokenBaselineAdvantage";
  const { epsilon = 1e-8 } = resolvePreset(op, options.preset, options);
  const byKept = needWord(op, "columns", options.columns ?? "position", ["position", "kept"]) === 1;
  const checked = needTokenBatch(op, batch, [batch.logProbs, batch.sumSquares, batch.importanceWeights], options);
  needGroups(op, batch, checked.rows.B);
  const given: Arrays = {
    returns: discountedReturns(checked.rewards, { ...checked.where, gamma: 1, maskMode: "steps" }),
    logProbs: checked.tokens("logProbs", batch.logProbs),
    sumSquares: checked.tokens("sumSquares", batch.sumSquares),
    weights: batch.importanceWeights ? checked.tokens("importanceWeights", batch.importanceWeights) : null,
  };
  const dense = byKept ? compacted(checked, given) : null;
  const { backend } = options;
  const columns = dense ? { offsets: dense.offsets, backend, collective: options.collective } : checked.where;
  const { returns, logProbs, sumSquares, weights } = dense ? dense.arrays : given;
  const { pathNorms } = scoreNorms(logProbs, sumSquares, { ...columns, weights: weights ?? undefined });
  const { baselines, centred } = groupColumns(returns, pathNorms, {
    ...columns,
    ...groupingOf(batch),
    epsilon,
    zeroTail: options.zeroTail ?? byKept,
  });
  const result = (values: FloatArray): FloatArray => roundedTo(checked.dtype, dense ? dense.scatter(values) : values);
  return {
    advantages: result(centred),
    returns: roundedTo(checked.dtype, given.returns),
    baselines: result(baselines),
    pathNorms: result(pathNorms),
  };
}

// From the logits of tokens to their gradient (contract: native/include/surprisal/loss.h, loss_logits): the three ops that it
// joins, one after the other. Exponentials are what costs here, not memory.
import { DTYPE_CODE } from "../../core/dtype";
import { LOSS_SUMS, type LossLogitsArgs, type LossTokenArgs } from "../contract/loss";
import { logprobOps } from "./logprob";

/** Every token a row of its own. */
function asTokens(a: LossLogitsArgs, logProbs: Float32Array, gradLogProbs: Float64Array): LossTokenArgs {
  return {
    ...a,
    dtype: DTYPE_CODE.float64,
    logProbs: Float64Array.from(logProbs),
    rowWeights: a.weights,
    klRowWeights: a.klWeights,
    offsets: null,
    members: null,
    groupOffsets: null,
    n: a.N,
    B: a.N,
    T: 1,
    G: 0,
    oldLogProbsPerRow: 0,
    advantagesPerToken: 1,
    factorsPerToken: 1,
    clipLowsPerToken: 1,
    clipHighsPerToken: 1,
    ratioCapsPerToken: 1,
    reduce: 0,
    figureCount: LOSS_SUMS,
    losses: null,
    ratios: null,
    klValues: null,
    clipped: null,
    gradLogProbs,
    figures: null,
  };
}

export function lossLogits(a: LossLogitsArgs, lossToken: (args: LossTokenArgs) => void): void {
  const row = (given: Float32Array | null) => given ?? new Float32Array(a.N);
  const results = {
    logProbs: row(a.logProbs),
    maxLogits: row(a.maxLogits),
    log1pSums: row(a.log1pSums),
    meanGaps: row(a.meanGaps),
  };
  logprobOps.logprobForward({ ...a, K: 1, ...results });
  const gradLogProbs = new Float64Array(a.N);
  lossToken(asTokens(a, results.logProbs, gradLogProbs));
  logprobOps.logprobBackward({
    ...a,
    ...results,
    K: 1,
    vocabStart: 0,
    vocabSize: a.V,
    gradLogProbs: Float32Array.from(gradLogProbs),
    gradEntropies: a.entropyWeights && Float32Array.from(a.entropyWeights),
  });
}

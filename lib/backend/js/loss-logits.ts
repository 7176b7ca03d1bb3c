// From the logits of tokens to their gradient (contract: native/include/surprisal/loss.h, loss_logits): the three ops that it
// joins, one after the other. Exponentials are what costs here, not memory.
import { DTYPE_CODE } from "../../core/dtype";
import { LOSS_SUMS, type LossLogitsArgs, type LossTokenArgs } from "../contract/loss";
import { logprobOps } from "./logprob";

/** Every token a row of its own. */
function asTokens(a: LossLogitsArgs, logprob: Float32Array, grad: Float64Array): LossTokenArgs {
  return {
    ...a,
    dtype: DTYPE_CODE.float64,
    current: Float64Array.from(logprob),
    rowWeight: a.weight,
    mask: a.keep,
    offsets: null,
    members: null,
    groupOffsets: null,
    n: a.N,
    B: a.N,
    T: 1,
    G: 0,
    oldPerRow: 0,
    advantagePerToken: 1,
    factorPerToken: 1,
    reduce: 0,
    figureCount: LOSS_SUMS,
    loss: null,
    ratio: null,
    klValues: null,
    clipped: null,
    grad,
    figures: null,
  };
}

export function lossLogits(a: LossLogitsArgs, lossToken: (args: LossTokenArgs) => void): void {
  const row = (given: Float32Array | null) => given ?? new Float32Array(a.N);
  const { logprob, maxLogit, log1pSum, meanGap } = {
    logprob: row(a.logprob),
    maxLogit: row(a.maxLogit),
    log1pSum: row(a.log1pSum),
    meanGap: row(a.meanGap),
  };
  logprobOps.logprobForward({ ...a, K: 1, logprob, maxLogit, log1pSum, meanGap });
  const grad = new Float64Array(a.N);
  lossToken(asTokens(a, logprob, grad));
  logprobOps.logprobBackward({
    ...a,
    K: 1,
    vocabStart: 0,
    vocabSize: a.V,
    maxLogit,
    log1pSum,
    meanGap,
    gradLogprob: Float32Array.from(grad),
    gradEntropy: a.entropyWeight && Float32Array.from(a.entropyWeight),
  });
}

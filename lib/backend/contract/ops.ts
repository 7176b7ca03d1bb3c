// Generated from native/include/surprisal by scripts/contracts.mjs: `npm run contracts` renews it.
import type { CorrectionMeasureArgs, CorrectionBoundArgs, CorrectionOps } from "./correction";
import type { DelimSpansArgs, DelimMeansArgs, DelimMaskArgs, DelimNgramsArgs, DelimOps } from "./delim";
import type { DivergenceRowsArgs, DivergenceTopArgs, DivergenceOps } from "./divergence";
import type {
  GroupNormalizeArgs,
  GroupSoftmaxArgs,
  GroupTiltArgs,
  GroupEntropyArgs,
  GroupTop2Args,
  GroupColumnsArgs,
  GroupWeighArgs,
  GroupBroadcastArgs,
  GroupPlaceArgs,
  GroupOps,
} from "./group";
import type { LinearForwardArgs, LinearBackwardArgs, LinearOps } from "./linear";
import type {
  LogprobForwardArgs,
  LogprobBackwardArgs,
  LogprobPartialArgs,
  LogprobMergeArgs,
  LogprobKeptForwardArgs,
  LogprobKeptBackwardArgs,
  LogprobOps,
} from "./logprob";
import type { LossTokenArgs, LossRowArgs, LossLogitsArgs, LossOps } from "./loss";
import type { ModulateStepsArgs, ModulateSpansArgs, ModulateRowsArgs, ModulateOps } from "./modulate";
import type { RatioLogArgs, RatioOps } from "./ratio";
import type {
  ReduceMomentsArgs,
  ReduceMergeArgs,
  ReduceWhitenArgs,
  ReduceAffineArgs,
  ReduceClampArgs,
  ReduceGammaArgs,
  ReduceCountsArgs,
  ReduceOps,
} from "./reduce";
import type {
  ScanGaeArgs,
  ScanReturnsArgs,
  ScanVtraceArgs,
  ScanTailArgs,
  ScanPrefixArgs,
  ScanSharesArgs,
  ScanOps,
} from "./scan";
import type { SelectQuantileArgs, SelectTopArgs, SelectCovarianceArgs, SelectOps } from "./select";

/** Every op, with the argument structs of native/include/surprisal in camelCase. Outputs are filled in place. */
export type BackendOps = CorrectionOps &
  DelimOps &
  DivergenceOps &
  GroupOps &
  LinearOps &
  LogprobOps &
  LossOps &
  ModulateOps &
  RatioOps &
  ReduceOps &
  ScanOps &
  SelectOps;

type Call<Answer> = (...values: unknown[]) => Answer;
type Handing<Args> = <Answer>(
  call: Call<Answer>,
  numbers: Float64Array,
  session: number,
  stop: Int32Array | null,
  args: Args,
) => Answer;

/**
 * How a call is handed to the addon: its numbers into the addon's array, its arrays as arguments, both in the order of the struct. Behind
 * the numbers stands which arrays there are, a bit each: to ask Node-API for one that is absent takes as long as to read another.
 */
export const HAND_OVER: { readonly [Op in keyof BackendOps]: Handing<Parameters<BackendOps[Op]>[0]> } = {
  correctionMeasure(call, numbers, session, stop, a: CorrectionMeasureArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.statistic;
    numbers[5] = a.logClamp;
    numbers[6] = a.low;
    numbers[7] = a.high;
    numbers[8] =
      3 |
      (a.mask ? 4 : 0) |
      (a.offsets ? 8 : 0) |
      (a.moments ? 16 : 0) |
      (a.bounded ? 32 : 0) |
      (a.differences ? 64 : 0) |
      (a.above ? 128 : 0) |
      (a.below ? 256 : 0);
    return call(
      session,
      stop,
      a.logProbs,
      a.oldLogProbs,
      a.mask,
      a.offsets,
      a.moments,
      a.bounded,
      a.differences,
      a.above,
      a.below,
    );
  },
  correctionBound(call, numbers, session, stop, a: CorrectionBoundArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.statistic;
    numbers[5] = a.outside;
    numbers[6] = a.logClamp;
    numbers[7] = a.low;
    numbers[8] = a.high;
    numbers[9] = a.maskedWeight;
    numbers[10] =
      3 |
      (a.mask ? 4 : 0) |
      (a.offsets ? 8 : 0) |
      (a.rowFactors ? 16 : 0) |
      (a.weights ? 32 : 0) |
      (a.kept ? 64 : 0) |
      (a.keptCounts ? 128 : 0);
    return call(
      session,
      stop,
      a.logProbs,
      a.oldLogProbs,
      a.mask,
      a.offsets,
      a.rowFactors,
      a.weights,
      a.kept,
      a.keptCounts,
    );
  },
  delimSpans(call, numbers, session, stop, a: DelimSpansArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.startCount;
    numbers[5] = a.endCount;
    numbers[6] = a.headCount;
    numbers[7] = a.startSize;
    numbers[8] = a.endSize;
    numbers[9] = a.headSize;
    numbers[10] = a.capacity;
    numbers[11] = a.overlapping;
    numbers[12] = a.includeEnd;
    numbers[13] = a.unterminatedKeep;
    numbers[14] = a.startsOpen;
    numbers[15] =
      2681 |
      (a.offsets ? 2 : 0) |
      (a.lengths ? 4 : 0) |
      (a.headIds ? 128 : 0) |
      (a.headOffsets ? 256 : 0) |
      (a.alternatives ? 1024 : 0);
    return call(
      session,
      stop,
      a.tokens,
      a.offsets,
      a.lengths,
      a.startIds,
      a.startOffsets,
      a.endIds,
      a.endOffsets,
      a.headIds,
      a.headOffsets,
      a.spans,
      a.alternatives,
      a.count,
    );
  },
  delimMeans(call, numbers, session, stop, a: DelimMeansArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.S;
    numbers[5] = 13 | (a.offsets ? 2 : 0) | (a.count ? 16 : 0);
    return call(session, stop, a.values, a.offsets, a.spans, a.means, a.count);
  },
  delimMask(call, numbers, session, stop, a: DelimMaskArgs) {
    numbers[0] = a.n;
    numbers[1] = a.B;
    numbers[2] = a.T;
    numbers[3] = a.S;
    numbers[4] = 6 | (a.offsets ? 1 : 0) | (a.count ? 8 : 0);
    return call(session, stop, a.offsets, a.spans, a.mask, a.count);
  },
  delimNgrams(call, numbers, session, stop, a: DelimNgramsArgs) {
    numbers[0] = a.n;
    numbers[1] = a.B;
    numbers[2] = a.T;
    numbers[3] = a.length;
    numbers[4] = 9 | (a.mask ? 2 : 0) | (a.offsets ? 4 : 0);
    return call(session, stop, a.tokens, a.mask, a.offsets, a.counts);
  },
  divergenceRows(call, numbers, session, stop, a: DivergenceRowsArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.N;
    numbers[2] = a.V;
    numbers[3] = a.studentStride;
    numbers[4] = a.teacherStride;
    numbers[5] = a.K;
    numbers[6] = a.beta;
    numbers[7] = a.temperature;
    numbers[8] = a.outside;
    numbers[9] = a.tailFloor;
    numbers[10] =
      3 |
      (a.mask ? 4 : 0) |
      (a.gradDivergences ? 8 : 0) |
      (a.support ? 16 : 0) |
      (a.divergences ? 32 : 0) |
      (a.gradStudent ? 64 : 0);
    return call(
      session,
      stop,
      a.student,
      a.teacher,
      a.mask,
      a.gradDivergences,
      a.support,
      a.divergences,
      a.gradStudent,
    );
  },
  divergenceTop(call, numbers, session, stop, a: DivergenceTopArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.N;
    numbers[2] = a.V;
    numbers[3] = a.stride;
    numbers[4] = a.K;
    numbers[5] = 5 | (a.mask ? 2 : 0);
    return call(session, stop, a.logits, a.mask, a.ids);
  },
  groupNormalize(call, numbers, session, stop, a: GroupNormalizeArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.G;
    numbers[3] = a.ddof;
    numbers[4] = a.epsilon;
    numbers[5] = a.varianceFloor;
    numbers[6] = a.center;
    numbers[7] = a.scale;
    numbers[8] = a.singleton;
    numbers[9] = a.nanPolicy;
    numbers[10] = a.gain;
    numbers[11] =
      5 |
      (a.members ? 2 : 0) |
      (a.normalized ? 8 : 0) |
      (a.means ? 16 : 0) |
      (a.stds ? 32 : 0) |
      (a.counts ? 64 : 0) |
      (a.weights ? 128 : 0) |
      (a.centers ? 256 : 0) |
      (a.spreads ? 512 : 0);
    return call(
      session,
      stop,
      a.values,
      a.members,
      a.offsets,
      a.normalized,
      a.means,
      a.stds,
      a.counts,
      a.weights,
      a.centers,
      a.spreads,
    );
  },
  groupSoftmax(call, numbers, session, stop, a: GroupSoftmaxArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.G;
    numbers[3] = a.temperature;
    numbers[4] = a.floor;
    numbers[5] = 5 | (a.members ? 2 : 0) | (a.weights ? 8 : 0) | (a.logSumExps ? 16 : 0) | (a.softMeans ? 32 : 0);
    return call(session, stop, a.values, a.members, a.offsets, a.weights, a.logSumExps, a.softMeans);
  },
  groupTilt(call, numbers, session, stop, a: GroupTiltArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.G;
    numbers[3] = a.temperature;
    numbers[4] = a.coefficient;
    numbers[5] = a.least;
    numbers[6] = 49 | (a.logFactors ? 2 : 0) | (a.counts ? 4 : 0) | (a.members ? 8 : 0);
    return call(session, stop, a.values, a.logFactors, a.counts, a.members, a.offsets, a.weights);
  },
  groupEntropy(call, numbers, session, stop, a: GroupEntropyArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.G;
    numbers[3] = a.normalize;
    numbers[4] = a.least;
    numbers[5] = 5 | (a.members ? 2 : 0) | (a.entropies ? 8 : 0) | (a.evennesses ? 16 : 0);
    return call(session, stop, a.values, a.members, a.offsets, a.entropies, a.evennesses);
  },
  groupTop2(call, numbers, session, stop, a: GroupTop2Args) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.G;
    numbers[3] = 29 | (a.members ? 2 : 0) | (a.bestValues ? 32 : 0) | (a.secondValues ? 64 : 0);
    return call(session, stop, a.values, a.members, a.offsets, a.best, a.second, a.bestValues, a.secondValues);
  },
  groupColumns(call, numbers, session, stop, a: GroupColumnsArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.G;
    numbers[5] = a.epsilon;
    numbers[6] = a.zeroTail;
    numbers[7] =
      35 |
      (a.mask ? 4 : 0) |
      (a.offsets ? 8 : 0) |
      (a.members ? 16 : 0) |
      (a.baselines ? 64 : 0) |
      (a.centred ? 128 : 0);
    return call(
      session,
      stop,
      a.values,
      a.weights,
      a.mask,
      a.offsets,
      a.members,
      a.groupOffsets,
      a.baselines,
      a.centred,
    );
  },
  groupWeigh(call, numbers, session, stop, a: GroupWeighArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.G;
    numbers[3] = a.form;
    numbers[4] = a.power;
    numbers[5] = a.atMax;
    numbers[6] = a.atMin;
    numbers[7] = a.between;
    numbers[8] = a.floor;
    numbers[9] = 13 | (a.members ? 2 : 0);
    return call(session, stop, a.values, a.members, a.offsets, a.weights);
  },
  groupBroadcast(call, numbers, session, stop, a: GroupBroadcastArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = 17 | (a.rowFactors ? 2 : 0) | (a.mask ? 4 : 0) | (a.offsets ? 8 : 0);
    return call(session, stop, a.row, a.rowFactors, a.mask, a.offsets, a.tokens);
  },
  groupPlace(call, numbers, session, stop, a: GroupPlaceArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.scale;
    numbers[5] = a.low;
    numbers[6] = a.high;
    numbers[7] = a.transformMasked;
    numbers[8] =
      32 | (a.row ? 1 : 0) | (a.tokens ? 2 : 0) | (a.values ? 4 : 0) | (a.mask ? 8 : 0) | (a.offsets ? 16 : 0);
    return call(session, stop, a.row, a.tokens, a.values, a.mask, a.offsets, a.placed);
  },
  linearForward(call, numbers, session, stop, a: LinearForwardArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.N;
    numbers[2] = a.D;
    numbers[3] = a.V;
    numbers[4] = a.padded;
    numbers[5] = a.chunkRows;
    numbers[6] = a.sums;
    numbers[7] = a.temperature;
    numbers[8] = a.scale;
    numbers[9] = a.softcap;
    numbers[10] =
      3 |
      (a.bias ? 4 : 0) |
      (a.targets ? 8 : 0) |
      (a.mask ? 16 : 0) |
      (a.logProbs ? 32 : 0) |
      (a.entropies ? 64 : 0) |
      (a.logSumExps ? 128 : 0) |
      (a.sumSquares ? 256 : 0) |
      (a.maxLogits ? 512 : 0) |
      (a.log1pSums ? 1024 : 0) |
      (a.meanGaps ? 2048 : 0);
    return call(
      session,
      stop,
      a.hidden,
      a.weight,
      a.bias,
      a.targets,
      a.mask,
      a.logProbs,
      a.entropies,
      a.logSumExps,
      a.sumSquares,
      a.maxLogits,
      a.log1pSums,
      a.meanGaps,
    );
  },
  linearBackward(call, numbers, session, stop, a: LinearBackwardArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.N;
    numbers[2] = a.D;
    numbers[3] = a.V;
    numbers[4] = a.padded;
    numbers[5] = a.chunkRows;
    numbers[6] = a.vocabStart;
    numbers[7] = a.vocabSize;
    numbers[8] = a.sums;
    numbers[9] = a.temperature;
    numbers[10] = a.scale;
    numbers[11] = a.softcap;
    numbers[12] = a.accumulate;
    numbers[13] =
      99 |
      (a.bias ? 4 : 0) |
      (a.targets ? 8 : 0) |
      (a.mask ? 16 : 0) |
      (a.meanGaps ? 128 : 0) |
      (a.gradLogProbs ? 256 : 0) |
      (a.gradEntropies ? 512 : 0) |
      (a.gradHidden ? 1024 : 0) |
      (a.gradWeight ? 2048 : 0) |
      (a.gradBias ? 4096 : 0);
    return call(
      session,
      stop,
      a.hidden,
      a.weight,
      a.bias,
      a.targets,
      a.mask,
      a.maxLogits,
      a.log1pSums,
      a.meanGaps,
      a.gradLogProbs,
      a.gradEntropies,
      a.gradHidden,
      a.gradWeight,
      a.gradBias,
    );
  },
  logprobForward(call, numbers, session, stop, a: LogprobForwardArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.N;
    numbers[2] = a.V;
    numbers[3] = a.stride;
    numbers[4] = a.K;
    numbers[5] = a.temperature;
    numbers[6] = a.scale;
    numbers[7] = a.softcap;
    numbers[8] =
      1 |
      (a.targets ? 2 : 0) |
      (a.mask ? 4 : 0) |
      (a.logProbs ? 8 : 0) |
      (a.entropies ? 16 : 0) |
      (a.logSumExps ? 32 : 0) |
      (a.maxLogits ? 64 : 0) |
      (a.log1pSums ? 128 : 0) |
      (a.meanGaps ? 256 : 0) |
      (a.sumSquares ? 512 : 0);
    return call(
      session,
      stop,
      a.logits,
      a.targets,
      a.mask,
      a.logProbs,
      a.entropies,
      a.logSumExps,
      a.maxLogits,
      a.log1pSums,
      a.meanGaps,
      a.sumSquares,
    );
  },
  logprobBackward(call, numbers, session, stop, a: LogprobBackwardArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.N;
    numbers[2] = a.V;
    numbers[3] = a.stride;
    numbers[4] = a.K;
    numbers[5] = a.vocabStart;
    numbers[6] = a.vocabSize;
    numbers[7] = a.temperature;
    numbers[8] = a.scale;
    numbers[9] = a.softcap;
    numbers[10] =
      281 |
      (a.targets ? 2 : 0) |
      (a.mask ? 4 : 0) |
      (a.meanGaps ? 32 : 0) |
      (a.gradLogProbs ? 64 : 0) |
      (a.gradEntropies ? 128 : 0);
    return call(
      session,
      stop,
      a.logits,
      a.targets,
      a.mask,
      a.maxLogits,
      a.log1pSums,
      a.meanGaps,
      a.gradLogProbs,
      a.gradEntropies,
      a.gradLogits,
    );
  },
  logprobPartial(call, numbers, session, stop, a: LogprobPartialArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.N;
    numbers[2] = a.V;
    numbers[3] = a.stride;
    numbers[4] = a.K;
    numbers[5] = a.vocabStart;
    numbers[6] = a.vocabSize;
    numbers[7] = a.temperature;
    numbers[8] = a.scale;
    numbers[9] = a.softcap;
    numbers[10] = 9 | (a.targets ? 2 : 0) | (a.mask ? 4 : 0);
    return call(session, stop, a.logits, a.targets, a.mask, a.states);
  },
  logprobMerge(call, numbers, session, stop, a: LogprobMergeArgs) {
    numbers[0] = a.P;
    numbers[1] = a.N;
    numbers[2] = a.K;
    numbers[3] = a.temperature;
    numbers[4] = a.scale;
    numbers[5] = a.softcap;
    numbers[6] =
      1 |
      (a.logProbs ? 2 : 0) |
      (a.entropies ? 4 : 0) |
      (a.logSumExps ? 8 : 0) |
      (a.maxLogits ? 16 : 0) |
      (a.log1pSums ? 32 : 0) |
      (a.meanGaps ? 64 : 0) |
      (a.sumSquares ? 128 : 0);
    return call(
      session,
      stop,
      a.states,
      a.logProbs,
      a.entropies,
      a.logSumExps,
      a.maxLogits,
      a.log1pSums,
      a.meanGaps,
      a.sumSquares,
    );
  },
  logprobKeptForward(call, numbers, session, stop, a: LogprobKeptForwardArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.N;
    numbers[2] = a.V;
    numbers[3] = a.stride;
    numbers[4] = a.K;
    numbers[5] = a.temperature;
    numbers[6] = a.scale;
    numbers[7] = a.softcap;
    numbers[8] = 15 | (a.mask ? 16 : 0) | (a.logProbs ? 32 : 0) | (a.maxLogits ? 64 : 0) | (a.log1pSums ? 128 : 0);
    return call(session, stop, a.logits, a.targets, a.ids, a.offsets, a.mask, a.logProbs, a.maxLogits, a.log1pSums);
  },
  logprobKeptBackward(call, numbers, session, stop, a: LogprobKeptBackwardArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.N;
    numbers[2] = a.V;
    numbers[3] = a.stride;
    numbers[4] = a.K;
    numbers[5] = a.temperature;
    numbers[6] = a.scale;
    numbers[7] = a.softcap;
    numbers[8] =
      5231 |
      (a.mask ? 16 : 0) |
      (a.maxLogits ? 128 : 0) |
      (a.log1pSums ? 256 : 0) |
      (a.meanGaps ? 512 : 0) |
      (a.gradEntropies ? 2048 : 0);
    return call(
      session,
      stop,
      a.logits,
      a.targets,
      a.ids,
      a.offsets,
      a.mask,
      a.keptMaxLogits,
      a.keptLog1pSums,
      a.maxLogits,
      a.log1pSums,
      a.meanGaps,
      a.gradLogProbs,
      a.gradEntropies,
      a.gradLogits,
    );
  },
  lossToken(call, numbers, session, stop, a: LossTokenArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.G;
    numbers[5] = a.form;
    numbers[6] = a.oldLogProbsPerRow;
    numbers[7] = a.advantagesPerToken;
    numbers[8] = a.factorsPerToken;
    numbers[9] = a.clipLowsPerToken;
    numbers[10] = a.clipHighsPerToken;
    numbers[11] = a.ratioCapsPerToken;
    numbers[12] = a.reduce;
    numbers[13] = a.figureCount;
    numbers[14] = a.parameters.clipLow;
    numbers[15] = a.parameters.clipHigh;
    numbers[16] = a.parameters.dualClip;
    numbers[17] = a.parameters.ratioCap;
    numbers[18] = a.parameters.logClamp;
    numbers[19] = a.parameters.maxLogRatio;
    numbers[20] = a.parameters.temperaturePositive;
    numbers[21] = a.parameters.temperatureNegative;
    numbers[22] = a.parameters.coefficient;
    numbers[23] = a.parameters.shapePositive;
    numbers[24] = a.parameters.ratePositive;
    numbers[25] = a.parameters.shapeNegative;
    numbers[26] = a.parameters.rateNegative;
    numbers[27] = a.parameters.countEpsilon;
    numbers[28] = a.kl.kind;
    numbers[29] = a.kl.gradientKind;
    numbers[30] = a.kl.timesRatio;
    numbers[31] = a.kl.coefficient;
    numbers[32] = a.kl.logClamp;
    numbers[33] = a.kl.valueClamp;
    numbers[34] =
      5 |
      (a.oldLogProbs ? 2 : 0) |
      (a.factors ? 8 : 0) |
      (a.clipLows ? 16 : 0) |
      (a.clipHighs ? 32 : 0) |
      (a.ratioCaps ? 64 : 0) |
      (a.referenceLogProbs ? 128 : 0) |
      (a.rowWeights ? 256 : 0) |
      (a.klRowWeights ? 512 : 0) |
      (a.mask ? 1024 : 0) |
      (a.termMask ? 2048 : 0) |
      (a.marks ? 4096 : 0) |
      (a.offsets ? 8192 : 0) |
      (a.members ? 16384 : 0) |
      (a.groupOffsets ? 32768 : 0) |
      (a.losses ? 65536 : 0) |
      (a.ratios ? 131072 : 0) |
      (a.klValues ? 262144 : 0) |
      (a.clipped ? 524288 : 0) |
      (a.gradLogProbs ? 1048576 : 0) |
      (a.figures ? 2097152 : 0);
    return call(
      session,
      stop,
      a.logProbs,
      a.oldLogProbs,
      a.advantages,
      a.factors,
      a.clipLows,
      a.clipHighs,
      a.ratioCaps,
      a.referenceLogProbs,
      a.rowWeights,
      a.klRowWeights,
      a.mask,
      a.termMask,
      a.marks,
      a.offsets,
      a.members,
      a.groupOffsets,
      a.losses,
      a.ratios,
      a.klValues,
      a.clipped,
      a.gradLogProbs,
      a.figures,
    );
  },
  lossRow(call, numbers, session, stop, a: LossRowArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.G;
    numbers[5] = a.form;
    numbers[6] = a.oldLogProbsPerRow;
    numbers[7] = a.advantagesPerToken;
    numbers[8] = a.factorsPerToken;
    numbers[9] = a.clipLowsPerToken;
    numbers[10] = a.clipHighsPerToken;
    numbers[11] = a.ratioCapsPerToken;
    numbers[12] = a.reduce;
    numbers[13] = a.figureCount;
    numbers[14] = a.parameters.clipLow;
    numbers[15] = a.parameters.clipHigh;
    numbers[16] = a.parameters.dualClip;
    numbers[17] = a.parameters.ratioCap;
    numbers[18] = a.parameters.logClamp;
    numbers[19] = a.parameters.maxLogRatio;
    numbers[20] = a.parameters.temperaturePositive;
    numbers[21] = a.parameters.temperatureNegative;
    numbers[22] = a.parameters.coefficient;
    numbers[23] = a.parameters.shapePositive;
    numbers[24] = a.parameters.ratePositive;
    numbers[25] = a.parameters.shapeNegative;
    numbers[26] = a.parameters.rateNegative;
    numbers[27] = a.parameters.countEpsilon;
    numbers[28] = a.kl.kind;
    numbers[29] = a.kl.gradientKind;
    numbers[30] = a.kl.timesRatio;
    numbers[31] = a.kl.coefficient;
    numbers[32] = a.kl.logClamp;
    numbers[33] = a.kl.valueClamp;
    numbers[34] =
      5 |
      (a.oldLogProbs ? 2 : 0) |
      (a.factors ? 8 : 0) |
      (a.clipLows ? 16 : 0) |
      (a.clipHighs ? 32 : 0) |
      (a.ratioCaps ? 64 : 0) |
      (a.referenceLogProbs ? 128 : 0) |
      (a.rowWeights ? 256 : 0) |
      (a.klRowWeights ? 512 : 0) |
      (a.mask ? 1024 : 0) |
      (a.termMask ? 2048 : 0) |
      (a.marks ? 4096 : 0) |
      (a.offsets ? 8192 : 0) |
      (a.members ? 16384 : 0) |
      (a.groupOffsets ? 32768 : 0) |
      (a.losses ? 65536 : 0) |
      (a.ratios ? 131072 : 0) |
      (a.klValues ? 262144 : 0) |
      (a.clipped ? 524288 : 0) |
      (a.gradLogProbs ? 1048576 : 0) |
      (a.figures ? 2097152 : 0);
    return call(
      session,
      stop,
      a.logProbs,
      a.oldLogProbs,
      a.advantages,
      a.factors,
      a.clipLows,
      a.clipHighs,
      a.ratioCaps,
      a.referenceLogProbs,
      a.rowWeights,
      a.klRowWeights,
      a.mask,
      a.termMask,
      a.marks,
      a.offsets,
      a.members,
      a.groupOffsets,
      a.losses,
      a.ratios,
      a.klValues,
      a.clipped,
      a.gradLogProbs,
      a.figures,
    );
  },
  lossLogits(call, numbers, session, stop, a: LossLogitsArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.N;
    numbers[2] = a.V;
    numbers[3] = a.stride;
    numbers[4] = a.temperature;
    numbers[5] = a.scale;
    numbers[6] = a.softcap;
    numbers[7] = a.form;
    numbers[8] = a.parameters.clipLow;
    numbers[9] = a.parameters.clipHigh;
    numbers[10] = a.parameters.dualClip;
    numbers[11] = a.parameters.ratioCap;
    numbers[12] = a.parameters.logClamp;
    numbers[13] = a.parameters.maxLogRatio;
    numbers[14] = a.parameters.temperaturePositive;
    numbers[15] = a.parameters.temperatureNegative;
    numbers[16] = a.parameters.coefficient;
    numbers[17] = a.parameters.shapePositive;
    numbers[18] = a.parameters.ratePositive;
    numbers[19] = a.parameters.shapeNegative;
    numbers[20] = a.parameters.rateNegative;
    numbers[21] = a.parameters.countEpsilon;
    numbers[22] = a.kl.kind;
    numbers[23] = a.kl.gradientKind;
    numbers[24] = a.kl.timesRatio;
    numbers[25] = a.kl.coefficient;
    numbers[26] = a.kl.logClamp;
    numbers[27] = a.kl.valueClamp;
    numbers[28] =
      4194323 |
      (a.mask ? 4 : 0) |
      (a.oldLogProbs ? 8 : 0) |
      (a.factors ? 32 : 0) |
      (a.clipLows ? 64 : 0) |
      (a.clipHighs ? 128 : 0) |
      (a.ratioCaps ? 256 : 0) |
      (a.referenceLogProbs ? 512 : 0) |
      (a.weights ? 1024 : 0) |
      (a.klWeights ? 2048 : 0) |
      (a.entropyWeights ? 4096 : 0) |
      (a.termMask ? 8192 : 0) |
      (a.marks ? 16384 : 0) |
      (a.logProbs ? 32768 : 0) |
      (a.entropies ? 65536 : 0) |
      (a.logSumExps ? 131072 : 0) |
      (a.maxLogits ? 262144 : 0) |
      (a.log1pSums ? 524288 : 0) |
      (a.meanGaps ? 1048576 : 0) |
      (a.sumSquares ? 2097152 : 0);
    return call(
      session,
      stop,
      a.logits,
      a.targets,
      a.mask,
      a.oldLogProbs,
      a.advantages,
      a.factors,
      a.clipLows,
      a.clipHighs,
      a.ratioCaps,
      a.referenceLogProbs,
      a.weights,
      a.klWeights,
      a.entropyWeights,
      a.termMask,
      a.marks,
      a.logProbs,
      a.entropies,
      a.logSumExps,
      a.maxLogits,
      a.log1pSums,
      a.meanGaps,
      a.sumSquares,
      a.gradLogits,
    );
  },
  modulateSteps(call, numbers, session, stop, a: ModulateStepsArgs) {
    numbers[0] = a.S;
    numbers[1] = a.k;
    numbers[2] = a.kFuture;
    numbers[3] = a.epsilon;
    numbers[4] = a.finite;
    numbers[5] = 1 | (a.entropyNorms ? 2 : 0) | (a.scales ? 4 : 0) | (a.clarities ? 8 : 0) | (a.count ? 16 : 0);
    return call(session, stop, a.entropies, a.entropyNorms, a.scales, a.clarities, a.count);
  },
  modulateSpans(call, numbers, session, stop, a: ModulateSpansArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.S;
    numbers[5] = a.zeta;
    numbers[6] = a.scope;
    numbers[7] = 249 | (a.mask ? 2 : 0) | (a.offsets ? 4 : 0) | (a.count ? 256 : 0);
    return call(
      session,
      stop,
      a.advantages,
      a.mask,
      a.offsets,
      a.spans,
      a.scales,
      a.clarities,
      a.modulated,
      a.mean,
      a.count,
    );
  },
  modulateRows(call, numbers, session, stop, a: ModulateRowsArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.G;
    numbers[5] = a.form;
    numbers[6] = a.negate;
    numbers[7] = a.epsilon;
    numbers[8] = a.beta;
    numbers[9] = a.zClip;
    numbers[10] = a.varianceFloor;
    numbers[11] = a.lowPositive;
    numbers[12] = a.highPositive;
    numbers[13] = a.lowNegative;
    numbers[14] = a.highNegative;
    numbers[15] = a.emptyIsolate;
    numbers[16] = a.nonFinite;
    numbers[17] = a.singletonOne;
    numbers[18] = a.singletonZeroMean;
    numbers[19] = a.zeroOne;
    numbers[20] =
      33 |
      (a.mask ? 2 : 0) |
      (a.positive ? 4 : 0) |
      (a.offsets ? 8 : 0) |
      (a.members ? 16 : 0) |
      (a.sequenceEntropies ? 64 : 0) |
      (a.groupMeanEntropies ? 128 : 0) |
      (a.entropyRatios ? 256 : 0) |
      (a.weights ? 512 : 0) |
      (a.lengths ? 1024 : 0) |
      (a.valid ? 2048 : 0);
    return call(
      session,
      stop,
      a.values,
      a.mask,
      a.positive,
      a.offsets,
      a.members,
      a.groupOffsets,
      a.sequenceEntropies,
      a.groupMeanEntropies,
      a.entropyRatios,
      a.weights,
      a.lengths,
      a.valid,
    );
  },
  ratioLog(call, numbers, session, stop, a: RatioLogArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.G;
    numbers[5] = a.level;
    numbers[6] = a.reduce;
    numbers[7] =
      3 |
      (a.mask ? 4 : 0) |
      (a.offsets ? 8 : 0) |
      (a.members ? 16 : 0) |
      (a.groupOffsets ? 32 : 0) |
      (a.logRatios ? 64 : 0) |
      (a.ratios ? 128 : 0);
    return call(
      session,
      stop,
      a.logProbs,
      a.oldLogProbs,
      a.mask,
      a.offsets,
      a.members,
      a.groupOffsets,
      a.logRatios,
      a.ratios,
    );
  },
  reduceMoments(call, numbers, session, stop, a: ReduceMomentsArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.nanPolicy;
    numbers[5] = 9 | (a.mask ? 2 : 0) | (a.offsets ? 4 : 0);
    return call(session, stop, a.values, a.mask, a.offsets, a.partials);
  },
  reduceMerge(call, numbers, session, stop, a: ReduceMergeArgs) {
    numbers[0] = a.B;
    numbers[1] = a.G;
    numbers[2] = 9 | (a.members ? 2 : 0) | (a.offsets ? 4 : 0);
    return call(session, stop, a.partials, a.members, a.offsets, a.merged);
  },
  reduceWhiten(call, numbers, session, stop, a: ReduceWhitenArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.units;
    numbers[5] = a.over;
    numbers[6] = a.center;
    numbers[7] = a.scale;
    numbers[8] = a.ddof;
    numbers[9] = a.countEpsilon;
    numbers[10] = a.epsilon;
    numbers[11] = a.varianceEpsilon;
    numbers[12] = a.varianceFloor;
    numbers[13] = a.keepMean;
    numbers[14] = a.nanPolicy;
    numbers[15] = a.transformMasked;
    numbers[16] = 49 | (a.mask ? 2 : 0) | (a.offsets ? 4 : 0) | (a.groupIds ? 8 : 0);
    return call(session, stop, a.values, a.mask, a.offsets, a.groupIds, a.moments, a.whitened);
  },
  reduceAffine(call, numbers, session, stop, a: ReduceAffineArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.transformMasked;
    numbers[5] = a.divisor;
    numbers[6] = 33 | (a.mask ? 2 : 0) | (a.offsets ? 4 : 0) | (a.center ? 8 : 0) | (a.scale ? 16 : 0);
    return call(session, stop, a.values, a.mask, a.offsets, a.center, a.scale, a.mapped);
  },
  reduceClamp(call, numbers, session, stop, a: ReduceClampArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.low;
    numbers[5] = a.high;
    numbers[6] = a.transformMasked;
    numbers[7] = 1 | (a.mask ? 2 : 0) | (a.offsets ? 4 : 0) | (a.clamped ? 8 : 0) | (a.counts ? 16 : 0);
    return call(session, stop, a.values, a.mask, a.offsets, a.clamped, a.counts);
  },
  reduceGamma(call, numbers, session, stop, a: ReduceGammaArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.bound;
    numbers[5] = a.shapePositive;
    numbers[6] = a.ratePositive;
    numbers[7] = a.shapeNegative;
    numbers[8] = a.rateNegative;
    numbers[9] = a.allFactors;
    numbers[10] =
      17 |
      (a.factors ? 2 : 0) |
      (a.mask ? 4 : 0) |
      (a.offsets ? 8 : 0) |
      (a.weights ? 32 : 0) |
      (a.logWeights ? 64 : 0);
    return call(session, stop, a.logRatios, a.factors, a.mask, a.offsets, a.signs, a.weights, a.logWeights);
  },
  reduceCounts(call, numbers, session, stop, a: ReduceCountsArgs) {
    numbers[0] = a.n;
    numbers[1] = a.B;
    numbers[2] = a.T;
    numbers[3] = 4 | (a.mask ? 1 : 0) | (a.offsets ? 2 : 0);
    return call(session, stop, a.mask, a.offsets, a.counts);
  },
  scanGae(call, numbers, session, stop, a: ScanGaeArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.gamma;
    numbers[5] = a.lambda;
    numbers[6] = a.maskMode;
    numbers[7] = a.transformMasked;
    numbers[8] = a.lambdasPerToken;
    numbers[9] =
      3 |
      (a.gammas ? 4 : 0) |
      (a.mask ? 8 : 0) |
      (a.bootstrap ? 16 : 0) |
      (a.offsets ? 32 : 0) |
      (a.advantages ? 64 : 0) |
      (a.returns ? 128 : 0) |
      (a.lambdas ? 256 : 0);
    return call(
      session,
      stop,
      a.rewards,
      a.values,
      a.gammas,
      a.mask,
      a.bootstrap,
      a.offsets,
      a.advantages,
      a.returns,
      a.lambdas,
    );
  },
  scanReturns(call, numbers, session, stop, a: ScanReturnsArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.gamma;
    numbers[5] = a.maskMode;
    numbers[6] = a.transformMasked;
    numbers[7] = 33 | (a.gammas ? 2 : 0) | (a.mask ? 4 : 0) | (a.bootstrap ? 8 : 0) | (a.offsets ? 16 : 0);
    return call(session, stop, a.rewards, a.gammas, a.mask, a.bootstrap, a.offsets, a.returns);
  },
  scanVtrace(call, numbers, session, stop, a: ScanVtraceArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.gamma;
    numbers[5] = a.lambda;
    numbers[6] = a.rhoBar;
    numbers[7] = a.cBar;
    numbers[8] = a.pgRhoBar;
    numbers[9] = a.maskMode;
    numbers[10] = a.delta;
    numbers[11] = a.lambdasPerToken;
    numbers[12] =
      7 |
      (a.gammas ? 8 : 0) |
      (a.mask ? 16 : 0) |
      (a.bootstrap ? 32 : 0) |
      (a.offsets ? 64 : 0) |
      (a.targets ? 128 : 0) |
      (a.advantages ? 256 : 0) |
      (a.accumulated ? 512 : 0) |
      (a.lambdas ? 1024 : 0);
    return call(
      session,
      stop,
      a.rewards,
      a.values,
      a.weights,
      a.gammas,
      a.mask,
      a.bootstrap,
      a.offsets,
      a.targets,
      a.advantages,
      a.accumulated,
      a.lambdas,
    );
  },
  scanTail(call, numbers, session, stop, a: ScanTailArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.gamma;
    numbers[5] = a.maskMode;
    numbers[6] = a.normalize;
    numbers[7] = a.maskedWeight;
    numbers[8] = 9 | (a.mask ? 2 : 0) | (a.offsets ? 4 : 0);
    return call(session, stop, a.values, a.mask, a.offsets, a.tails);
  },
  scanPrefix(call, numbers, session, stop, a: ScanPrefixArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.exclusive;
    numbers[5] =
      (a.values ? 1 : 0) |
      (a.logProbs ? 2 : 0) |
      (a.sumSquares ? 4 : 0) |
      (a.weights ? 8 : 0) |
      (a.mask ? 16 : 0) |
      (a.offsets ? 32 : 0) |
      (a.terms ? 64 : 0) |
      (a.sums ? 128 : 0);
    return call(session, stop, a.values, a.logProbs, a.sumSquares, a.weights, a.mask, a.offsets, a.terms, a.sums);
  },
  scanShares(call, numbers, session, stop, a: ScanSharesArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.gain;
    numbers[5] = a.epsilon;
    numbers[6] = 1 | (a.mask ? 2 : 0) | (a.offsets ? 4 : 0) | (a.weights ? 8 : 0) | (a.products ? 16 : 0);
    return call(session, stop, a.values, a.mask, a.offsets, a.weights, a.products);
  },
  selectQuantile(call, numbers, session, stop, a: SelectQuantileArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.over;
    numbers[5] = a.q;
    numbers[6] = 1 | (a.mask ? 2 : 0) | (a.offsets ? 4 : 0) | (a.thresholds ? 8 : 0) | (a.selected ? 16 : 0);
    return call(session, stop, a.values, a.mask, a.offsets, a.thresholds, a.selected);
  },
  selectTop(call, numbers, session, stop, a: SelectTopArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.over;
    numbers[5] = a.share;
    numbers[6] = a.k;
    numbers[7] = a.least;
    numbers[8] = 9 | (a.mask ? 2 : 0) | (a.offsets ? 4 : 0) | (a.counts ? 16 : 0);
    return call(session, stop, a.values, a.mask, a.offsets, a.selected, a.counts);
  },
  selectCovariance(call, numbers, session, stop, a: SelectCovarianceArgs) {
    numbers[0] = a.dtype;
    numbers[1] = a.n;
    numbers[2] = a.B;
    numbers[3] = a.T;
    numbers[4] = a.advantagesPerToken;
    numbers[5] = a.mode;
    numbers[6] = a.countEpsilon;
    numbers[7] = a.low;
    numbers[8] = a.high;
    numbers[9] = a.share;
    numbers[10] = a.k;
    numbers[11] = a.least;
    numbers[12] = 35 | (a.mask ? 4 : 0) | (a.excluded ? 8 : 0) | (a.offsets ? 16 : 0) | (a.counts ? 64 : 0);
    return call(session, stop, a.advantages, a.logProbs, a.mask, a.excluded, a.offsets, a.selected, a.counts);
  },
};

/** Of an op whose rows are independent of each other: the field that counts them, and the elements of each array a row. */
interface Cut<Args> {
  readonly rows: keyof Args;
  readonly widths: (args: Args) => Readonly<Record<string, number>>;
}

/** The ops whose calls can be cut into fewer rows. */
export type CutOp =
  | "divergenceRows"
  | "divergenceTop"
  | "logprobForward"
  | "logprobBackward"
  | "logprobPartial"
  | "lossLogits";
export const CUT_BY_ROWS: { readonly [Op in CutOp]: Cut<Parameters<BackendOps[Op]>[0]> } = {
  divergenceRows: {
    rows: "N",
    widths: (a) => ({
      student: a.studentStride,
      teacher: a.teacherStride,
      mask: 1,
      gradDivergences: 1,
      support: a.K,
      divergences: 1,
      gradStudent: a.studentStride,
    }),
  },
  divergenceTop: { rows: "N", widths: (a) => ({ logits: a.stride, mask: 1, ids: a.K }) },
  logprobForward: {
    rows: "N",
    widths: (a) => ({
      logits: a.stride,
      targets: a.K,
      mask: 1,
      logProbs: a.K,
      entropies: 1,
      logSumExps: 1,
      maxLogits: 1,
      log1pSums: 1,
      meanGaps: 1,
      sumSquares: 1,
    }),
  },
  logprobBackward: {
    rows: "N",
    widths: (a) => ({
      logits: a.stride,
      targets: a.K,
      mask: 1,
      maxLogits: 1,
      log1pSums: 1,
      meanGaps: 1,
      gradLogProbs: a.K,
      gradEntropies: 1,
      gradLogits: a.stride,
    }),
  },
  logprobPartial: { rows: "N", widths: (a) => ({ logits: a.stride, targets: a.K, mask: 1, states: 4 + a.K }) },
  lossLogits: {
    rows: "N",
    widths: (a) => ({
      logits: a.stride,
      targets: 1,
      mask: 1,
      oldLogProbs: 1,
      advantages: 1,
      factors: 1,
      clipLows: 1,
      clipHighs: 1,
      ratioCaps: 1,
      referenceLogProbs: 1,
      weights: 1,
      klWeights: 1,
      entropyWeights: 1,
      termMask: 1,
      marks: 1,
      logProbs: 1,
      entropies: 1,
      logSumExps: 1,
      maxLogits: 1,
      log1pSums: 1,
      meanGaps: 1,
      sumSquares: 1,
      gradLogits: a.stride,
    }),
  },
};

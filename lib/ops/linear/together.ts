// A head whose rows lie on the workers of a collective: every one has the weights of some ids, and gets the result of all ids.
import {
  finishRow,
  IGNORED,
  LogitMap,
  mergeSums,
  type RowResult,
  type RowSums,
  withoutSums,
} from "../../backend/js/logit-sums";
import { selectBackend } from "../../backend/select";
import { refuseOverlap, type TokenIds } from "../../core/arrays";
import type { Collective } from "../../core/collective";
import { needsHostArrays } from "../../core/device-ops";
import { gatherIntegers, needAgreement } from "../../core/row-partials";
import { readTensor } from "../../core/tensor";
import { type LinearLogprobBackwardOptions, linearLogprobBackward, type LinearLogprobGradients } from "./backward";
import { type LinearLogprobResult, type LinearLogprobState, needResult } from "./forward";
import {
  type CheckedHead,
  type HeadTensor,
  type HeadViewOf,
  type LinearHeadOptions,
  HEAD_DTYPES,
  needHead,
} from "./head";
import { addedUp } from "./hidden-sum";

const WHY = "its workers exchange their sums in host memory";
needsHostArrays("linearLogprobTogether", WHY);
needsHostArrays("linearLogprobBackwardTogether", WHY);

export interface LinearLogprobTogetherOptions extends LinearHeadOptions {
  /** The workers that hold the head: rank 0 the weights of the first ids, and so on. */
  readonly collective: Collective;
  /** Reuse memory for any of the results. Must not overlap the inputs. */
  readonly out?: Partial<LinearLogprobResult>;
}

/** Which ids lie here. */
export interface HeadPlace {
  /** The first id here. */
  readonly vocabStart: number;
  /** Ids of all workers. */
  readonly vocabSize: number;
}

/** With the place for `linearLogprobBackwardTogether`. */
export interface LinearLogprobTogetherResult extends LinearLogprobResult, HeadPlace {}

export interface LinearLogprobBackwardTogetherOptions extends Omit<
  LinearLogprobBackwardOptions,
  "vocabStart" | "vocabSize"
> {
  /** As in the forward pass. */
  readonly collective: Collective;
}

/** Numbers of a row that travel: maximum, log1p sum, mean gap, sum of squares, log-prob of the target. */
const WIDTH = 5;

/** The results of the ids here; of targets elsewhere the log-prob is that of some other id. */
function ofShard(
  head: CheckedHead,
  { vocabStart }: HeadPlace,
  backend: LinearHeadOptions["backend"],
): { states: Float64Array; isHere: (n: number) => boolean } {
  const { N, V, targets, wide } = head;
  const isHere = (n: number): boolean => targets !== null && targets[n]! >= vocabStart && targets[n]! < vocabStart + V;
  const floats = (): Float32Array | Float64Array => (wide === "float64" ? new Float64Array(N) : new Float32Array(N));
  const own = V > 0 && targets ? targets.map((id, n) => (isHere(n) ? id - vocabStart : 0)) : null;
  const exact = { maxLogits: new Float64Array(N), log1pSums: new Float64Array(N), meanGaps: new Float64Array(N) };
  const sumSquares = floats();
  const logProbs = own && floats();
  const rest = { entropies: null, logSumExps: null };
  selectBackend("linearLogprobTogether", backend).ops.linearForward({
    ...head,
    ...exact,
    ...rest,
    sumSquares,
    logProbs,
    targets: own,
  });
  const states = new Float64Array(N * WIDTH);
  for (let n = 0; n < N; ++n)
    states.set(
      [exact.maxLogits[n]!, exact.log1pSums[n]!, exact.meanGaps[n]!, sumSquares[n]!, logProbs ? logProbs[n]! : NaN],
      n * WIDTH,
    );
  return { states, isHere };
}

/** The sums without the maximum again, of what a shard made of them. */
function sumsOf(state: Float64Array): RowSums {
  const [maxLogit, log1pSum, meanGap, sumSq] = state as unknown as [number, number, number, number];
  if (!Number.isFinite(maxLogit)) return withoutSums(maxLogit);
  const total = Math.exp(log1pSum);
  return { maxLogit, rest: Math.expm1(log1pSum), weighted: 0 - meanGap * total, squares: sumSq * total * total - 1 };
}

/** Of all ids, from the log-prob among those of one shard: what the other shards add lies below it. */
function logprobOf(map: LogitMap, row: RowResult, state: Float64Array): number {
  const [maxLogit, log1pSum, , , logProb] = state as unknown as [number, number, number, number, number];
  if (!Number.isFinite(row.maxLogit)) return NaN;
  if (maxLogit === -Infinity) return -Infinity;
  return logProb + (map.belowMax(maxLogit, row.maxLogit) + (log1pSum - row.log1pSum));
}

/**
 * `linearLogprob` where each worker holds the weights of a range of ids. Every rank makes the call with the same hidden states,
 * targets and options, and gets the result of the whole vocabulary; only five numbers of a row and rank travel.
 *
 *     with the sums S'ᵣ, maxima Mᵣ of the ranks:      M = max Mᵣ,      1 + S' = Σᵣ exp(Mᵣ − M)·(1 + S'ᵣ)
 *
 * With hidden states in float64 it is within 1e-12 of `linearLogprob` on one worker; else log-probs and sums of squares are
 * rounded to float32 once more. For gradients give the result to `linearLogprobBackwardTogether`.
 *
 * @param weight of the ids here, [ids, dim]; `vocab` says how many count. A rank without ids takes part
 * @param targets ids of the whole vocabulary, one a row; null for none
 * @throws SurprisalError as `linearLogprob`
 */
export function linearLogprobTogether(
  hidden: HeadTensor,
  weight: HeadTensor,
  targets: TokenIds | null | undefined,
  options: LinearLogprobTogetherOptions,
): LinearLogprobTogetherResult {
  const op = "linearLogprobTogether";
  const { collective } = options;
  const { V } = needHead(op, hidden, weight, null, options);
  const widths = gatherIntegers(collective, V);
  const sumOf = (list: readonly number[]): number => list.reduce((sum, width) => sum + width, 0);
  const place = { vocabStart: sumOf(widths.slice(0, collective.rank)), vocabSize: sumOf(widths) };
  const head = needHead(op, hidden, weight, targets, options, place);
  const { N, mask } = head;
  needAgreement(op, "the number of rows", collective, N);
  const result = needResult(op, options.out, head, null);
  const inputs = { hidden: head.hidden, weight: head.weight, bias: head.bias, targets: head.targets, mask };
  refuseOverlap(op, options.out, { ...result }, inputs);

  const { states, isHere } = ofShard(head, place, options.backend);
  for (let n = 0; n < N; ++n) if (!isHere(n)) states[n * WIDTH + WIDTH - 1] = NaN;
  const all = collective.allGather(states);
  const ends = widths.map((_, rank) => sumOf(widths.slice(0, rank + 1)));
  const map = new LogitMap(head);
  for (let n = 0; n < N; ++n) {
    const of = all.map((one) => one.subarray(n * WIDTH, (n + 1) * WIDTH));
    const left = mask !== null && mask[n] === 0;
    const row = left
      ? IGNORED
      : finishRow(
          map,
          of.map(sumsOf).reduce((a, b) => mergeSums(map, a, b)),
        );
    result.maxLogits[n] = row.maxLogit;
    result.log1pSums[n] = row.log1pSum;
    result.meanGaps[n] = row.meanGap;
    result.entropies[n] = row.log1pSum + row.meanGap;
    result.logSumExps[n] = row.lse;
    result.sumSquares[n] = row.sumSq;
    if (!head.targets) continue;
    const holder = ends.findIndex((end) => head.targets![n]! < end);
    result.logProbs[n] = left ? 0 : logprobOf(map, row, of[holder]!);
  }
  return { ...result, ...place };
}

/**
 * Gradients of hidden states and of the ids here, from those of log-probs and entropies. Every rank makes the call.
 *
 *     dL/d hidden = Σ_ranks gᵣ · weightᵣ,      dL/d weightᵣ = gᵣᵀ · hidden,      dL/d biasᵣ = Σ_rows gᵣ
 *
 * That of hidden is added up in float64 in the order of the ranks, and comes out the same on each; what a rank adds was rounded
 * to hidden's type, so float64 is within 1e-12 of one worker's sum of sizes, and narrower types within a rounding a rank.
 *
 * @param state the result of `linearLogprobTogether` on these, with the same options
 * @returns as `linearLogprobBackward`; gradients of weight and bias are those of the ids here
 * @throws SurprisalError as `linearLogprobBackward`
 */
export function linearLogprobBackwardTogether<H extends HeadTensor>(
  hidden: H,
  weight: HeadTensor,
  targets: TokenIds | null | undefined,
  state: LinearLogprobState & HeadPlace,
  options: LinearLogprobBackwardTogetherOptions,
): LinearLogprobGradients<HeadViewOf<H>> {
  const op = "linearLogprobBackwardTogether";
  const { collective, ...rest } = options;
  const { dtype } = readTensor(op, "hidden", hidden, options.dtype, HEAD_DTYPES);
  const { vocabStart, vocabSize } = state;
  const own = linearLogprobBackward(hidden, weight, targets, state, { ...rest, vocabStart, vocabSize });
  if (own.gradHidden) addedUp(collective, own.gradHidden, dtype);
  return own;
}

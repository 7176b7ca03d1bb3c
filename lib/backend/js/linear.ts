// A linear head and the log-probs of its logits (contract: native/include/surprisal/linear.h): some rows of hidden, widened,
// meet the rows of weight one after the other. Numbers are float64 here; an array rounds once when it stores.
import type { WideLogitArray } from "../../core/dtype";
import { halfEncoder, halfTable } from "../../core/half";
import type { LinearBackwardArgs, LinearForwardArgs, LinearOps } from "../contract/linear";
import {
  finishRow,
  halfTypeOf,
  IGNORED,
  LogitMap,
  mergeSums,
  type RowResult,
  type RowSums,
  slopeOf,
  targetLogprob,
  withoutSums,
} from "./logit-sums";

type HeadArgs = LinearForwardArgs | LinearBackwardArgs;

const ROWS = 16; // in work at a time unless the caller says
const IDS = 16; // whose gradients of weight are summed at a time

/** Row `row` of an array with D numbers a row, as float64, into `to` from `at` on. */
type Widen = (row: number, to: Float64Array, at: number) => void;

function widenerOf(dtype: number, array: WideLogitArray, D: number): Widen {
  const half = halfTypeOf(dtype);
  if (half === undefined)
    return (row, to, at) => {
      for (let d = 0, i = row * D; d < D; ++d, ++i) to[at + d] = array[i]!;
    };
  const table = halfTable(half);
  return (row, to, at) => {
    for (let d = 0, i = row * D; d < D; ++d, ++i) to[at + d] = table[array[i]!]!;
  };
}

function dot(x: Float64Array, at: number, y: Float64Array, from: number, D: number): number {
  let sum = 0;
  for (let d = 0; d < D; ++d) sum += x[at + d]! * y[from + d]!;
  return sum;
}

/** to += factor · from, D numbers each. */
function addScaled(to: Float64Array, at: number, factor: number, x: Float64Array, from: number, D: number): void {
  for (let d = 0; d < D; ++d) to[at + d]! += factor * x[from + d]!;
}

/** The numbers of the kept rows, in lists of at most `chunk`. */
function* keptChunks({ N, mask }: HeadArgs, chunk: number): Generator<readonly number[]> {
  let rows: number[] = [];
  for (let n = 0; n < N; ++n) {
    if (mask && mask[n] === 0) continue;
    rows.push(n);
    if (rows.length < chunk) continue;
    yield rows;
    rows = [];
  }
  if (rows.length > 0) yield rows;
}

/** Calls `visit` with the logit of every id for every row of a chunk. `weights` holds the id's row of weight. */
function eachLogit(
  a: HeadArgs,
  rows: readonly number[],
  visit: (r: number, j: number, x: number, weights: Float64Array) => void,
): void {
  const { D } = a;
  const hidden = widenAll(widenerOf(a.dtype, a.hidden, D), rows, D);
  const weight = widenerOf(a.dtype, a.weight, D);
  const bias = biasOf(a);
  const weights = new Float64Array(D);
  for (let j = 0; j < a.V; ++j) {
    weight(j, weights, 0);
    for (let r = 0; r < rows.length; ++r) visit(r, j, dot(hidden, r * D, weights, 0, D) + bias(j), weights);
  }
}

function widenAll(widen: Widen, rows: readonly number[], D: number): Float64Array {
  const all = new Float64Array(rows.length * D);
  rows.forEach((row, r) => {
    widen(row, all, r * D);
  });
  return all;
}

function biasOf({ bias, dtype }: HeadArgs): (j: number) => number {
  if (!bias) return () => 0;
  const widen = widenerOf(dtype, bias, 1);
  const one = new Float64Array(1);
  return (j) => {
    widen(j, one, 0);
    return one[0]!;
  };
}

function storeRow(a: LinearForwardArgs, n: number, row: RowResult, logprob: number): void {
  if (a.logProbs) a.logProbs[n] = logprob;
  if (a.entropies) a.entropies[n] = row.log1pSum + row.meanGap;
  if (a.logSumExps) a.logSumExps[n] = row.lse;
  if (a.sumSquares) a.sumSquares[n] = row.sumSq;
  if (a.maxLogits) a.maxLogits[n] = row.maxLogit;
  if (a.log1pSums) a.log1pSums[n] = row.log1pSum;
  if (a.meanGaps) a.meanGaps[n] = row.meanGap;
}

function linearForward(a: LinearForwardArgs): void {
  const map = new LogitMap(a);
  for (let n = 0; n < a.N; ++n) if (a.mask && a.mask[n] === 0) storeRow(a, n, IGNORED, 0);
  for (const rows of keptChunks(a, a.chunkRows || ROWS)) {
    const sums: RowSums[] = rows.map(() => withoutSums(-Infinity));
    const atTarget = new Float64Array(rows.length);
    eachLogit(a, rows, (r, j, x) => {
      sums[r] = mergeSums(map, sums[r]!, { maxLogit: x, rest: 0, weighted: 0, squares: 0 }); // a row of one id has no rest
      if (a.logProbs && a.targets![rows[r]!] === j) atTarget[r] = x;
    });
    rows.forEach((n, r) => {
      const row = finishRow(map, sums[r]!);
      storeRow(a, n, row, targetLogprob(map, row, atTarget[r]!));
    });
  }
}

/** g of logit x of id j in row n. */
function logitGradient(a: LinearBackwardArgs, map: LogitMap, n: number, j: number, x: number): number {
  const ofLogprob = a.gradLogProbs ? a.gradLogProbs[n]! : 0;
  const isTarget = a.gradLogProbs !== null && a.targets![n] === a.vocabStart + j;
  const ofEntropy = a.gradEntropies ? a.gradEntropies[n]! : 0;
  return slopeOf(map, x, isTarget, a.maxLogits[n]!, a.log1pSums[n]!, ofLogprob, ofEntropy, a.meanGaps?.[n] ?? 0);
}

function hiddenGradient(a: LinearBackwardArgs, map: LogitMap, grad: WideLogitArray): void {
  const { D } = a;
  const half = halfTypeOf(a.dtype);
  const encode = half === undefined ? (x: number) => x : halfEncoder(half);
  for (let n = 0; n < a.N; ++n) if (a.mask && a.mask[n] === 0) grad.fill(0, n * D, (n + 1) * D);
  for (const rows of keptChunks(a, a.chunkRows || ROWS)) {
    const sums = new Float64Array(rows.length * D);
    eachLogit(a, rows, (r, j, x, weights) => {
      addScaled(sums, r * D, logitGradient(a, map, rows[r]!, j, x), weights, 0, D);
    });
    rows.forEach((n, r) => {
      for (let d = 0; d < D; ++d) grad[n * D + d] = encode(sums[r * D + d]!);
    });
  }
}

function headGradient(a: LinearBackwardArgs, map: LogitMap): void {
  const { D, V, gradWeight, gradBias } = a;
  const [readHidden, readWeight, bias] = [widenerOf(a.dtype, a.hidden, D), widenerOf(a.dtype, a.weight, D), biasOf(a)];
  const hidden = new Float64Array(D);
  for (let begin = 0; begin < V; begin += IDS) {
    const ids = Array.from({ length: Math.min(IDS, V - begin) }, (_, i) => begin + i);
    const weights = widenAll(readWeight, ids, D);
    const sums = new Float64Array(ids.length * D);
    const ofBias = new Float64Array(ids.length);
    for (const [n] of keptChunks(a, 1)) {
      readHidden(n!, hidden, 0);
      ids.forEach((j, i) => {
        const g = logitGradient(a, map, n!, j, dot(hidden, 0, weights, i * D, D) + bias(j));
        addScaled(sums, i * D, g, hidden, 0, D);
        ofBias[i]! += g;
      });
    }
    addOrStore(a, gradWeight, begin * D, sums);
    addOrStore(a, gradBias, begin, ofBias);
  }
  if (a.accumulate) return;
  gradWeight?.fill(0, V * D);
  gradBias?.fill(0, V);
}

function addOrStore(
  { accumulate }: LinearBackwardArgs,
  to: LinearBackwardArgs["gradWeight"],
  at: number,
  sums: Float64Array,
): void {
  if (!to) return;
  for (let i = 0; i < sums.length; ++i) to[at + i] = accumulate ? to[at + i]! + sums[i]! : sums[i]!;
}

function linearBackward(a: LinearBackwardArgs): void {
  const map = new LogitMap(a);
  if (a.gradHidden) hiddenGradient(a, map, a.gradHidden);
  if (a.gradWeight || a.gradBias) headGradient(a, map);
}

export const linearOps: LinearOps = { linearForward, linearBackward };

// Log-probs, entropy and gradient of logits (contract: native/include/surprisal/logprob.h): a row is widened into a buffer,
// then its maximum, then its sums. Numbers are float64 here; an array rounds once when it stores.
import type { LogitArray } from "../../core/dtype";
import { halfEncoder, halfTable } from "../../core/half";
import {
  STATE_IGNORED,
  STATE_SUMS,
  type LogprobBackwardArgs,
  type LogprobForwardArgs,
  type LogprobMergeArgs,
  type LogprobOps,
  type LogprobPartialArgs,
} from "../contract/logprob";
import { expBelow, LEAST } from "./exp";
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
import { PIECE } from "./pieces";
import { logprobKeptBackward, logprobKeptForward } from "./logprob-kept";

type LogprobOutputs = Pick<
  LogprobForwardArgs,
  "logProbs" | "entropies" | "logSumExps" | "maxLogits" | "log1pSums" | "meanGaps" | "sumSquares"
>;

const piece = new Float64Array(PIECE);

/** Logits from `begin` on in `piece`; how many. */
function readPiece(x: Float32Array, begin: number): number {
  piece.set(x.length <= PIECE ? x : x.subarray(begin, begin + PIECE));
  return Math.min(PIECE, x.length - begin);
}

/** The largest of a piece of a row; no NaN counts. Four at a time: each comparison waits for the one before. */
function maxOf(x: Float32Array, begin: number, end: number): number {
  let a = -Infinity;
  let b = a;
  let c = a;
  let d = a;
  let j = begin;
  for (; j + 3 < end; j += 4) {
    if (x[j]! > a) a = x[j]!;
    if (x[j + 1]! > b) b = x[j + 1]!;
    if (x[j + 2]! > c) c = x[j + 2]!;
    if (x[j + 3]! > d) d = x[j + 3]!;
  }
  for (; j < end; ++j) if (x[j]! > a) a = x[j]!;
  return Math.max(a, b, c, d);
}

class Sums implements RowSums {
  rest = 0;
  weighted = 0;
  squares = 0;
  constructor(readonly maxLogit: number) {}
}

/** Adds the first n of `piece`; what is masked, or far below the maximum, adds nothing. */
function addTerms(to: Sums, piece: Float64Array, n: number, max: number, slope: number): void {
  let rest = 0;
  let weighted = 0;
  let squares = 0;
  for (let j = 0; j < n; ++j) {
    const gap = (piece[j]! - max) * slope;
    if (gap < LEAST) continue; // it may be −∞, and 0 · −∞ is not 0
    const e = expBelow(gap);
    rest += e;
    weighted += e * gap;
    squares += e * e;
  }
  to.rest += rest;
  to.weighted += weighted;
  to.squares += squares;
}

function sumRow(map: LogitMap, x: Float32Array): RowSums {
  let max = -Infinity;
  for (let j = 0; j < x.length; j += PIECE) max = Math.max(max, maxOf(x, j, Math.min(j + PIECE, x.length)));
  if (max === -Infinity) return withoutSums(x.some(Number.isNaN) ? NaN : max);
  if (max === Infinity) return withoutSums(max);
  const first = x.indexOf(max);
  const sums = new Sums(max);
  for (let begin = 0; begin < x.length; begin += PIECE) {
    const n = readPiece(x, begin);
    if (first >= begin && first < begin + n) piece[first - begin] = -Infinity; // it is in none of the sums
    if (map.linear) addTerms(sums, piece, n, max, map.slope);
    else {
      for (let j = 0; j < n; ++j) piece[j] = map.belowMax(piece[j]!, max);
      addTerms(sums, piece, n, 0, 1);
    }
  }
  return Number.isNaN(sums.rest) ? withoutSums(NaN) : sums;
}

function put(out: Float32Array | null, i: number, x: number): void {
  if (out) out[i] = x;
}

function storeRow(out: LogprobOutputs, n: number, row: RowResult): void {
  put(out.entropies, n, row.log1pSum + row.meanGap);
  put(out.logSumExps, n, row.lse);
  put(out.maxLogits, n, row.maxLogit);
  put(out.log1pSums, n, row.log1pSum);
  put(out.meanGaps, n, row.meanGap);
  put(out.sumSquares, n, row.sumSq);
}

function storeIgnored(out: LogprobOutputs, n: number, K: number): void {
  storeRow(out, n, IGNORED);
  out.logProbs?.fill(0, n * K, (n + 1) * K);
}

/** Row n: the logits' own memory, or widened into one buffer, the same for every row. */
function rowReader(a: { dtype: number; logits: LogitArray; stride: number; V: number }): (n: number) => Float32Array {
  const half = halfTypeOf(a.dtype);
  if (half === undefined) return (n) => (a.logits as Float32Array).subarray(n * a.stride, n * a.stride + a.V);
  const row = new Float32Array(a.V);
  const table = halfTable(half);
  return (n) => {
    for (let j = 0, i = n * a.stride; j < row.length; ++j, ++i) row[j] = table[a.logits[i]!]!;
    return row;
  };
}

function logprobForward(a: LogprobForwardArgs): void {
  const map = new LogitMap(a);
  const readRow = rowReader(a);
  for (let n = 0; n < a.N; ++n) {
    if (a.mask && a.mask[n] === 0) {
      storeIgnored(a, n, a.K);
      continue;
    }
    const x = readRow(n);
    const row = finishRow(map, sumRow(map, x));
    storeRow(a, n, row);
    for (let i = n * a.K; i < (n + 1) * a.K; ++i) put(a.logProbs, i, targetLogprob(map, row, x[a.targets![i]!]!));
  }
}

function logprobPartial(a: LogprobPartialArgs): void {
  const map = new LogitMap(a);
  const readRow = rowReader(a);
  const width = STATE_SUMS + a.K;
  for (let n = 0; n < a.N; ++n) {
    if (a.mask && a.mask[n] === 0) {
      a.states.fill(0, n * width, (n + 1) * width);
      a.states[n * width + 1] = STATE_IGNORED;
      continue;
    }
    const x = readRow(n);
    const { maxLogit, rest, weighted, squares } = sumRow(map, x);
    a.states.set([maxLogit, rest, weighted, squares], n * width);
    for (let k = 0; k < a.K; ++k) {
      const logit = x[a.targets![n * a.K + k]! - a.vocabStart]; // undefined outside the shard
      a.states[n * width + STATE_SUMS + k] = logit ?? Infinity;
    }
  }
}

function logprobMerge(a: LogprobMergeArgs): void {
  const map = new LogitMap(a);
  const width = STATE_SUMS + a.K;
  for (let n = 0; n < a.N; ++n) {
    const states = Array.from({ length: a.P }, (_, p) => {
      const begin = (p * a.N + n) * width;
      return a.states.subarray(begin, begin + width);
    });
    if (states.some((state) => state[1] === STATE_IGNORED)) {
      storeIgnored(a, n, a.K);
      continue;
    }
    const sums = states
      .map((s) => ({ maxLogit: s[0]!, rest: s[1]!, weighted: s[2]!, squares: s[3]! }))
      .reduce((merged, state) => mergeSums(map, merged, state), withoutSums(-Infinity));
    const row = finishRow(map, sums);
    storeRow(a, n, row);
    for (let k = 0; k < a.K; ++k) {
      const owner = states.find((state) => state[STATE_SUMS + k] !== Infinity);
      put(a.logProbs, n * a.K + k, owner ? targetLogprob(map, row, owner[STATE_SUMS + k]!) : NaN);
    }
  }
}

/** dL/dx at a target: a's of this id and of the others apart, because 1 − p must not be formed from a p near 1. */
function targetGradient(a: LogprobBackwardArgs, map: LogitMap, n: number, id: number, logit: number): number {
  let own = 0;
  let others = 0;
  for (let i = n * a.K; i < (n + 1) * a.K; ++i) {
    if (a.targets![i] === id) own += a.gradLogProbs![i]!;
    else others += a.gradLogProbs![i]!;
  }
  const gap = map.belowMax(logit, a.maxLogits[n]!);
  const logp = gap - a.log1pSums[n]!;
  const p = Math.exp(logp);
  let dz = own * -Math.expm1(logp) - others * p;
  if (a.gradEntropies && p > 0) dz -= a.gradEntropies[n]! * p * (gap + a.meanGaps![n]!);
  return dz * map.derivative(logit);
}

/** What is the same for all logits of a row (pieces.ts). */
const ofRow = { slope: 0, max: 1, log1pSum: 2, logprob: 3, entropy: 4, meanGap: 5 } as const;
const row = new Float64Array(6);

/** dL/dx of the first n of `piece`, in their place, where none of them is a target. */
function slopesOf(piece: Float64Array, n: number, row: Float64Array): void {
  const slope = row[ofRow.slope]!;
  const max = row[ofRow.max]!;
  const log1pSum = row[ofRow.log1pSum]!;
  const ofLogprob = row[ofRow.logprob]!;
  const ofEntropy = row[ofRow.entropy]!;
  const meanGap = row[ofRow.meanGap]!;
  for (let j = 0; j < n; ++j) {
    const gap = (piece[j]! - max) * slope;
    const logp = gap - log1pSum;
    if (logp < LEAST) piece[j] = 0;
    else {
      const p = logp > 0 ? Math.exp(logp) : expBelow(logp);
      piece[j] = p * (0 - ofLogprob - ofEntropy * (gap + meanGap)) * slope;
    }
  }
}

function logprobBackward(a: LogprobBackwardArgs): void {
  const map = new LogitMap(a);
  const readRow = rowReader(a);
  const half = halfTypeOf(a.dtype);
  const encode = half && halfEncoder(half);
  const encoded = (x: number): number => (encode ? encode(x) : x);
  const { gradLogits: grad } = a;
  for (let n = 0; n < a.N; ++n) {
    const begin = n * a.stride;
    const max = a.maxLogits[n]!;
    if ((a.mask && a.mask[n] === 0) || max === -Infinity) {
      grad.fill(0, begin, begin + a.stride);
      continue;
    }
    const x = readRow(n);
    grad.fill(0, begin + a.V, begin + a.stride);
    if (!Number.isFinite(max)) {
      grad.fill(encoded(NaN), begin, begin + a.V);
      continue;
    }
    const targets = a.gradLogProbs ? Array.from(a.targets!.subarray(n * a.K, (n + 1) * a.K)) : [];
    // Read first: the gradient may lie in the logits' memory. Undefined outside the shard.
    const targetLogits = targets.map((id) => x[id - a.vocabStart]);
    const log1pSum = a.log1pSums[n]!;
    let sum = 0;
    for (let k = 0; k < targets.length; ++k) sum += a.gradLogProbs![n * a.K + k]!;
    const h = a.gradEntropies ? a.gradEntropies[n]! : 0;
    const meanGap = a.gradEntropies ? a.meanGaps![n]! : 0;
    row.set([map.slope, max, log1pSum, sum, h, meanGap]);
    for (let from = 0; from < a.V; from += PIECE) {
      const count = readPiece(x, from);
      if (map.linear) slopesOf(piece, count, row);
      else for (let j = 0; j < count; ++j) piece[j] = slopeOf(map, piece[j]!, false, max, log1pSum, sum, h, meanGap);
      if (encode) for (let j = 0; j < count; ++j) grad[begin + from + j] = encode(piece[j]!);
      else for (let j = 0; j < count; ++j) grad[begin + from + j] = piece[j]!; // set() of such numbers is ten times as slow
    }
    for (const [k, id] of targets.entries()) {
      const logit = targetLogits[k];
      if (logit !== undefined) grad[begin + id - a.vocabStart] = encoded(targetGradient(a, map, n, id, logit));
    }
  }
}

export const logprobOps: LogprobOps = {
  logprobForward,
  logprobBackward,
  logprobPartial,
  logprobMerge,
  logprobKeptForward,
  logprobKeptBackward: (a) => {
    logprobKeptBackward(a, logprobBackward);
  },
};

// Divergence of two rows of logits and its gradient (contract: native/include/surprisal/divergence.h): both rows are widened,
// then the maxima, the sums of both softmaxes, the terms, the gradient. Numbers are float64 here; an array rounds once when
// it stores.
import type { WideLogitArray } from "../../core/dtype";
import { halfEncoder, halfTable } from "../../core/half";
import { notFinite } from "../../core/not-finite";
import type { DivergenceOps, DivergenceRowsArgs, DivergenceTopArgs } from "../contract/divergence";
import { exp } from "./exp";
import { halfTypeOf } from "./logit-sums";

/** Columns [0, V) of row n, widened into one buffer, the same for every row. */
function rowReader(dtype: number, logits: WideLogitArray, stride: number, V: number): (n: number) => Float64Array {
  const row = new Float64Array(V);
  const half = halfTypeOf(dtype);
  const table = half && halfTable(half);
  return (n) => {
    const bits = logits.subarray(n * stride, n * stride + V);
    if (table) for (let j = 0; j < V; ++j) row[j] = table[bits[j]!]!;
    else row.set(bits);
    return row;
  };
}

/** The softmax of outcomes by its maximum and the sum of the others: a probability near 1 keeps its distance from 1. */
interface Softmax {
  /** NaN or +∞: there is one; −∞: nothing is finite. */
  readonly max: number;
  /** Position of the maximum, the one of the smallest id. */
  readonly first: number;
  /** Σ exp((x − max) / temperature) over the others. */
  readonly rest: number;
}

function softmax(x: Float64Array, temperature: number): Softmax {
  let max = -Infinity;
  let first = -1;
  for (let j = 0; j < x.length; ++j) {
    const value = x[j]!;
    if (Number.isNaN(value)) return { max: NaN, first: -1, rest: NaN };
    if (value > max) {
      max = value;
      first = j;
    }
  }
  let rest = 0;
  if (Number.isFinite(max))
    for (let j = 0; j < x.length; ++j) if (j !== first) rest += exp((x[j]! - max) / temperature);
  return { max, first, rest };
}

function logProbs(x: Float64Array, { max, rest }: Softmax, temperature: number): Float64Array {
  const logSum = Math.log1p(rest);
  return x.map((value) => (value - max) / temperature - logSum);
}

/** P·ln(P/Q) − P + Q ≥ 0 with d = ln(P/Q): summed over two distributions it is KL(P‖Q), and nothing cancels. */
function excess(P: number, Q: number, d: number): number {
  if (P === 0) return Q;
  return d >= 0 ? P * (d + Math.expm1(-d)) : Q * (d * Math.exp(d) - Math.expm1(d));
}

interface Term {
  value: number;
  /** h = dD / d ln S, up to a multiple of S. */
  slope: number;
}

function termOf(beta: number, logStudent: number, logTeacher: number): Term {
  if (logStudent === -Infinity && logTeacher === -Infinity) return { value: 0, slope: 0 };
  const S = exp(logStudent);
  const T = exp(logTeacher);
  const d = logStudent - logTeacher;
  if (beta === 0) return { value: excess(T, S, -d), slope: d >= 0 ? 0 - S * Math.expm1(-d) : T * Math.expm1(d) };
  if (beta === 1) return { value: excess(S, T, d), slope: S === 0 ? 0 : S * d };
  // u = ln(T/M), v = ln(S/M), from the larger of both.
  const v = d >= 0 ? 0 - Math.log1p(beta * Math.expm1(-d)) : d - Math.log1p((1 - beta) * Math.expm1(d));
  const u = d >= 0 ? v - d : 0 - Math.log1p((1 - beta) * Math.expm1(d));
  const M = (1 - beta) * S + beta * T;
  return { value: beta * excess(T, M, u) + (1 - beta) * excess(S, M, v), slope: S === 0 ? 0 : (1 - beta) * S * v };
}

/** A row's result: its divergence, Σ h, and h/S of the pool. */
interface RowEnd {
  readonly value: number;
  readonly slope: number;
  readonly pool: number;
}

/** The probability that a support leaves over. */
function outsideOf(p: Softmax, logP: Float64Array, ids: Int32Array): number {
  let inside = 0;
  for (const id of ids) if (id !== p.first) inside += exp(logP[id]!);
  return (ids.includes(p.first) ? p.rest / (1 + p.rest) : 1) - inside;
}

/** A pool at its floor leaves sums that are not 1: the −P + Q of the terms is taken back, and the student's is a constant. */
function addPool(a: DivergenceRowsArgs, sum: Term, studentOutside: number, teacherOutside: number): RowEnd {
  const least = 0 - Math.expm1(-a.tailFloor);
  const S = Math.max(studentOutside, least);
  const T = Math.max(teacherOutside, least);
  const term = termOf(a.beta, Math.log(S), Math.log(T));
  const surplus = S - studentOutside - (T - teacherOutside);
  const sign = a.beta === 0 ? 1 : a.beta === 1 ? -1 : 0;
  const pool = studentOutside < least ? sign : term.slope / S;
  return { value: sum.value + term.value - sign * surplus, slope: sum.slope + pool * studentOutside, pool };
}

/** What a support selects; the ids ascending, so that equal logits have their order. */
function gather(row: Float64Array, ids: Int32Array): Float64Array {
  return Float64Array.from(ids, (id) => row[id]!);
}

/** Fills one row of the outputs. `grad` has V columns and is null where no gradient is wanted. */
function divergenceOf(
  a: DivergenceRowsArgs,
  student: Float64Array,
  teacher: Float64Array,
  ids: Int32Array | null,
  weight: number,
  grad: Float64Array | null,
): number {
  const pooled = a.outside === 1;
  const whole = !ids || pooled;
  const x = whole ? student : gather(student, ids);
  const y = whole ? teacher : gather(teacher, ids);
  const S = softmax(x, a.temperature);
  const T = softmax(y, a.temperature);
  if (!(S.max < Infinity) || !(T.max < Infinity)) {
    grad?.fill(weight === 0 ? 0 : NaN);
    return NaN;
  }
  grad?.fill(0);
  if (S.max === -Infinity || T.max === -Infinity) return NaN;

  const logS = logProbs(x, S, a.temperature);
  const logT = logProbs(y, T, a.temperature);
  const count = pooled ? ids!.length : x.length;
  const at = (i: number): number => (pooled ? ids![i]! : i); // in logS, logT
  const sum: Term = { value: 0, slope: 0 };
  for (let i = 0; i < count; ++i) {
    const { value, slope } = termOf(a.beta, logS[at(i)]!, logT[at(i)]!);
    sum.value += value;
    sum.slope += slope;
  }
  const end = pooled ? addPool(a, sum, outsideOf(S, logS, ids!), outsideOf(T, logT, ids!)) : { ...sum, pool: 0 };
  if (!grad || weight === 0) return end.value;

  const factor = weight / a.temperature;
  const defined = Number.isFinite(end.slope);
  const put = (j: number, p: number, gradient: () => number): void => {
    grad[j] = factor * (defined ? gradient() : p > 0 ? NaN : 0);
  };
  if (pooled)
    for (let j = 0; j < logS.length; ++j) {
      const p = exp(logS[j]!);
      put(j, p, () => p * (end.pool - end.slope));
    }
  for (let i = 0; i < count; ++i) {
    const p = exp(logS[at(i)]!);
    put(ids ? ids[i]! : i, p, () => termOf(a.beta, logS[at(i)]!, logT[at(i)]!).slope - p * end.slope);
  }
  return end.value;
}

function divergenceRows(a: DivergenceRowsArgs): void {
  const readStudent = rowReader(a.dtype, a.student, a.studentStride, a.V);
  const readTeacher = rowReader(a.dtype, a.teacher, a.teacherStride, a.V);
  const half = halfTypeOf(a.dtype);
  const encode = half && halfEncoder(half);
  const grad = a.gradStudent && new Float64Array(a.V);
  for (let n = 0; n < a.N; ++n) {
    const begin = n * a.studentStride;
    const kept = !a.mask || a.mask[n] !== 0;
    a.gradStudent?.fill(0, begin + (kept ? a.V : 0), begin + a.studentStride);
    if (!kept) {
      if (a.divergences) a.divergences[n] = 0;
      continue;
    }
    const ids = a.support && a.support.subarray(n * a.K, (n + 1) * a.K);
    const value = divergenceOf(
      a,
      readStudent(n),
      readTeacher(n),
      ids,
      a.gradDivergences ? a.gradDivergences[n]! : 1,
      grad,
    );
    if (a.divergences) a.divergences[n] = value;
    if (grad) a.gradStudent.set(encode ? grad.map(encode) : grad, begin);
  }
}

function divergenceTop(a: DivergenceTopArgs): void {
  if (a.K === 0) return;
  const read = rowReader(a.dtype, a.logits, a.stride, a.V);
  for (let n = 0; n < a.N; ++n) {
    const ids = a.ids.subarray(n * a.K, (n + 1) * a.K);
    if (a.mask && a.mask[n] === 0) {
      ids.fill(0);
      continue;
    }
    const x = read(n);
    const sorted = x.slice().sort(); // NaN last
    if (Number.isNaN(sorted.at(-1))) throw notFinite("logits");
    const threshold = sorted[sorted.length - a.K]!;
    const above = sorted.length - 1 - sorted.lastIndexOf(threshold); // lastIndexOf takes 0 and −0 for equal, sort does not
    let equals = a.K - above;
    let taken = 0;
    for (let j = 0; j < x.length && taken < a.K; ++j) {
      const value = x[j]!;
      if (value > threshold || (value === threshold && equals-- > 0)) ids[taken++] = j;
    }
  }
}

export const divergenceOps: DivergenceOps = { divergenceRows, divergenceTop };

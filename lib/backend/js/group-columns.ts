// Baselines of columns (contract: native/include/surprisal/group.h), one group after the other, row after row: memory is read along rows.
import { rowBegin, rowEnd } from "../../core/row-layout";
import type { GroupColumnsArgs } from "../contract/group";
import { eachItem } from "./group-items";

/** Whether the numbers of a column are one number. */
const NONE = 0;
const EQUAL = 1;
const DIFFERENT = 2;

/** What a group has in each column. */
interface Columns {
  readonly sums: Float64Array;
  readonly weights: Float64Array;
  /** The first number, and the group's baseline afterwards. */
  readonly firsts: Float64Array;
  readonly states: Uint8Array;
}

function addRow(a: GroupColumnsArgs, b: number, { sums, weights, firsts, states }: Columns): void {
  const begin = rowBegin(a, b);
  const end = rowEnd(a, b);
  for (let i = begin; i < end; ++i) {
    if (a.mask && a.mask[i] === 0) continue;
    const t = i - begin;
    const x = a.values[i]!;
    const w = a.weights[i]!;
    if (states[t] === NONE) {
      firsts[t] = x;
      states[t] = EQUAL;
    }
    if (x !== firsts[t]) states[t] = DIFFERENT; // NaN is not even itself
    sums[t]! += w * x;
    weights[t]! += w;
  }
}

/** Of the first `count` columns; those behind them have the baseline 0. Equal numbers are their own mean, whatever rounding would make of them. */
function settle(a: GroupColumnsArgs, { sums, weights, firsts, states }: Columns, count: number): void {
  for (let t = 0; t < count; ++t) {
    const weight = weights[t]!;
    const divisor = weight + a.epsilon;
    if (states[t] !== DIFFERENT && weight > 0) continue;
    firsts[t] = divisor === 0 ? 0 : sums[t]! / divisor;
  }
  firsts.fill(0, count);
}

function writeRow(a: GroupColumnsArgs, b: number, baselines: Float64Array): void {
  const begin = rowBegin(a, b);
  const end = rowEnd(a, b);
  for (let i = begin; i < end; ++i) {
    const kept = !a.mask || a.mask[i] !== 0;
    const baseline = baselines[i - begin]!;
    if (a.baselines) a.baselines[i] = kept ? baseline : 0;
    if (a.centred) a.centred[i] = kept ? a.values[i]! - baseline : 0;
  }
}

/** Tokens of a row up to its last kept one. */
function keptLength(a: GroupColumnsArgs, b: number): number {
  let end = rowEnd(a, b);
  while (a.mask && end > rowBegin(a, b) && a.mask[end - 1] === 0) --end;
  return end - rowBegin(a, b);
}

/** Columns that more than one of the rows reaches, if `zeroTail`. */
function columnsWithBaseline(a: GroupColumnsArgs, rows: readonly number[], width: number): number {
  if (rows.length === 1) return 0;
  if (a.zeroTail === 0) return width;
  return rows.map((b) => keptLength(a, b)).sort((x, y) => y - x)[1] ?? 0;
}

export function groupColumns(a: GroupColumnsArgs): void {
  for (let g = 0; g < a.G; ++g) {
    const rows: number[] = [];
    eachItem({ members: a.members, offsets: a.groupOffsets }, g, (b) => rows.push(b));
    let width = 0;
    for (const b of rows) width = Math.max(width, rowEnd(a, b) - rowBegin(a, b));
    const columns: Columns = {
      sums: new Float64Array(width),
      weights: new Float64Array(width),
      firsts: new Float64Array(width),
      states: new Uint8Array(width),
    };
    for (const b of rows) addRow(a, b, columns);
    settle(a, columns, columnsWithBaseline(a, rows, width));
    for (const b of rows) writeRow(a, b, columns.firsts);
  }
}

// Entropy modulation (contract: native/include/surprisal/modulate.h) in float64; an array rounds once when it stores.
import { rangeError } from "../../core/errors";
import { rowBegin, rowEnd } from "../../core/row-layout";
import {
  type ModulateOps,
  type ModulateRowsArgs,
  type ModulateSpansArgs,
  type ModulateStepsArgs,
  NON_FINITE_ROWS,
  SCOPES,
  WEIGHT_FORMS,
} from "../contract/modulate";
import { liveSpans } from "./live-spans";

const ALL = SCOPES.indexOf("all");
const MASK = SCOPES.indexOf("mask");
const RATIO = WEIGHT_FORMS.indexOf("ratio");
const PROPAGATE = NON_FINITE_ROWS.indexOf("propagate");
const GROUP = NON_FINITE_ROWS.indexOf("group");

function modulateSteps(a: ModulateStepsArgs): void {
  const S = liveSpans(a);
  const entropy = a.entropies.subarray(0, S);
  for (const out of [a.entropyNorms, a.scales, a.clarities]) out?.fill(0, S);
  if (S === 0) return;
  const wrong = a.finite !== 0 ? entropy.findIndex((h) => !Number.isFinite(h)) : -1;
  if (wrong >= 0) throw rangeError("modulateSteps", `entropy[${wrong}]`, entropy[wrong], "a finite number");
  let low = Infinity;
  let high = -Infinity;
  for (const h of entropy) {
    low = Math.min(low, h); // NaN wins in both
    high = Math.max(high, h);
  }
  const width = high - low + a.epsilon;
  const norm = entropy.map((h) => (width === 0 ? 0 : (h - low) / width));
  const calibrated = norm.map((h) => Math.exp(-a.k * h));
  const mean = calibrated.reduce((sum, g) => sum + g, 0) / S;
  a.entropyNorms?.set(norm);
  a.scales?.set(calibrated.map((g) => g / (mean + a.epsilon)));
  a.clarities?.set(norm.map((h) => Math.exp(-a.kFuture * h)));
}

function modulateSpans(a: ModulateSpansArgs): void {
  const modulated = Float64Array.from(a.advantages);
  const inside = new Uint8Array(a.n);
  const S = liveSpans(a);
  const first = (s: number): number => rowBegin(a, a.spans[3 * s]!) + a.spans[3 * s + 1]!;
  for (let s = 0; s < S; ++s) {
    const followed = s + 1 < S && a.spans[3 * (s + 1)] === a.spans[3 * s];
    const bonus = followed ? a.zeta * a.clarities[s + 1]! : 0;
    const begin = first(s);
    const finish = begin + a.spans[3 * s + 2]! - a.spans[3 * s + 1]!;
    for (let i = begin; i < finish; ++i) modulated[i] = modulated[i]! * a.scales[s]! + bonus;
    inside.fill(1, begin, finish);
  }
  let sum = 0;
  for (let s = 0; s < S; ++s) sum += modulated[first(s)]!;
  const mean = S > 0 ? sum / S : 0;
  a.mean[0] = mean;
  for (let i = 0; i < a.n; ++i) {
    const chosen = a.scope === ALL || (a.scope === MASK ? a.mask![i] : inside[i]) !== 0;
    a.modulated[i] = S > 0 && chosen ? modulated[i]! - mean : modulated[i]!;
  }
}

interface Row {
  readonly mean: number;
  readonly length: number;
  readonly valid: boolean;
}

function measureRow(a: ModulateRowsArgs, b: number): Row {
  let sum = 0;
  let length = 0;
  for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) {
    if (a.mask && a.mask[i] === 0) continue;
    sum += a.values[i]!;
    ++length;
  }
  const mean = length > 0 ? (a.negate ? -sum : sum) / length : 0;
  const valid = (length > 0 || !a.emptyIsolate) && (a.nonFinite === PROPAGATE || Number.isFinite(mean));
  return { mean, length, valid };
}

interface Group {
  readonly mean: number;
  readonly deviation: number;
  /** Every row has ratio 1. */
  readonly one: boolean;
}

function measureGroup(a: ModulateRowsArgs, rows: readonly Row[]): Group {
  const valid = rows.filter((row) => row.valid);
  if (valid.length === 0) return { mean: NaN, deviation: NaN, one: false };
  const poisoned = a.nonFinite === GROUP && rows.some((row) => !Number.isFinite(row.mean));
  const mean = poisoned ? NaN : valid.reduce((sum, row) => sum + row.mean, 0) / valid.length;
  if (valid.length === 1 && a.singletonOne) return { mean, deviation: 1, one: true };
  if (valid.length === 1 && a.singletonZeroMean) return { mean: 0, deviation: 1, one: false };
  const squares = valid.reduce((sum, row) => sum + (row.mean - mean) ** 2, 0);
  const variance = valid.length > 1 ? squares / (valid.length - 1) : 0;
  return { mean, deviation: Math.sqrt(Math.max(variance, a.varianceFloor)), one: a.zeroOne !== 0 && mean === 0 };
}

function clamp(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high); // NaN stays; high wins over low
}

function rowRatio(a: ModulateRowsArgs, row: Row, group: Group): number {
  if (!row.valid || group.one) return 1;
  const ratio =
    a.form === RATIO
      ? group.mean / (row.mean + a.epsilon)
      : 1 + a.beta * clamp((group.mean - row.mean) / Math.max(group.deviation, a.epsilon), -a.zClip, a.zClip);
  return a.nonFinite === PROPAGATE || Number.isFinite(ratio) ? ratio : 1;
}

function modulateRows(a: ModulateRowsArgs): void {
  const rows = Array.from({ length: a.B }, (_, b) => measureRow(a, b));
  for (let g = 0; g < a.G; ++g) {
    const begin = a.groupOffsets[g]!;
    const members = Array.from(
      { length: a.groupOffsets[g + 1]! - begin },
      (_, i) => a.members?.[begin + i] ?? begin + i,
    );
    const group = measureGroup(
      a,
      members.map((b) => rows[b]!),
    );
    for (const b of members) {
      const row = rows[b]!;
      const ratio = rowRatio(a, row, group);
      const positive = !a.positive || a.positive[b] !== 0;
      const weight = positive
        ? clamp(ratio, a.lowPositive, a.highPositive)
        : clamp(ratio, a.lowNegative, a.highNegative);
      if (a.sequenceEntropies) a.sequenceEntropies[b] = row.mean;
      if (a.groupMeanEntropies) a.groupMeanEntropies[b] = group.mean;
      if (a.entropyRatios) a.entropyRatios[b] = ratio;
      if (a.weights) a.weights[b] = weight;
      if (a.lengths) a.lengths[b] = row.length;
      if (a.valid) a.valid[b] = row.valid ? 1 : 0;
    }
  }
}

export const modulateOps: ModulateOps = { modulateSteps, modulateSpans, modulateRows };

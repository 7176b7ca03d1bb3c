// Group statistics (contract: native/include/surprisal/group.h), one group after the other, items in their order.
// Numbers are float64 here; an array rounds once when it stores.
import { rowBegin, rowEnd } from "../../core/rows";
import {
  GROUP_CENTERS,
  GROUP_SCALES,
  GROUP_SINGLETONS,
  NAN_POLICIES,
  type GroupBroadcastArgs,
  type GroupColumnsArgs,
  type GroupNormalizeArgs,
  type GroupOps,
  type GroupPlaceArgs,
  type GroupTop2Args,
} from "../contract/group";
import { eachItem } from "./group-items";
import { groupEntropy, groupSoftmax, groupTilt, groupWeigh } from "./group-weights";

const UNCENTRED = GROUP_CENTERS.indexOf("none");
const LEAVE_ONE_OUT = GROUP_CENTERS.indexOf("leaveOneOut");
const RUNNER_UP = GROUP_CENTERS.indexOf("runnerUp");
const BY_STD = GROUP_SCALES.indexOf("std");
const ZERO = GROUP_SINGLETONS.indexOf("zero");
const STANDARD = GROUP_SINGLETONS.indexOf("standard");
const ABSTAIN = NAN_POLICIES.indexOf("abstain");

/** A number of a group and how often it counts. */
interface Item {
  readonly x: number;
  readonly w: number;
}

/** What a group is like, and so how each of its numbers is transformed. */
interface Statistics {
  readonly mean: number;
  readonly std: number;
  readonly count: number;
  readonly normalize: (x: number, w: number) => number;
}

function statistics(a: GroupNormalizeArgs, items: readonly Item[]): Statistics {
  const abstain = a.nanPolicy === ABSTAIN;
  const scaled = a.scale === BY_STD;
  const copied = a.center === UNCENTRED && !scaled;
  // What has weight 0 counts as a number without being looked at.
  const present = items.filter(({ x, w }) => w === 0 || !Number.isNaN(x));
  const numbers = present.filter(({ w }) => w !== 0);
  const count = abstain ? present.length : items.length;
  const standard = a.singleton === STANDARD;
  if (count === 0 && standard) return { mean: 0, std: 1, count, normalize: () => NaN };
  if (present.length === 0 || present.length < count) return { mean: NaN, std: NaN, count, normalize: () => NaN };
  if (numbers.length === 0) return { mean: NaN, std: NaN, count, normalize: () => 0 };

  const first = numbers[0]!.x;
  if (count === 1) {
    const raw = (x: number): number => (scaled ? x / (1 + a.epsilon) : x);
    const normalize = copied ? (x: number) => x : a.singleton === ZERO ? () => 0 : raw;
    return standard ? { mean: 0, std: 1, count, normalize } : { mean: first, std: 0, count, normalize };
  }

  const centre = centreOf(numbers);
  const { weight } = centre;
  const std = Math.sqrt(Math.max(centre.squares / (weight > a.ddof ? weight - a.ddof : NaN), a.varianceFloor));
  const divisor = scaled ? std + a.epsilon : 1;
  if (a.center === UNCENTRED) return { mean: centre.mean, std, count, normalize: (x) => x / divisor };
  if (centre.constant) return { mean: centre.mean, std, count, normalize: () => 0 };
  if (a.center === RUNNER_UP) {
    const [best, lead] = soleWinner(numbers);
    return { mean: centre.mean, std, count, normalize: (x, w) => (x === best && w !== 0 ? lead / divisor : 0) };
  }
  // x - (sum - w x) / (W - w) = (x - mean) W / (W - w), without the cancellation in sum - w x.
  const stretch = (w: number): number => (a.center === LEAVE_ONE_OUT ? weight / (weight - w) : 1);
  return { mean: centre.mean, std, count, normalize: (x, w) => (centre.centred(x) * stretch(w)) / divisor };
}

/** The largest number, and its lead over the next; equal largest ones have none. */
function soleWinner(numbers: readonly Item[]): [best: number, lead: number] {
  let best = -Infinity;
  for (const { x } of numbers) if (x > best) best = x;
  let second = -Infinity;
  let winners = 0;
  for (const { x } of numbers)
    if (x === best) ++winners;
    else if (x > second) second = x;
  return [best, winners === 1 ? best - second : 0];
}

/** Mean and squared deviations in two passes; the second also finds what the rounding of the mean left behind. */
function centreOf(numbers: readonly Item[]) {
  let sum = 0;
  let weight = 0;
  for (const { x, w } of numbers) {
    sum += w * x;
    weight += w;
  }
  const first = numbers[0]!.x;
  if (Number.isFinite(first) && numbers.every(({ x }) => x === first))
    return { constant: true, weight, mean: first, squares: 0, centred: () => 0 };
  const rounded = sum / weight;
  let left = 0;
  let squares = 0;
  for (const { x, w } of numbers) {
    left += w * (x - rounded);
    squares += w * ((x - rounded) * (x - rounded));
  }
  // An infinite item has an infinite mean, and the deviations say nothing about its rounding.
  const residue = Number.isFinite(left) ? left / weight : 0;
  return {
    constant: false,
    weight,
    mean: rounded + residue,
    squares: squares - weight * residue * residue,
    centred: (x: number) => x - rounded - residue,
  };
}

function groupNormalize(a: GroupNormalizeArgs): void {
  for (let g = 0; g < a.G; ++g) {
    const weightOf = (i: number): number => (a.weights ? a.weights[i]! : 1);
    const items: Item[] = [];
    eachItem(a, g, (i) => items.push({ x: a.values[i]!, w: weightOf(i) }));
    const { mean, std, count, normalize } = statistics(a, items);
    const { normalized } = a;
    const missing = a.nanPolicy === ABSTAIN ? 0 : NaN;
    if (normalized)
      eachItem(a, g, (i) => {
        const x = a.values[i]!;
        normalized[i] = a.gain * (Number.isNaN(x) ? missing : normalize(x, weightOf(i)));
      });
    if (a.mean) a.mean[g] = mean;
    if (a.std) a.std[g] = std;
    if (a.count) a.count[g] = count;
  }
}

/** The best item of group g but `except`: largest value, ties to the smaller index; NaN never. -1 = none. */
function bestItem(a: GroupTop2Args, g: number, except: number): number {
  let best = -1;
  eachItem(a, g, (i) => {
    const x = a.values[i]!;
    if (i === except || Number.isNaN(x)) return;
    if (best < 0 || x > a.values[best]! || (x === a.values[best]! && i < best)) best = i;
  });
  return best;
}

function groupTop2(a: GroupTop2Args): void {
  const value = (i: number): number => (i < 0 ? NaN : a.values[i]!);
  for (let g = 0; g < a.G; ++g) {
    const best = bestItem(a, g, -1);
    const second = bestItem(a, g, best);
    a.best[g] = best;
    a.second[g] = second;
    if (a.bestValue) a.bestValue[g] = value(best);
    if (a.secondValue) a.secondValue[g] = value(second);
  }
}

function groupBroadcast(a: GroupBroadcastArgs): void {
  for (let b = 0; b < a.B; ++b) {
    const begin = a.offsets ? a.offsets[b]! : b * a.T;
    const end = a.offsets ? a.offsets[b + 1]! : (b + 1) * a.T;
    const value = a.row[b]! * (a.factor ? a.factor[b]! : 1);
    for (let i = begin; i < end; ++i) a.out[i] = !a.mask || a.mask[i] !== 0 ? value : 0;
  }
}

function groupPlace(a: GroupPlaceArgs): void {
  const values = a.scale !== 0 ? a.values : null;
  const everywhere = !a.mask || a.transformMasked !== 0;
  for (let b = 0; b < a.B; ++b) {
    const begin = a.offsets ? a.offsets[b]! : b * a.T;
    const end = a.offsets ? a.offsets[b + 1]! : (b + 1) * a.T;
    let last = end - 1;
    while (last >= begin && a.mask && a.mask[last] === 0) --last;
    for (let i = begin; i < end; ++i) {
      let x = 0;
      if (everywhere || a.mask[i] !== 0) x = (a.tokens ? a.tokens[i]! : 0) + (values ? a.scale * values[i]! : 0);
      // Math.min and Math.max keep NaN.
      if (i === last && a.row) x += Math.min(Math.max(a.row[b]!, a.low), a.high);
      a.out[i] = x;
    }
  }
}

/** Tokens of a row up to its last kept one. */
function keptLength(a: GroupColumnsArgs, b: number): number {
  let end = rowEnd(a, b);
  while (a.mask && end > rowBegin(a, b) && a.mask[end - 1] === 0) --end;
  return end - rowBegin(a, b);
}

function groupColumns(a: GroupColumnsArgs): void {
  for (let g = 0; g < a.G; ++g) {
    const rows: number[] = [];
    eachItem({ members: a.members, offsets: a.groupOffsets }, g, (b) => rows.push(b));
    const reach = new Map(rows.map((b) => [b, keptLength(a, b)]));
    let width = 0;
    for (const b of rows) width = Math.max(width, rowEnd(a, b) - rowBegin(a, b));
    for (let t = 0; t < width; ++t) {
      const here = rows.filter((b) => rowBegin(a, b) + t < rowEnd(a, b));
      const isKept = (i: number): boolean => !a.mask || a.mask[i] !== 0;
      let sum = 0;
      let weight = 0;
      let reached = 0;
      let first: number | undefined;
      let constant = true;
      for (const b of here) {
        const i = rowBegin(a, b) + t;
        if (reach.get(b)! > t) ++reached;
        if (!isKept(i)) continue;
        first ??= a.values[i]!;
        constant &&= a.values[i] === first;
        sum += a.weights[i]! * a.values[i]!;
        weight += a.weights[i]!;
      }
      const divisor = weight + a.epsilon;
      const none = rows.length === 1 || (a.zeroTail !== 0 && reached === 1) || divisor === 0;
      // Equal numbers are their own mean, whatever epsilon and rounding would make of them.
      const baseline = none ? 0 : constant && weight > 0 ? first! : sum / divisor;
      for (const b of here) {
        const i = rowBegin(a, b) + t;
        if (a.baselines) a.baselines[i] = isKept(i) ? baseline : 0;
        if (a.centred) a.centred[i] = isKept(i) ? a.values[i]! - baseline : 0;
      }
    }
  }
}

export const groupOps: GroupOps = {
  groupNormalize,
  groupSoftmax,
  groupTop2,
  groupBroadcast,
  groupPlace,
  groupColumns,
  groupWeigh,
  groupTilt,
  groupEntropy,
};

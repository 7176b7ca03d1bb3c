// Group statistics (contract: native/include/surprisal/group.h), one group after the other, items in their order.
// Numbers are float64 here; an array rounds once when it stores.
import {
  GROUP_CENTERS,
  GROUP_SCALES,
  GROUP_SINGLETONS,
  NAN_POLICIES,
  type GroupBroadcastArgs,
  type GroupNormalizeArgs,
  type GroupOps,
  type GroupSoftmaxArgs,
  type GroupTop2Args,
} from "../contract/group";

const UNCENTRED = GROUP_CENTERS.indexOf("none");
const LEAVE_ONE_OUT = GROUP_CENTERS.indexOf("leaveOneOut");
const BY_STD = GROUP_SCALES.indexOf("std");
const ZERO = GROUP_SINGLETONS.indexOf("zero");
const ABSTAIN = NAN_POLICIES.indexOf("abstain");

/** What a group is like, and so how each of its numbers is transformed. */
interface Statistics {
  readonly mean: number;
  readonly std: number;
  readonly count: number;
  readonly normalize: (x: number) => number;
}

function statistics(a: GroupNormalizeArgs, items: readonly number[]): Statistics {
  const abstain = a.nanPolicy === ABSTAIN;
  const scaled = a.scale === BY_STD;
  const copied = a.center === UNCENTRED && !scaled;
  const numbers = items.filter((x) => !Number.isNaN(x));
  const count = abstain ? numbers.length : items.length;
  if (numbers.length === 0 || numbers.length < count) return { mean: NaN, std: NaN, count, normalize: () => NaN };

  const [first] = numbers as [number];
  if (count === 1) {
    const raw = (x: number): number => (scaled ? x / (1 + a.epsilon) : x);
    const normalize = copied ? (x: number) => x : a.singleton === ZERO ? () => 0 : raw;
    return { mean: first, std: 0, count, normalize };
  }

  const centre = centreOf(numbers);
  const std = Math.sqrt(Math.max(centre.squares / (count > a.ddof ? count - a.ddof : NaN), a.varianceFloor));
  const divisor = scaled ? std + a.epsilon : 1;
  if (a.center === UNCENTRED) return { mean: centre.mean, std, count, normalize: (x) => x / divisor };
  if (centre.constant) return { mean: centre.mean, std, count, normalize: () => 0 };
  // x - (sum - x) / (n - 1) = (x - mean) n / (n - 1), without the cancellation in sum - x.
  const stretch = a.center === LEAVE_ONE_OUT ? count / (count - 1) : 1;
  return { mean: centre.mean, std, count, normalize: (x) => (centre.centred(x) * stretch) / divisor };
}

/** Mean and squared deviations in two passes; the second also finds what the rounding of the mean left behind. */
function centreOf(numbers: readonly number[]) {
  const [first] = numbers as [number];
  if (Number.isFinite(first) && numbers.every((x) => x === first))
    return { constant: true, mean: first, squares: 0, centred: () => 0 };
  let sum = 0;
  for (const x of numbers) sum += x;
  const rounded = sum / numbers.length;
  let left = 0;
  let squares = 0;
  for (const x of numbers) {
    left += x - rounded;
    squares += (x - rounded) * (x - rounded);
  }
  // An infinite item has an infinite mean, and the deviations say nothing about its rounding.
  const residue = Number.isFinite(left) ? left / numbers.length : 0;
  return {
    constant: false,
    mean: rounded + residue,
    squares: squares - numbers.length * residue * residue,
    centred: (x: number) => x - rounded - residue,
  };
}

/** Calls `visit` with the items of group g, in their order. */
function eachItem(a: { readonly members: Int32Array | null; readonly offsets: Int32Array }, g: number, visit: (i: number) => void): void {
  for (let k = a.offsets[g]!; k < a.offsets[g + 1]!; ++k) visit(a.members ? a.members[k]! : k);
}

function groupNormalize(a: GroupNormalizeArgs): void {
  for (let g = 0; g < a.G; ++g) {
    const items: number[] = [];
    eachItem(a, g, (i) => items.push(a.values[i]!));
    const { mean, std, count, normalize } = statistics(a, items);
    const { normalized } = a;
    const missing = a.nanPolicy === ABSTAIN ? 0 : NaN;
    if (normalized)
      eachItem(a, g, (i) => {
        const x = a.values[i]!;
        normalized[i] = Number.isNaN(x) ? missing : normalize(x);
      });
    if (a.mean) a.mean[g] = mean;
    if (a.std) a.std[g] = std;
    if (a.count) a.count[g] = count;
  }
}

function groupSoftmax(a: GroupSoftmaxArgs): void {
  for (let g = 0; g < a.G; ++g) {
    let largest = -Infinity;
    eachItem(a, g, (i) => {
      if (a.values[i]! > largest) largest = a.values[i]!; // passes over NaN; the sum does not
    });
    const term = (i: number): number => Math.exp((a.values[i]! - largest) / a.temperature);
    let sum = 0;
    eachItem(a, g, (i) => (sum += term(i)));
    eachItem(a, g, (i) => (a.weights[i] = term(i) / sum));
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

export const groupOps: GroupOps = { groupNormalize, groupSoftmax, groupTop2, groupBroadcast };

// Group statistics (contract: native/include/surprisal/group.h), one group after the other, items in their order.
// Numbers are float64 here; an array rounds once when it stores.
import { notFinite } from "../../core/not-finite";
import {
  GROUP_CENTERS,
  GROUP_SCALES,
  GROUP_SINGLETONS,
  NAN_POLICIES,
  type GroupBroadcastArgs,
  type GroupNormalizeArgs,
  type GroupOps,
  type GroupPlaceArgs,
  type GroupTop2Args,
} from "../contract/group";
import { groupColumns } from "./group-columns";
import { eachItem } from "./group-items";
import { isPlain, normalizePlain } from "./group-plain";
import { groupEntropy, groupSoftmax, groupTilt, groupWeigh } from "./group-weights";

const UNCENTRED = GROUP_CENTERS.indexOf("none");
const LEAVE_ONE_OUT = GROUP_CENTERS.indexOf("leaveOneOut");
const RUNNER_UP = GROUP_CENTERS.indexOf("runnerUp");
const UNSCALED = GROUP_SCALES.indexOf("none");
const BY_STD = GROUP_SCALES.indexOf("std");
const BY_OTHERS = GROUP_SCALES.indexOf("others");
const BY_MEAN = GROUP_SCALES.indexOf("mean");
const ZERO = GROUP_SINGLETONS.indexOf("zero");
const STANDARD = GROUP_SINGLETONS.indexOf("standard");
const ABSTAIN = NAN_POLICIES.indexOf("abstain");

function itemOf(a: GroupNormalizeArgs, k: number): number {
  return a.members ? a.members[k]! : k;
}

function weightOf(a: GroupNormalizeArgs, i: number): number {
  return a.weights ? a.weights[i]! : 1;
}

/** How the numbers of a group are transformed. */
type Transform = "missing" | "zero" | "copy" | "divide" | "lead" | "centre";

/** What a group is like. One object for all groups of a call: nothing is allocated per group. */
class GroupStatistics {
  mean = NaN;
  std = NaN;
  count = 0;
  transform: Transform = "missing";
  /** "divide", "lead", "centre". */
  divisor = 1;

  private rounded = 0;
  private residue = 0;
  private weight = 0;
  /** Without numbers, or of weight 0: no center, no spread. */
  private empty = true;
  private squares = 0;
  private best = 0;
  private lead = 0;

  private set(mean: number, std: number, transform: Transform): void {
    this.mean = mean;
    this.std = std;
    this.transform = transform;
  }

  /** Of the items begin … end − 1 of the members. What has weight 0 counts as a number without being looked at. */
  read(a: GroupNormalizeArgs, begin: number, end: number): void {
    const { values, members, weights } = a;
    let present = 0;
    let numbers = 0;
    // Of every other item each, as in group-plain.ts, so that the bits do not tell where a group lies.
    let sum = 0;
    let second = 0;
    let weight = 0;
    let first = NaN;
    let equal = true;
    for (let k = begin; k < end; ++k) {
      const i = members === null ? k : members[k]!;
      const w = weights === null ? 1 : weights[i]!;
      if (w === 0) {
        ++present;
        continue;
      }
      const x = values[i]!;
      if (Number.isNaN(x)) continue;
      ++present;
      if (numbers++ === 0) first = x;
      equal &&= x === first;
      if (((k - begin) & 1) === 0) sum += w * x;
      else second += w * x;
      weight += w;
    }
    this.count = a.nanPolicy === ABSTAIN ? present : end - begin;
    this.weight = weight;
    this.empty = numbers === 0 || present < this.count;
    const standard = a.singleton === STANDARD;
    if (this.count === 0 && standard) this.set(0, 1, "missing");
    else if (present === 0 || present < this.count) this.set(NaN, NaN, "missing");
    else if (numbers === 0) this.set(NaN, NaN, "zero");
    else if (this.count === 1) {
      this.squares = 0;
      const scaled = a.scale !== UNSCALED;
      const copied = !scaled && (a.center === UNCENTRED || a.singleton !== ZERO);
      const zero = a.singleton === ZERO && !(a.center === UNCENTRED && !scaled);
      this.divisor = a.scale === BY_STD ? 1 + a.epsilon : 1;
      this.set(standard ? 0 : first, standard ? 1 : 0, copied ? "copy" : zero ? "zero" : "divide");
    } else if (equal && Number.isFinite(first)) this.finish(a, first, 0, true);
    else this.deviate(a, begin, end, (sum + second) * (1 / weight));
  }

  /** Squared deviations; the same pass finds what the rounding of the mean left behind. */
  private deviate(a: GroupNormalizeArgs, begin: number, end: number, rounded: number): void {
    const { values, members, weights } = a;
    let left = 0;
    let secondLeft = 0;
    let squares = 0;
    let secondSquares = 0;
    for (let k = begin; k < end; ++k) {
      const i = members === null ? k : members[k]!;
      const x = values[i]!;
      const w = weights === null ? 1 : weights[i]!;
      if (w === 0 || Number.isNaN(x)) continue;
      const d = x - rounded;
      if (((k - begin) & 1) === 0) {
        left += w * d;
        squares += w * (d * d);
      } else {
        secondLeft += w * d;
        secondSquares += w * (d * d);
      }
    }
    left += secondLeft;
    squares += secondSquares;
    // An infinite item has an infinite mean, and the deviations say nothing about its rounding.
    const residue = Number.isFinite(left) ? left * (1 / this.weight) : 0;
    this.rounded = rounded;
    this.residue = residue;
    this.finish(a, rounded + residue, squares - this.weight * residue * residue, false);
    if (this.transform === "lead") this.findWinner(a, begin, end);
  }

  private finish(a: GroupNormalizeArgs, mean: number, squares: number, constant: boolean): void {
    const { weight } = this;
    // Equal numbers have no variance, however few they are.
    const variance = constant ? 0 : squares * (1 / (weight > a.ddof ? weight - a.ddof : NaN));
    const std = Math.sqrt(Math.max(variance, a.varianceFloor));
    this.squares = constant ? 0 : squares;
    if (a.scale === BY_STD) this.divisor = std + a.epsilon;
    else if (a.scale === UNSCALED || a.scale === BY_OTHERS) this.divisor = 1;
    else this.divisor = a.scale === BY_MEAN && mean <= 0 ? Infinity : mean + a.epsilon;
    this.set(
      mean,
      std,
      a.center === UNCENTRED ? "divide" : constant ? "zero" : a.center === RUNNER_UP ? "lead" : "centre",
    );
  }

  /** The largest number, and its lead over the next; equal largest ones have none. */
  private findWinner(a: GroupNormalizeArgs, begin: number, end: number): void {
    let best = -Infinity;
    let second = -Infinity;
    let winners = 0;
    for (let k = begin; k < end; ++k) {
      const i = itemOf(a, k);
      const x = a.values[i]!;
      if (weightOf(a, i) === 0) continue;
      if (x > best) {
        second = best;
        best = x;
        winners = 1;
      } else if (x === best) ++winners;
      else if (x > second) second = x;
    }
    this.best = best;
    this.lead = winners === 1 ? best - second : 0;
  }

  /** The std of the numbers besides x. */
  private stdOfOthers(a: GroupNormalizeArgs, x: number, w: number): number {
    const rest = this.weight - w;
    let variance = 0;
    if (this.squares !== 0 && rest > a.ddof) {
      const d = x - this.rounded - this.residue;
      const squares = w === 0 ? this.squares : this.squares - w * (d * d) * (this.weight / rest);
      variance = squares <= (this.count + 8) * 2 ** -52 * this.squares ? 0 : squares / (rest - a.ddof);
    }
    return Math.sqrt(Math.max(variance, a.varianceFloor));
  }

  /** What is subtracted from a number of an item with weight w. */
  center(a: GroupNormalizeArgs, x: number, w: number): number {
    if (Number.isNaN(x) || this.empty) return NaN;
    if (a.center === UNCENTRED || (this.count === 1 && a.singleton !== ZERO)) return 0;
    if (this.transform === "lead") return x - (x === this.best && w !== 0 ? this.lead : 0);
    return this.transform === "centre" && a.center === LEAVE_ONE_OUT ? x - this.centred(a, x, w) : this.mean;
  }

  /** What divides it, without epsilon. */
  spread(a: GroupNormalizeArgs, x: number, w: number): number {
    if (Number.isNaN(x) || this.empty) return NaN;
    if (a.scale === UNSCALED) return 1;
    if (this.count === 1) return a.singleton === ZERO ? 0 : 1;
    return a.scale === BY_STD ? this.std : a.scale === BY_OTHERS ? this.stdOfOthers(a, x, w) : this.mean;
  }

  /** x - (sum - w x) / (W - w) = (x - mean) W / (W - w), without the cancellation in sum - w x. */
  private centred(a: GroupNormalizeArgs, x: number, w: number): number {
    return (x - this.rounded - this.residue) * (a.center === LEAVE_ONE_OUT ? this.weight / (this.weight - w) : 1);
  }

  /** The items that all are (x - mean) / divisor: most calls have no others, and those of short groups are made often. */
  normalizeAlike(a: GroupNormalizeArgs, begin: number, end: number, missing: number): boolean {
    if (this.transform !== "centre" || a.center === LEAVE_ONE_OUT || a.scale === BY_OTHERS || a.normalized === null)
      return false;
    const { values, members, gain, normalized } = a;
    const { rounded, residue } = this;
    const factor = gain / this.divisor;
    for (let k = begin; k < end; ++k) {
      const i = members === null ? k : members[k]!;
      const x = values[i]!;
      normalized[i] = Number.isNaN(x) ? gain * missing : (x - rounded - residue) * factor;
    }
    return true;
  }

  /** A number that is not NaN, of an item with weight w. */
  normalized(a: GroupNormalizeArgs, x: number, w: number): number {
    const y = this.scaledBefore(a, x, w);
    if (a.scale !== BY_OTHERS || this.count === 1 || this.empty) return y;
    const others = this.stdOfOthers(a, x, w);
    return others === 0 ? y : y / (others + a.epsilon);
  }

  /** The same but for the std of the others. */
  private scaledBefore(a: GroupNormalizeArgs, x: number, w: number): number {
    switch (this.transform) {
      case "missing":
        return NaN;
      case "zero":
        return 0;
      case "copy":
        return x;
      case "divide":
        return x / this.divisor;
      case "lead":
        return (x === this.best && w !== 0 ? this.lead : 0) / this.divisor;
      case "centre":
        return this.centred(a, x, w) / this.divisor;
    }
  }
}

function groupNormalize(a: GroupNormalizeArgs): void {
  const group = new GroupStatistics();
  const plain = isPlain(a);
  const { values, members, weights, gain, normalized } = a;
  const missing = a.nanPolicy === ABSTAIN ? 0 : NaN;
  for (let g = 0; ; ++g) {
    if (plain) g = normalizePlain(a, g);
    if (g >= a.G) return;
    const begin = a.offsets[g]!;
    const end = a.offsets[g + 1]!;
    group.read(a, begin, end);
    if (normalized && !group.normalizeAlike(a, begin, end, missing))
      for (let k = begin; k < end; ++k) {
        const i = members === null ? k : members[k]!;
        const x = values[i]!;
        normalized[i] = gain * (Number.isNaN(x) ? missing : group.normalized(a, x, weights === null ? 1 : weights[i]!));
      }
    if (a.centers || a.spreads)
      for (let k = begin; k < end; ++k) {
        const i = itemOf(a, k);
        const w = weightOf(a, i);
        if (a.centers) a.centers[i] = group.center(a, values[i]!, w);
        if (a.spreads) a.spreads[i] = group.spread(a, values[i]!, w);
      }
    if (a.means) a.means[g] = group.mean;
    if (a.stds) a.stds[g] = group.std;
    if (a.counts) a.counts[g] = group.count;
  }
}

/** The best item of group g but `except`: largest value, ties to the smaller index. -1 = none. */
function bestItem(a: GroupTop2Args, g: number, except: number): number {
  let best = -1;
  eachItem(a, g, (i) => {
    const x = a.values[i]!;
    if (Number.isNaN(x)) throw notFinite("values");
    if (i === except) return;
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
    if (a.bestValues) a.bestValues[g] = value(best);
    if (a.secondValues) a.secondValues[g] = value(second);
  }
}

function groupBroadcast(a: GroupBroadcastArgs): void {
  for (let b = 0; b < a.B; ++b) {
    const begin = a.offsets ? a.offsets[b]! : b * a.T;
    const end = a.offsets ? a.offsets[b + 1]! : (b + 1) * a.T;
    const value = a.row[b]! * (a.rowFactors ? a.rowFactors[b]! : 1);
    for (let i = begin; i < end; ++i) a.tokens[i] = !a.mask || a.mask[i] !== 0 ? value : 0;
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
      a.placed[i] = x;
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

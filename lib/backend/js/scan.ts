// Scans along rows (contract: native/include/surprisal/scan.h), one row after the other.
// Numbers are float64 here; an array rounds once when it stores.
import type { FloatArray } from "../../core/dtype";
import { rowBegin, rowEnd } from "../../core/row-layout";
import {
  DELTA_FORMS,
  MASK_MODES,
  type ScanGaeArgs,
  type ScanOps,
  type ScanPrefixArgs,
  type ScanReturnsArgs,
  type ScanSharesArgs,
  type ScanTailArgs,
  type ScanVtraceArgs,
} from "../contract/scan";
import { gaeOfKept } from "./scan-kept";

const SKIP = MASK_MODES.indexOf("skip");
const STEPS = MASK_MODES.indexOf("steps");
const CUT = MASK_MODES.indexOf("cut");
const OF_REWARD = DELTA_FORMS.indexOf("reward");

function put(out: FloatArray | null, i: number, x: number): void {
  if (out) out[i] = x;
}

/** A discount of a step. An infinite one counts as NaN: what is equal for finite ones, such as γ(V + λA) and γV + γλA, is not for it. */
const finite = (discount: number): number => discount + (discount - discount);

type WithLambdas = Pick<ScanGaeArgs, "lambda" | "lambdas" | "lambdasPerToken">;

/** λ of token i of row b; `read`: whether anything of the token may be. */
function lambdaAt({ lambda, lambdas, lambdasPerToken }: WithLambdas, b: number, i: number, read: boolean): number {
  if (!lambdas || (lambdasPerToken !== 0 && !read)) return lambda;
  return lambdas[lambdasPerToken !== 0 ? i : b]!;
}

function scanGae(a: ScanGaeArgs): void {
  // Read once: the loop's stores might change them, for all that a compiler knows.
  const { mask, maskMode, transformMasked, gammas: discount, rewards: reward, values, advantages, returns } = a;
  if (advantages && returns && !discount && !a.lambdasPerToken && !transformMasked && (maskMode === SKIP || !mask)) {
    gaeOfKept(a, advantages, returns);
    return;
  }
  for (let b = 0; b < a.B; ++b) {
    let nextValue = a.bootstrap ? a.bootstrap[b]! : 0;
    let nextAdvantage = 0;
    const begin = rowBegin(a, b);
    for (let i = rowEnd(a, b) - 1; i >= begin; --i) {
      const kept = !mask || mask[i] !== 0;
      const cut = !kept && maskMode === CUT;
      if (!kept && maskMode !== STEPS && !(cut && transformMasked)) {
        if (cut) nextValue = nextAdvantage = 0;
        put(advantages, i, transformMasked ? nextAdvantage : 0);
        put(returns, i, transformMasked ? nextAdvantage + values[i]! : 0);
        continue;
      }
      const read = kept || cut;
      const gamma = read && discount ? finite(discount[i]!) : a.gamma;
      const value = read ? values[i]! : 0;
      const delta = (read ? reward[i]! : 0) + gamma * nextValue - value;
      nextAdvantage = delta + gamma * lambdaAt(a, b, i, read) * nextAdvantage;
      nextValue = value;
      put(advantages, i, nextAdvantage);
      put(returns, i, nextAdvantage + value);
      if (cut) nextValue = nextAdvantage = 0;
    }
  }
}

function scanReturns(a: ScanReturnsArgs): void {
  for (let b = 0; b < a.B; ++b) {
    let next = a.bootstrap ? a.bootstrap[b]! : 0;
    for (let i = rowEnd(a, b) - 1; i >= rowBegin(a, b); --i) {
      const kept = !a.mask || a.mask[i] !== 0;
      const cut = !kept && a.maskMode === CUT;
      if (!kept && a.maskMode !== STEPS && !(cut && a.transformMasked)) {
        if (cut) next = 0;
        a.returns[i] = a.transformMasked ? next : 0;
        continue;
      }
      const read = kept || cut;
      const gamma = read && a.gammas ? finite(a.gammas[i]!) : a.gamma;
      next = (read ? a.rewards[i]! : 0) + gamma * next;
      a.returns[i] = next;
      if (cut) next = 0;
    }
  }
}

// Not Math.min: a NaN bar never occurs, a NaN weight must stay NaN and does.
function cap(weight: number, bar: number): number {
  return weight > bar ? bar : weight;
}

function scanVtrace(a: ScanVtraceArgs): void {
  for (let b = 0; b < a.B; ++b) {
    let nextValue = a.bootstrap ? a.bootstrap[b]! : 0;
    let nextTarget = nextValue;
    let accumulated = 0;
    for (let i = rowEnd(a, b) - 1; i >= rowBegin(a, b); --i) {
      const kept = !a.mask || a.mask[i] !== 0;
      if (!kept && a.maskMode !== STEPS) {
        if (a.maskMode === CUT) nextValue = nextTarget = accumulated = 0;
        put(a.targets, i, 0);
        put(a.advantages, i, 0);
        put(a.accumulated, i, 0);
        continue;
      }
      const gamma = kept && a.gammas ? finite(a.gammas[i]!) : a.gamma;
      const reward = kept ? a.rewards[i]! : 0;
      const value = kept ? a.values[i]! : 0;
      const weight = kept ? a.weights[i]! : 1;
      const rho = cap(weight, a.rhoBar);
      const delta =
        a.delta === OF_REWARD ? rho * reward + gamma * nextValue - value : rho * (reward + gamma * nextValue - value);
      accumulated = delta + gamma * lambdaAt(a, b, i, kept) * cap(weight, a.cBar) * accumulated;
      put(a.accumulated, i, accumulated);
      put(a.advantages, i, cap(weight, a.pgRhoBar) * (reward + gamma * nextTarget - value));
      nextValue = value;
      nextTarget = value + accumulated;
      put(a.targets, i, nextTarget);
    }
  }
}

function scanTail(a: ScanTailArgs): void {
  for (let b = 0; b < a.B; ++b) {
    const begin = rowBegin(a, b);
    const end = rowEnd(a, b);
    const isStep = (i: number): boolean => !a.mask || a.mask[i] !== 0 || a.maskMode === STEPS;
    let before = 0;
    for (let i = begin; i < end; ++i) if (isStep(i)) ++before;
    // Powers counted from the token at hand: what it has in common with those behind it is multiplied on at the end.
    let sum = 0;
    let weight = 0;
    for (let i = end - 1; i >= begin; --i) {
      if (!isStep(i)) {
        a.tails[i] = 0;
        continue;
      }
      --before;
      const kept = !a.mask || a.mask[i] !== 0;
      sum = (kept ? a.values[i]! : 0) + a.gamma * sum;
      weight = (kept ? 1 : a.maskedWeight) + a.gamma * weight;
      a.tails[i] = a.normalize ? (weight > 0 ? sum / weight : 0) : Math.pow(a.gamma, before) * sum;
    }
  }
}

function prefixTerm(a: ScanPrefixArgs, i: number): number {
  if (a.values) return a.values[i]!;
  const norm = 1 - 2 * Math.exp(a.logProbs![i]!) + a.sumSquares![i]!;
  return a.weights ? norm * (a.weights[i]! * a.weights[i]!) : norm;
}

function scanPrefix(a: ScanPrefixArgs): void {
  for (let b = 0; b < a.B; ++b) {
    let sum = 0;
    for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) {
      if (a.mask && a.mask[i] === 0) {
        put(a.terms, i, 0);
        put(a.sums, i, 0);
        continue;
      }
      const term = prefixTerm(a, i);
      const before = sum;
      sum += term;
      put(a.terms, i, term);
      put(a.sums, i, a.exclusive ? before : sum);
    }
  }
}

function scanShares(a: ScanSharesArgs): void {
  for (let b = 0; b < a.B; ++b) {
    const isKept = (i: number): boolean => !a.mask || a.mask[i] !== 0;
    let total = 0;
    for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) if (isKept(i)) total += Math.abs(a.values[i]!);
    if (total < a.epsilon) total = a.epsilon;
    let before = 0;
    for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) {
      const x = isKept(i) ? a.values[i]! : 0;
      const weight = isKept(i) ? 1 + a.gain * (1 - before / total) : 0;
      before += Math.abs(x);
      put(a.weights, i, weight);
      put(a.products, i, weight * x);
    }
  }
}

export const scanOps: ScanOps = { scanGae, scanReturns, scanVtrace, scanTail, scanPrefix, scanShares };

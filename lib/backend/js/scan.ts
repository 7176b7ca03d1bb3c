// Scans along rows (contract: native/include/surprisal/scan.h), one row after the other from its last token to its first.
// Numbers are float64 here; an array rounds once when it stores.
import type { FloatArray } from "../../core/dtype";
import { rowBegin, rowEnd } from "../../core/rows";
import { MASK_MODES, type ScanGaeArgs, type ScanOps, type ScanReturnsArgs, type ScanVtraceArgs } from "../contract/scan";

const STEPS = MASK_MODES.indexOf("steps");
const CUT = MASK_MODES.indexOf("cut");

function put(out: FloatArray | null, i: number, x: number): void {
  if (out) out[i] = x;
}

function scanGae(a: ScanGaeArgs): void {
  for (let b = 0; b < a.B; ++b) {
    let nextValue = a.bootstrap ? a.bootstrap[b]! : 0;
    let nextAdvantage = 0;
    for (let i = rowEnd(a, b) - 1; i >= rowBegin(a, b); --i) {
      const kept = !a.mask || a.mask[i] !== 0;
      if (!kept && a.maskMode !== STEPS) {
        if (a.maskMode === CUT) nextValue = nextAdvantage = 0;
        put(a.advantages, i, 0);
        put(a.returns, i, 0);
        continue;
      }
      const gamma = kept && a.discount ? a.discount[i]! : a.gamma;
      const value = kept ? a.value[i]! : 0;
      const delta = (kept ? a.reward[i]! : 0) + gamma * nextValue - value;
      nextAdvantage = delta + gamma * a.lambda * nextAdvantage;
      nextValue = value;
      put(a.advantages, i, nextAdvantage);
      put(a.returns, i, nextAdvantage + value);
    }
  }
}

function scanReturns(a: ScanReturnsArgs): void {
  for (let b = 0; b < a.B; ++b) {
    let next = a.bootstrap ? a.bootstrap[b]! : 0;
    for (let i = rowEnd(a, b) - 1; i >= rowBegin(a, b); --i) {
      const kept = !a.mask || a.mask[i] !== 0;
      if (!kept && a.maskMode !== STEPS) {
        if (a.maskMode === CUT) next = 0;
        a.returns[i] = 0;
        continue;
      }
      const gamma = kept && a.discount ? a.discount[i]! : a.gamma;
      next = (kept ? a.reward[i]! : 0) + gamma * next;
      a.returns[i] = next;
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
        continue;
      }
      const gamma = kept && a.discount ? a.discount[i]! : a.gamma;
      const reward = kept ? a.reward[i]! : 0;
      const value = kept ? a.value[i]! : 0;
      const weight = kept ? a.weight[i]! : 1;
      const delta = cap(weight, a.rhoBar) * (reward + gamma * nextValue - value);
      accumulated = delta + gamma * a.lambda * cap(weight, a.cBar) * accumulated;
      put(a.advantages, i, cap(weight, a.pgRhoBar) * (reward + gamma * nextTarget - value));
      nextValue = value;
      nextTarget = value + accumulated;
      put(a.targets, i, nextTarget);
    }
  }
}

export const scanOps: ScanOps = { scanGae, scanReturns, scanVtrace };

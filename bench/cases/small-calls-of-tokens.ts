// Small calls on rows of tokens: scans, ratios, losses, bounds, sums, maps and selections. Options are written out: to spread others into
// them would take longer than the call.
import { advantagesOf } from "./linear-time";
import {
  eachOne,
  every,
  floats,
  gap,
  mask,
  mean,
  n,
  one,
  type Outputs,
  shape,
  type SmallCall,
  sum,
  x,
  y,
} from "./small-call";

const returns = (gamma: number): number[] => every((t) => sum(every((i) => (i < t ? 0 : gamma ** (i - t) * x[i]!))));
const mostOf = (values: readonly number[], k: number): number[] => {
  const least = values.toSorted((a, b) => b - a)[k - 1]!;
  return values.map((value) => (value >= least ? 1 : 0));
};
const covariances = (): number[] => {
  const [middle, level] = [mean([...x]), mean([...y])];
  return every((i) => (x[i]! - middle) * (y[i]! - level));
};
const clipInto = (out: Outputs) =>
  ({
    form: "clip",
    clipLow: Infinity,
    clipHigh: Infinity,
    logProbs: x,
    oldLogProbs: y,
    advantages: one,
    shape,
    mask,
    out,
  }) as const;

export const CALLS_OF_TOKENS: Readonly<Record<string, SmallCall>> = {
  gae: {
    kernel: "scan",
    out: { advantages: floats(), returns: floats() },
    run: (lib, out) => lib.gae(x, y, { shape, gamma: 0.99, lambda: 0.95, out }),
    checked: "advantages",
    wanted: () =>
      advantagesOf({
        rewards: x,
        values: y,
        mask,
        rows: 1,
        steps: n,
        gamma: 0.99,
        lambda: 0.95,
      }),
  },
  discountedReturns: {
    kernel: "scan",
    out: { returns: floats() },
    run: (lib, out) => lib.discountedReturns(x, { shape, gamma: 0.99, mask, out }),
    checked: "returns",
    wanted: () => returns(0.99),
  },
  vtrace: {
    kernel: "scan",
    out: { targets: floats(), advantages: floats(), accumulated: floats() },
    run: (lib, out) => lib.vtrace(x, y, eachOne, { shape, gamma: 0.99, out }),
    checked: "targets",
    wanted: () => returns(0.99),
  },
  prefixSums: {
    kernel: "scan",
    out: { sums: floats() },
    run: (lib, out) => lib.prefixSums(x, { shape, mask, out }),
    checked: "sums",
    wanted: () => every((t) => sum(every((i) => (i > t ? 0 : x[i]!)))),
  },
  tailSums: {
    kernel: "scan",
    out: { tails: floats() },
    run: (lib, out) => lib.tailSums(x, { shape, mask, gamma: 0.9, out }),
    checked: "tails",
    wanted: () => every((t) => sum(every((i) => (i < t ? 0 : 0.9 ** i * x[i]!)))),
  },
  logRatio: {
    kernel: "ratio",
    out: { logRatios: floats(), ratios: floats() },
    run: (lib, out) => lib.logRatio(x, y, { shape, level: "token", out }),
    checked: "ratios",
    wanted: () => every((i) => Math.exp(gap(i))),
  },
  clippedObjective: {
    kernel: "ratio",
    out: { gradLogProbs: floats() },
    run: (lib, out) =>
      lib.clippedObjective(x, y, one, { shape, level: "token", clipLow: Infinity, clipHigh: Infinity, out }),
    checked: "gradLogProbs",
    wanted: () => every((i) => Math.exp(gap(i)) / n),
  },
  klPenalty: {
    kernel: "loss",
    out: { values: floats(), gradLogProbs: floats() },
    run: (lib, out) => lib.klPenalty(x, y, { shape, estimator: "k3", out }),
    checked: "values",
    wanted: () => every((i) => Math.expm1(-gap(i)) + gap(i)),
  },
  klEstimates: {
    kernel: "loss",
    out: { values: floats(), gradLogProbs: floats() },
    run: (lib, out) => lib.klEstimates(x, y, { shape, mask, kind: "k2", out }),
    checked: "values",
    wanted: () => every((i) => gap(i) ** 2 / 2),
  },
  tokenLoss: {
    kernel: "loss",
    out: { gradLogProbs: floats() },
    run: (lib, out) => lib.tokenLoss(clipInto(out)),
    checked: "gradLogProbs",
    wanted: () => every((i) => -Math.exp(gap(i))),
  },
  rowLoss: {
    kernel: "loss",
    out: { gradLogProbs: floats() },
    run: (lib, out) => lib.rowLoss(clipInto(out)),
    checked: "gradLogProbs",
    wanted: () => every(() => -Math.exp(mean(every(gap)))),
  },
  measureMismatch: {
    kernel: "correction",
    out: {},
    run: (lib) => lib.measureMismatch(x, y, { statistic: "k3", shape, mask }),
    checked: "differences",
    wanted: () => [sum(every(gap))],
  },
  boundMismatch: {
    kernel: "correction",
    out: { weights: floats(), kept: new Uint8Array(n) },
    run: (lib, out) => lib.boundMismatch(x, y, { statistic: "ratio", low: 0.9, high: 1.1, shape, mask, out }),
    checked: "weights",
    wanted: () => every((i) => Math.min(1.1, Math.max(0.9, Math.exp(gap(i))))),
  },
  moments: {
    kernel: "reduce",
    out: {},
    run: (lib) => lib.moments(x, { mask }),
    checked: "means",
    wanted: () => [mean([...x])],
  },
  whiten: {
    kernel: "reduce",
    out: { whitened: floats() },
    run: (lib, out) => lib.whiten(x, { mask, out }),
    checked: "whitened",
    wanted: () => {
      const middle = mean([...x]);
      const variance = sum(every((i) => (x[i]! - middle) ** 2)) / (n - 1);
      return every((i) => (x[i]! - middle) / Math.sqrt(variance + 1e-8));
    },
  },
  affine: {
    kernel: "reduce",
    out: { mapped: floats() },
    run: (lib, out) => lib.affine(x, { shape, mask, center: 0.1, scale: 2, out }),
    checked: "mapped",
    wanted: () => every((i) => (x[i]! - 0.1) * 2),
  },
  clamp: {
    kernel: "reduce",
    out: { clamped: floats() },
    run: (lib, out) => lib.clamp(x, { shape, mask, low: -0.1, high: 0.1, out }),
    checked: "clamped",
    wanted: () => every((i) => Math.min(0.1, Math.max(-0.1, x[i]!))),
  },
  quantileMask: {
    kernel: "select",
    out: { selected: new Uint8Array(n), thresholds: new Float64Array(1) },
    run: (lib, out) => lib.quantileMask(x, { shape, mask, q: 0.5, out }),
    checked: "selected",
    wanted: () => mostOf([...x], n / 2),
  },
  topMask: {
    kernel: "select",
    out: { selected: new Uint8Array(n), counts: new Int32Array(1) },
    run: (lib, out) => lib.topMask(x, { shape, mask, k: 9, out }),
    checked: "selected",
    wanted: () => mostOf([...x], 9),
  },
  covarianceMask: {
    kernel: "select",
    out: { selected: new Uint8Array(n) },
    run: (lib, out) => lib.covarianceMask(x, y, { shape, mask, between: [0.1, 1], out }),
    checked: "selected",
    wanted: () => covariances().map((covariance) => (covariance > 0.1 && covariance < 1 ? 1 : 0)),
  },
};

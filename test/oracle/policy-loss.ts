// Policy losses as their definitions say, in float64, one number at a time. Nothing here knows a derivative: whoever wants one takes
// finite differences of these. What a definition holds constant (a stop-gradient) is computed from `frozen`, the log-probs at
// which the derivative is taken; `current` is what moves.

/** Rows of different lengths; everything per token. */
export interface LossCase {
  readonly current: readonly number[][];
  readonly frozen: readonly number[][];
  readonly old: readonly number[][];
  readonly reference: readonly number[][];
  readonly advantages: readonly number[][];
  readonly factors: readonly number[][];
  /** Whether advantages and factors are one number a row. */
  readonly advantagesPerRow: boolean;
  readonly factorsPerRow: boolean;
  readonly mask: readonly boolean[][];
  readonly terms: readonly boolean[][];
  readonly rowKept: readonly boolean[];
}

export interface LossSettings {
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly dualClip?: number;
  readonly ratioCap?: number;
  readonly logClamp?: number;
  readonly maxLogRatio?: number;
  readonly temperatures?: readonly [positive: number, negative: number];
  readonly gamma?: {
    readonly positive: readonly [k: number, rate: number];
    readonly negative: readonly [k: number, rate: number];
  };
  readonly coefficient?: number;
  readonly countEpsilon?: number;
  readonly marked?: readonly boolean[][];
}

const clip = (x: number, low: number, high: number): number => Math.min(Math.max(x, low), high);
const sum = (xs: readonly number[]): number => xs.reduce((a, b) => a + b, 0);

/** Indices of the kept tokens of row b. */
const kept = (c: LossCase, b: number): number[] => c.mask[b]!.flatMap((on, t) => (on ? [t] : []));
const termsOf = (c: LossCase, b: number): number[] => kept(c, b).filter((t) => c.terms[b]![t]);
const rowsOf = (c: LossCase): number[] => c.mask.map((_, b) => b);

export type Aggregation = "tokenMean" | "rowMean" | "rowSum" | "fixedLength" | "tokenSum";

/** What a kept token of row b weighs; empty rows are not counted. */
export function weight(c: LossCase, mode: Aggregation, b: number, length = 7): number {
  const counts = rowsOf(c).map((row) => kept(c, row).length);
  const rows = counts.filter((count) => count > 0).length;
  if (counts[b] === 0) return 0;
  return {
    tokenMean: 1 / sum(counts),
    rowMean: 1 / (counts[b]! * rows),
    rowSum: 1 / rows,
    fixedLength: 1 / (length * rows),
    tokenSum: 1,
  }[mode];
}

/** Σ over rows and terms of weight · factor · l. */
function perToken(c: LossCase, mode: Aggregation, l: (b: number, t: number) => number): number {
  return sum(
    rowsOf(c).map((b) =>
      c.rowKept[b] ? weight(c, mode, b) * sum(termsOf(c, b).map((t) => c.factors[b]![t]! * l(b, t))) : 0,
    ),
  );
}

/** A mean over the rows that have terms. */
function perRow(c: LossCase, l: (b: number) => number): number {
  const rows = rowsOf(c).filter((b) => termsOf(c, b).length > 0);
  return sum(rows.map((b) => (c.rowKept[b] ? l(b) : 0))) / Math.max(rows.length, 1);
}

const clamped = (x: number, s: LossSettings): number => clip(x, -(s.logClamp ?? Infinity), s.logClamp ?? Infinity);

function surrogate(ratio: number, advantage: number, s: LossSettings): number {
  const free = Math.min(ratio, s.ratioCap ?? Infinity) * advantage;
  const banded = clip(ratio, 1 - s.clipLow, 1 + s.clipHigh) * advantage;
  const loss = -Math.min(free, banded);
  return advantage < 0 ? Math.min(loss, -advantage * (s.dualClip ?? Infinity)) : loss;
}

/** exp of the row's mean log ratio, from above at most exp(maxLogRatio). */
function rowRatio(
  c: LossCase,
  b: number,
  s: LossSettings,
  from: readonly number[][],
  reduce: "mean" | "sum" = "mean",
): number {
  const tokens = kept(c, b);
  const total = sum(tokens.map((t) => from[b]![t]! - c.old[b]![t]!));
  const log = reduce === "mean" ? total / Math.max(tokens.length, 1) : total;
  return Math.exp(Math.min(log, s.maxLogRatio ?? Infinity));
}

/** stop-gradient(S)·exp(ℓ − stop-gradient(ℓ)), clamped as a whole. */
function localRatio(c: LossCase, b: number, t: number, s: LossSettings): number {
  const mean = Math.log(rowRatio(c, b, {} as LossSettings, c.frozen));
  return Math.exp(Math.min(mean + c.current[b]![t]! - c.frozen[b]![t]!, s.maxLogRatio ?? Infinity));
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

type Loss = (c: LossCase, mode: Aggregation, s: LossSettings) => number;

/** The policy term by the names of policyLoss. */
export const policyTerm: Readonly<Record<string, Loss>> = {
  ppo: (c, mode, s) =>
    perToken(c, mode, (b, t) =>
      surrogate(Math.exp(clamped(c.current[b]![t]! - c.old[b]![t]!, s)), c.advantages[b]![t]!, s),
    ),

  gspo: (c, mode, s) => perToken(c, mode, (b, t) => surrogate(rowRatio(c, b, s, c.current), c.advantages[b]![t]!, s)),

  gspoToken: (c, mode, s) => perToken(c, mode, (b, t) => surrogate(localRatio(c, b, t, s), c.advantages[b]![t]!, s)),

  gmpo: (c, _, s) =>
    perRow(c, (b) => {
      const tokens = termsOf(c, b);
      const divisor = s.countEpsilon ? tokens.length + s.countEpsilon : Math.max(tokens.length, 1);
      const logs = tokens.map((t) => {
        const x = c.current[b]![t]! - c.old[b]![t]!;
        const a = c.advantages[b]![t]!;
        const n = a > 0 ? Math.min(x, s.clipHigh) : a < 0 ? Math.max(x, -s.clipLow) : 0;
        return n + Math.log(c.factors[b]![t]!);
      });
      const advantage = c.advantagesPerRow
        ? c.advantages[b]![0]!
        : sum(tokens.map((t) => c.advantages[b]![t]!)) / divisor;
      return -advantage * Math.exp(sum(logs) / divisor);
    }),

  cispo: (c, mode, s) =>
    perToken(c, mode, (b, t) => {
      const ratio = Math.exp(clamped(c.frozen[b]![t]! - c.old[b]![t]!, s));
      return -clip(ratio, 1 - s.clipLow, 1 + s.clipHigh) * c.advantages[b]![t]! * c.current[b]![t]!;
    }),

  topr: (c, mode, s) =>
    perToken(c, mode, (b, t) => {
      const first = c.advantagesPerRow ? c.advantages[b]![0]! : c.advantages[b]![kept(c, b)[0]!]!;
      const [positive, negative] = s.temperatures!;
      const ratio = Math.exp(c.frozen[b]![t]! - c.old[b]![t]!);
      return -(first > 0 ? positive : negative * Math.min(ratio, 1)) * c.advantages[b]![t]! * c.current[b]![t]!;
    }),

  segmentRatio: (c, mode, s) =>
    perToken(c, mode, (b, t) => {
      let [from, to] = [t, t + 1];
      while (c.mask[b]![from - 1]) --from;
      while (c.mask[b]![to]) ++to;
      const run = c.current[b]!.slice(from, to).map((l, k) => l - c.old[b]![from + k]!);
      return surrogate(Math.exp(sum(run) / run.length), c.advantages[b]![t]!, s);
    }),

  sapo: (c, mode, s) =>
    perToken(c, mode, (b, t) => {
      const a = c.advantages[b]![t]!;
      const tau = s.temperatures![a > 0 ? 0 : 1];
      const ratio = Math.exp(clamped(c.current[b]![t]! - c.old[b]![t]!, s));
      return -a * sigmoid(tau * (ratio - 1)) * (4 / tau);
    }),

  vespo: (c, mode, s) =>
    sum(
      rowsOf(c).map((b) => {
        if (!c.rowKept[b]) return 0;
        const logs = kept(c, b).map((t) => clip(c.frozen[b]![t]! - c.old[b]![t]!, -20, 20));
        const weighed = c.factorsPerRow ? kept(c, b).slice(0, 1) : kept(c, b);
        const weights = weighed.map((t) => clip(Math.log(c.factors[b]![t]!), Math.log(1e-8), 20));
        const logW = clip(sum(logs) + sum(weights), Math.log(1e-8), 20);
        const terms = termsOf(c, b).map((t) => {
          const a = c.advantages[b]![t]!;
          const [k, rate] = a >= 0 ? s.gamma!.positive : s.gamma!.negative;
          const phi = Math.exp(rate + k * logW - rate * Math.exp(logW));
          return -(Number.isFinite(phi) ? phi : 0) * a * c.current[b]![t]!;
        });
        return weight(c, mode, b) * sum(terms);
      }),
    ),

  luspo: (c, _, s) =>
    perRow(c, (b) =>
      sum(
        termsOf(c, b).map((t) => c.factors[b]![t]! * surrogate(rowRatio(c, b, s, c.current), c.advantages[b]![t]!, s)),
      ),
    ),

  rloo: (c, _, s) => perRow(c, (b) => surrogate(rowRatio(c, b, s, c.current, "sum"), c.advantages[b]![0]!, s)),

  reinforce: (c, mode) => perToken(c, mode, (b, t) => -c.advantages[b]![t]! * c.current[b]![t]!),

  clipCov: (c, mode, s) =>
    perToken(c, mode, (b, t) =>
      s.marked![b]![t] ? 0 : surrogate(Math.exp(c.current[b]![t]! - c.old[b]![t]!), c.advantages[b]![t]!, s),
    ),

  klCov: (c, mode, s) =>
    perToken(c, mode, (b, t) => {
      const x = c.current[b]![t]! - c.old[b]![t]!;
      return -c.advantages[b]![t]! * Math.exp(x) + (s.marked![b]![t] ? s.coefficient! * Math.abs(x) : 0);
    }),

  cpgd: (c, mode, s) =>
    perToken(c, mode, (b, t) => {
      const [l, o, a] = [c.current[b]![t]!, c.old[b]![t]!, c.advantages[b]![t]!];
      const bounded =
        a > 0
          ? Math.min(l, o + Math.log(1 + s.clipHigh))
          : Math.max(l, s.clipLow < 1 ? o + Math.log(1 - s.clipLow) : -Infinity);
      return -a * bounded;
    }),

  optimalValue: (c, _, s) =>
    perRow(c, (b) => {
      const logRatio = sum(kept(c, b).map((t) => c.current[b]![t]! - c.old[b]![t]!));
      return (s.coefficient! * logRatio - c.advantages[b]![0]!) ** 2;
    }),
};

export interface KlSettings {
  readonly coefficient: number;
  readonly kind: "k1" | "abs" | "k2" | "k3";
  readonly gradient?: "k1" | "abs" | "k2" | "k3";
  readonly logClamp?: number;
  readonly valueClamp?: number;
  /** The ratio that multiplies: of the token; of the row by mean or sum; of the row's mean, with the token's gradient; or none. */
  readonly corrected?: "token" | "mean" | "sum" | "local";
}

const ESTIMATES = {
  k1: (d: number) => d,
  abs: Math.abs,
  k2: (d: number) => (d * d) / 2,
  k3: (d: number) => Math.expm1(-d) + d,
};

/** β · Σ weight · v, with v of one estimator and, where they differ, the derivative of another. */
export function klTerm(c: LossCase, mode: Aggregation, kl: KlSettings, s: LossSettings): number {
  const estimate = (kind: KlSettings["kind"], d: number): number => {
    const limit = kl.valueClamp ?? Infinity;
    const width = kl.logClamp ?? Infinity;
    return clip(ESTIMATES[kind](clip(d, -width, width)), -limit, limit);
  };
  const value = (b: number, t: number): number => {
    const d = c.current[b]![t]! - c.reference[b]![t]!;
    if (!kl.gradient || kl.gradient === kl.kind) return estimate(kl.kind, d);
    const frozen = c.frozen[b]![t]! - c.reference[b]![t]!;
    return ESTIMATES[kl.gradient](d) - ESTIMATES[kl.gradient](frozen) + estimate(kl.kind, frozen);
  };
  const ratio = (b: number, t: number): number => {
    switch (kl.corrected) {
      case "token":
        return Math.exp(clamped(c.current[b]![t]! - c.old[b]![t]!, s));
      case "local":
        return localRatio(c, b, t, s);
      case undefined:
        return 1;
      default:
        return rowRatio(c, b, s, c.current, kl.corrected);
    }
  };
  return (
    kl.coefficient *
    sum(rowsOf(c).map((b) => weight(c, mode, b) * sum(kept(c, b).map((t) => value(b, t) * ratio(b, t)))))
  );
}

// The losses by their definitions, in float64: values only. What is a constant for the gradient is computed from a second
// copy of the log-probs (`frozen`), so that a derivative is the plain quotient of two values.
import type { RowLossOptions, TokenLossOptions } from "../../lib";
import { clampLog, clip, type Numbers, surrogate, type Token, TOKEN_LOSSES } from "./loss-forms";

export type LossCase = { kind: "token"; options: TokenLossOptions } | { kind: "row"; options: RowLossOptions };

/** What one evaluation gives. `losses`, `kls`, `clipped` are per token, 0 under the mask; `clipped` of clipOnce and squared per row. */
export interface LossValues {
  total: number;
  losses: number[];
  rowLosses: number[];
  kls: number[];
  clipped: number[];
  rows: {
    kept: number;
    terms: number;
    loss: number;
    kl: number;
    logRatio: number;
    below: number;
    above: number;
    outside: number;
  }[];
}

/** A form of rows that says nothing of a single token. */
function isWhole(kind: LossCase["kind"], form: string): boolean {
  return kind === "row" && (form === "clipOnce" || form === "squared");
}

export function lossOracle(
  { kind, options }: LossCase,
  logProbs: ArrayLike<number>,
  frozen: ArrayLike<number>,
): LossValues {
  const p = options as unknown as Numbers;
  const bounds = options.shape
    ? Array.from({ length: options.shape[0] }, (_, b) => [b * options.shape![1], (b + 1) * options.shape![1]] as const)
    : Array.from(
        { length: options.offsets!.length - 1 },
        (_, b) => [options.offsets![b]!, options.offsets![b + 1]!] as const,
      );
  const n = logProbs.length;
  const values: LossValues = {
    total: 0,
    losses: new Array<number>(n).fill(0),
    rowLosses: [],
    kls: new Array<number>(n).fill(0),
    clipped: new Array<number>(isWhole(kind, options.form) ? bounds.length : n).fill(0),
    rows: [],
  };
  const oldPerRow = (options as { oldLogProbsPer?: string }).oldLogProbsPer === "row";
  const old = (i: number) => (options.oldLogProbs && !oldPerRow ? options.oldLogProbs[i]! : frozen[i]!);
  /** The numbers of token i of row b. */
  const numbers = (b: number, i: number): Numbers => {
    const of = (name: "clipLow" | "clipHigh" | "ratioCap") => {
      const value = options[name];
      return typeof value === "object" ? value[options.boundsPer === "row" ? b : i]! : value;
    };
    return { ...p, clipLow: of("clipLow"), clipHigh: of("clipHigh"), ratioCap: of("ratioCap") };
  };
  const token = (i: number, A: number, p: Numbers): { loss: number; ratio: number; clipped: boolean } => {
    const [l, o] = [logProbs[i]!, old(i)];
    const r = Math.exp(clampLog(l - o, p));
    const marked = ((options as { marks?: Uint8Array }).marks?.[i] ?? 0) !== 0;
    const point: Token = { A, l, frozen: frozen[i]!, old: o, raw: Math.exp(l - o), r, marked };
    const { loss, ratio = r, clipped = false } = TOKEN_LOSSES[(options as TokenLossOptions).form](point, p);
    return { loss, ratio, clipped };
  };

  const klOf = (d: number, frozenD: number) => {
    const kl = options.kl!;
    const estimate = (name: string, x: number) =>
      name === "k1" ? x : name === "abs" ? Math.abs(x) : name === "k2" ? x ** 2 / 2 : Math.expm1(-x) + x;
    const value = (x: number) =>
      clip(
        estimate(kl.kind, clip(x, -(kl.logClamp ?? Infinity), kl.logClamp ?? Infinity)),
        -(kl.valueClamp ?? Infinity),
        kl.valueClamp ?? Infinity,
      );
    const slope = kl.gradientKind ?? kl.kind;
    return slope === kl.kind ? value(d) : estimate(slope, d) - estimate(slope, frozenD) + value(frozenD);
  };

  bounds.forEach(([begin, end], b) => {
    const kept = Array.from({ length: end - begin }, (_, t) => begin + t).filter(
      (i) => !options.mask || options.mask[i],
    );
    const isTerm = (i: number) => !options.termMask || options.termMask[i] !== 0;
    const terms = kept.filter(isTerm);
    const at = (i: number) => numbers(b, i);
    const cap = (i: number) => at(i).ratioCap ?? Infinity;
    const A = (i: number) => options.advantages[options.advantagesPer === "row" ? b : i]!;
    const f = (i: number) => (options.factors ? options.factors[options.factorsPer === "row" ? b : i]! : 1);
    const sum = (items: number[], value: (i: number) => number) => items.reduce((all, i) => all + value(i), 0);
    const x = (i: number) => logProbs[i]! - old(i);
    const divisor = (options as { reduce?: string }).reduce === "sum" ? 1 : Math.max(kept.length, 1);
    const rowRatio = (l: ArrayLike<number>) => {
      const total = oldPerRow ? sum(kept, (i) => l[i]!) - options.oldLogProbs![b]! : sum(kept, (i) => l[i]! - old(i));
      return total / divisor;
    };

    let rowLoss: number | null = null;
    // What a token's KL is multiplied by, and what a figure holds against the band.
    let ratioFor = (i: number) => Math.exp(clampLog(x(i), p));
    let bandOf = (i: number) => Math.min(token(i, A(i), at(i)).ratio, cap(i));
    let middle = 1;
    if (kind === "token") {
      for (const i of kept) values.clipped[i] = token(i, A(i), at(i)).clipped ? 1 : 0;
      for (const i of terms) values.losses[i] = f(i) * token(i, A(i), at(i)).loss;
    } else {
      const form = options.form;
      const S = Math.exp(clampLog(rowRatio(logProbs), p));
      bandOf = (i) => Math.min(S, cap(i));
      if (form === "clip" || form === "clipOnce") {
        ratioFor = () => S;
        if (form === "clip") {
          for (const i of kept) values.clipped[i] = surrogate(S, A(i), at(i)).clipped ? 1 : 0;
          for (const i of terms) values.losses[i] = f(i) * surrogate(S, A(i), at(i)).loss;
        } else {
          const { loss, clipped } = surrogate(S, options.advantages[b]!, at(-1));
          values.clipped[b] = clipped ? 1 : 0;
          rowLoss = (options.factors?.[b] ?? 1) * loss;
        }
      } else if (form === "clipLocal") {
        const s = rowRatio(frozen);
        ratioFor = (i) => Math.exp(clampLog(s + logProbs[i]! - frozen[i]!, p));
        for (const i of kept) values.clipped[i] = surrogate(ratioFor(i), A(i), at(i)).clipped ? 1 : 0;
        for (const i of terms) values.losses[i] = f(i) * surrogate(ratioFor(i), A(i), at(i)).loss;
      } else if (form === "geometric") {
        const within = (i: number) =>
          A(i) > 0 ? Math.min(x(i), at(i).clipHigh!) : A(i) < 0 ? Math.max(x(i), -at(i).clipLow!) : 0;
        const d = p.countEpsilon ? terms.length + p.countEpsilon : Math.max(terms.length, 1);
        const R = Math.exp(sum(terms, (i) => within(i) + Math.log(f(i))) / d);
        rowLoss = -(options.advantagesPer === "row" ? options.advantages[b]! : sum(terms, A) / d) * R;
        for (const i of kept) values.clipped[i] = A(i) !== 0 && within(i) !== x(i) ? 1 : 0;
        bandOf = x;
        middle = 0;
      } else if (form === "gamma") {
        const [small, large] = [Math.log(1e-8), 20];
        const logF = (i: number) => clip(Math.log(f(i)), small, large);
        const logFactors = !options.factors
          ? 0
          : options.factorsPer === "row"
            ? clip(Math.log(options.factors[b]!), small, large)
            : sum(kept, logF);
        const w = Math.exp(
          clip(sum(kept, (i) => clampLog(frozen[i]! - old(i), p)) + clip(logFactors, small, large), small, large),
        );
        const density = (k: number, rate: number) => Math.exp(rate) * w ** k * Math.exp(-rate * w);
        for (const i of terms)
          values.losses[i] =
            -(A(i) >= 0 ? density(p.shapePositive!, p.ratePositive!) : density(p.shapeNegative!, p.rateNegative!)) *
            A(i) *
            logProbs[i]!;
        bandOf = (i) => Math.min(Math.exp(x(i)), cap(i));
      } else {
        ratioFor = () => S;
        rowLoss = (options.factors?.[b] ?? 1) * (p.coefficient! * rowRatio(logProbs) - options.advantages[b]!) ** 2;
      }
    }
    if (options.kl) {
      const q = options.kl.referenceLogProbs;
      for (const i of kept)
        values.kls[i] = klOf(logProbs[i]! - q[i]!, frozen[i]! - q[i]!) * (options.kl.timesRatio ? ratioFor(i) : 1);
    }
    const loss = rowLoss ?? sum(terms, (i) => values.losses[i]!);
    const kl = sum(kept, (i) => values.kls[i]!);
    const weight = options.rowWeights?.[b] ?? 1;
    values.total += weight * loss + (options.kl?.rowWeights?.[b] ?? weight) * (options.kl?.coefficient ?? 1) * kl;
    values.rowLosses.push(loss);
    const count = (test: (i: number) => boolean) => kept.filter(test).length;
    const isBelow = (i: number) => bandOf(i) < middle - (at(i).clipLow ?? Infinity);
    const isAbove = (i: number) => bandOf(i) > middle + (at(i).clipHigh ?? Infinity);
    values.rows.push({
      kept: kept.length,
      terms: terms.length,
      loss,
      kl,
      logRatio: oldPerRow ? rowRatio(logProbs) : sum(kept, x),
      below: count((i) => isBelow(i) && A(i) < 0),
      above: count((i) => isAbove(i) && A(i) > 0),
      outside: count((i) => isBelow(i) || isAbove(i)),
    });
  });
  return values;
}

/** d total / d log-prob by central differences. */
export function lossGradient(loss: LossCase, step = 1e-6): number[] {
  const at = Float64Array.from(loss.options.logProbs);
  return Array.from(at, (value, i) => {
    const moved = (by: number) => {
      const l = Float64Array.from(at);
      l[i] = value + by;
      return lossOracle(loss, l, at).total;
    };
    return (moved(step) - moved(-step)) / (2 * step);
  });
}

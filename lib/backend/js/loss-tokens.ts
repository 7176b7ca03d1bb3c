// A kept token of a loss: what is read of it, its ratio and its KL term.
import { rowBegin, rowEnd } from "../../core/row-layout";
import type { LossParameters, LossTokenArgs } from "../contract/loss";
import { ratioOf } from "./exp-less-one";
import { clamp, clampLogRatio, klEstimate, type KlTerm, type LossPoint, scaled } from "./loss-forms";

/** A kept token. */
export interface Token extends LossPoint {
  /** The numbers of the form, with the token's bounds. */
  readonly p: LossParameters;
  readonly i: number;
  readonly A: number;
  readonly factor: number;
  readonly term: boolean;
}

export interface Ratio {
  readonly value: number;
  /** d ln value / d logProb of the token itself. */
  readonly own: number;
  /** d ln value / d logProb of every kept token. */
  readonly shared: number;
}

export const hasBounds = (a: LossTokenArgs): boolean =>
  a.clipLows !== null || a.clipHighs !== null || a.ratioCaps !== null;

/** The numbers of the form for token i of row b. */
export function parametersAt(a: LossTokenArgs, b: number, i: number): LossParameters {
  const p = a.parameters;
  if (!hasBounds(a)) return p;
  return {
    ...p,
    clipLow: a.clipLows ? a.clipLows[a.clipLowsPerToken ? i : b]! : p.clipLow,
    clipHigh: a.clipHighs ? a.clipHighs[a.clipHighsPerToken ? i : b]! : p.clipHigh,
    ratioCap: a.ratioCaps ? a.ratioCaps[a.ratioCapsPerToken ? i : b]! : p.ratioCap,
  };
}

/** An advantage, NaN where a bound of its token is out of range. */
export const heldTo = ({ clipLow, clipHigh, ratioCap }: LossParameters, A: number): number =>
  clipLow >= 0 && clipHigh >= 0 && ratioCap > 0 ? A : NaN;

export function tokenAt(a: LossTokenArgs, b: number, i: number): Token {
  const logProb = a.logProbs[i]!;
  const oldLogProb = a.oldLogProbs && !a.oldLogProbsPerRow ? a.oldLogProbs[i]! : null;
  const p = parametersAt(a, b, i);
  return {
    i,
    p,
    logProb,
    oldLogProb: oldLogProb ?? logProb,
    x: oldLogProb === null ? (Number.isNaN(logProb) ? NaN : 0) : logProb - oldLogProb,
    marked: a.marks !== null && a.marks[i] !== 0,
    A: heldTo(p, a.advantages[a.advantagesPerToken ? i : b]!),
    factor: a.factors ? a.factors[a.factorsPerToken ? i : b]! : 1,
    term: !a.termMask || a.termMask[i] !== 0,
  };
}

export function keptTokens(a: LossTokenArgs, b: number): Token[] {
  const tokens: Token[] = [];
  for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) if (!a.mask || a.mask[i] !== 0) tokens.push(tokenAt(a, b, i));
  return tokens;
}

export function sumOf<T>(items: readonly T[], value: (item: T) => number): number {
  let sum = 0;
  for (const item of items) sum += value(item);
  return sum;
}

/** The ratio of a token that only its own log-prob moves. */
export function ownRatio(x: number, p: LossParameters): Ratio {
  const clamped = clampLogRatio(x, p);
  return { value: ratioOf(clamped), own: clamped === x ? 1 : 0, shared: 0 };
}

/** KL of one token before any ratio. The clamps belong to the estimator of the value. */
export function klOf(a: LossTokenArgs, logProb: number, i: number): KlTerm {
  if (!a.referenceLogProbs) return { value: 0, slope: 0 };
  const d = logProb - a.referenceLogProbs[i]!;
  if (Number.isNaN(d)) return { value: NaN, slope: NaN };
  const { kind, gradientKind, logClamp, valueClamp } = a.kl;
  const near = clamp(d, -logClamp, logClamp);
  const { value, slope } = klEstimate(kind, near);
  const clamped = clamp(value, -valueClamp, valueClamp);
  if (Number.isNaN(clamped)) return { value: NaN, slope: NaN };
  if (gradientKind !== kind) return { value: clamped, slope: klEstimate(gradientKind, d).slope };
  return { value: clamped, slope: near === d && clamped === value ? slope : 0 };
}

/** The same, times a ratio and all that moves with it. */
export function klTimes(kl: KlTerm, ratio: Ratio): KlTerm & { readonly shared: number } {
  const value = scaled(kl.value, ratio.value);
  const shared = ratio.shared === 0 ? 0 : ratio.shared * value; // a NaN of one token's own ratio stays with it
  return { value, slope: scaled(kl.slope, ratio.value) + scaled(ratio.own, value), shared };
}

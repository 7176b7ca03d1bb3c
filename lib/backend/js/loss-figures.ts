// The figures of a row of losses: what its kept tokens add up to (contract: srp_loss_figure in native/include/surprisal/loss.h).
import { LOSS_FIGURES, LOSS_SUMS, type LossFigure, type LossTokenArgs, namedLossFigures } from "../contract/loss";
import { expLessOne } from "./exp-less-one";
import { clamp, scaled } from "./loss-forms";

export type Figures = Record<LossFigure, number>;

/** A weight of a row. An infinite one counts as NaN. */
const finite = (weight: number): number => weight + (weight - weight);

/** What a row's losses count for. */
export function rowWeight({ rowWeights: weights }: LossTokenArgs, b: number): number {
  return weights ? finite(weights[b]!) : 1;
}

/** What a row's losses count for, and its KL. */
export function rowScale(a: LossTokenArgs, b: number): { readonly weight: number; readonly klScale: number } {
  const weight = rowWeight(a, b);
  return { weight, klScale: scaled(a.klRowWeights ? finite(a.klRowWeights[b]!) : weight, a.kl.coefficient) };
}

// One literal: made of pairs or of others it would have another shape every time, and the loops over it be compiled anew.
export function newFigures(): Figures {
  return {
    total: 0,
    loss: 0,
    kl: 0,
    kept: 0,
    terms: 0,
    clipped: 0,
    limited: 0,
    rowRatio: 0,
    ratio: 0,
    below: 0,
    above: 0,
    outside: 0,
    outsidePositive: 0,
    outsideNegative: 0,
    logRatio: 0,
    clampedLogRatio: 0,
    absoluteLogRatio: 0,
    squaredLogRatio: 0,
    ratioK3: 0,
  };
}

export function storeFigures(
  a: LossTokenArgs,
  b: number,
  figures: Figures,
  { weight, klScale }: ReturnType<typeof rowScale>,
): void {
  figures.total = scaled(weight, figures.loss) + scaled(klScale, figures.kl);
  for (let k = 0; k < a.figureCount; ++k) put(a.figures, b * a.figureCount + k, figures[LOSS_FIGURES[k]!]);
}

/** Sums over the row's kept tokens that do not depend on the form. */
export function addLogRatio(figures: Figures, x: number, logClamp: number): void {
  figures.logRatio += x;
  figures.clampedLogRatio += clamp(x, -logClamp, logClamp);
  figures.absoluteLogRatio += Math.abs(x);
  figures.squaredLogRatio += x * x;
  figures.ratioK3 += x === Infinity ? Infinity : expLessOne(x) - x;
}

export function addBand(figures: Figures, value: number, low: number, high: number, A: number): void {
  if (value < low && A < 0) ++figures.below;
  if (value > high && A > 0) ++figures.above;
  if (!(value < low || value > high)) return;
  ++figures.outside;
  if (A > 0) ++figures.outsidePositive;
  if (A < 0) ++figures.outsideNegative;
}

/** +0, never −0. */
export function put(out: { [index: number]: number } | null, i: number, x: number): void {
  if (out) out[i] = x + 0;
}

/** The figures of a row of a bare call, or of one that is its KL term alone. */
export function storeSums(
  a: LossTokenArgs,
  b: number,
  loss: number,
  kept: number,
  clipped: number,
  limited: number,
  rowRatio: number,
  ratio: number,
  kl = 0,
): void {
  if (!a.figures) return;
  const at = b * a.figureCount;
  const { weight, klScale } = rowScale(a, b);
  a.figures[at] = scaled(weight, loss) + scaled(klScale, kl) + 0;
  a.figures[at + 1] = loss;
  a.figures[at + 2] = kl + 0;
  a.figures[at + 3] = kept;
  a.figures[at + 4] = kept;
  a.figures[at + 5] = clipped;
  a.figures[at + 6] = limited;
  a.figures[at + 7] = rowRatio;
  a.figures[at + 8] = ratio;
}

/** Where each figure lies in its row. */
export const PLACE = namedLossFigures([...LOSS_FIGURES.keys()]);

/** Makes place for the figures behind the sums of row b; null where nobody asks for them. */
export function figuresBehind(a: LossTokenArgs, b: number): Float64Array | null {
  if (!a.figures || a.figureCount === LOSS_SUMS) return null;
  const row = a.figures.subarray(b * a.figureCount, (b + 1) * a.figureCount);
  return row.fill(0);
}

export function storeToken(
  a: LossTokenArgs,
  i: number,
  loss: number,
  ratio: number,
  kl: number,
  clipped: number,
  grad: number,
): void {
  if (a.losses) a.losses[i] = loss + 0;
  if (a.ratios) a.ratios[i] = ratio;
  if (a.klValues) a.klValues[i] = kl + 0;
  if (a.clipped) a.clipped[i] = clipped;
  if (a.gradLogProbs) a.gradLogProbs[i] = grad + 0;
}

// The loss of a token by form: its definition, and between which numbers tests, the fuzzer and the measurement of accuracy draw
// what it reads. Which form reads what is in native/include/surprisal/loss.h.
import type { LossForm, LossParameters } from "../../lib/backend/contract/loss";

export const clip = (x: number, low: number, high: number): number => (x < low ? low : x > high ? high : x);

/** A number that is left out is off, where it is a bound. */
export type Numbers = Readonly<Partial<Record<keyof LossParameters, number>>>;

const bound = (p: Numbers, name: keyof LossParameters): number => p[name] ?? Infinity;

/** A log ratio within its clamps. */
export const clampLog = (x: number, p: Numbers): number =>
  clip(x, -bound(p, "logClamp"), Math.min(bound(p, "logClamp"), bound(p, "maxLogRatio")));

/** The clipped surrogate of a ratio, and whether clipping took over. */
export function surrogate(r: number, A: number, p: Numbers): { readonly loss: number; readonly clipped: boolean } {
  const free = -A * Math.min(r, bound(p, "ratioCap"));
  const banded = -A * clip(r, 1 - bound(p, "clipLow"), 1 + bound(p, "clipHigh"));
  const worse = Math.max(free, banded);
  return { loss: A < 0 ? Math.min(worse, -A * bound(p, "dualClip")) : worse, clipped: banded > free };
}

export interface Token {
  readonly A: number;
  /** Log-prob, and the same as a constant for the gradient. */
  readonly l: number;
  readonly frozen: number;
  readonly old: number;
  /** exp(l − old), and within the clamps. */
  readonly raw: number;
  readonly r: number;
  readonly marked: boolean;
}

interface Defined {
  readonly loss: number;
  /** Default: r. */
  readonly ratio?: number;
  readonly clipped?: boolean;
}

export const TOKEN_LOSSES: Readonly<Record<LossForm, (t: Token, p: Numbers) => Defined>> = {
  clip: ({ r, A }, p) => surrogate(r, A, p),

  linear: ({ l, A, raw }) => ({ loss: -A * l, ratio: raw }),

  weighted({ l, A, old, frozen }, p) {
    const ratio = Math.exp(clampLog(frozen - old, p));
    const w = clip(Math.min(ratio, bound(p, "ratioCap")), 1 - bound(p, "clipLow"), 1 + bound(p, "clipHigh"));
    return { loss: -w * A * l, ratio, clipped: w !== ratio };
  },

  sigmoid({ r, A }, p) {
    const t = A > 0 ? p.temperaturePositive! : p.temperatureNegative!;
    return { loss: -A * (4 / t / (1 + Math.exp(-t * (r - 1)))) };
  },

  marked: ({ l, old, r, A, marked }, p) => ({
    loss: -A * r + (marked ? p.coefficient! * Math.abs(clampLog(l - old, p)) : 0),
  }),

  bounded({ l, A, old, raw }, p) {
    const value =
      A > 0
        ? Math.min(l, old + Math.log(1 + p.clipHigh!))
        : Math.max(l, old + (p.clipLow! < 1 ? Math.log(1 - p.clipLow!) : -Infinity));
    return { loss: -A * value, ratio: raw, clipped: value !== l };
  },

  squared({ l, A, old, raw }, p) {
    const held = clip(l, old - bound(p, "clipLow"), old + bound(p, "clipHigh"));
    const [free, banded] = [(l - A) ** 2, (held - A) ** 2];
    return { loss: 0.5 * Math.max(free, banded), ratio: raw, clipped: banded > free };
  },
};

/** Between which numbers each is drawn. */
const DRAWN: Readonly<Record<keyof LossParameters, readonly [low: number, high: number]>> = {
  clipLow: [0.05, 0.4],
  clipHigh: [0.05, 0.4],
  dualClip: [1.01, 1.6],
  ratioCap: [1, 1.5],
  logClamp: [0.1, 0.6],
  maxLogRatio: [0.05, 0.4],
  temperaturePositive: [0.5, 2],
  temperatureNegative: [0.5, 2],
  coefficient: [0.1, 2],
  shapePositive: [1, 3],
  ratePositive: [2, 4],
  shapeNegative: [2, 4],
  rateNegative: [1, 3],
  countEpsilon: [0.1, 0.5],
};

const isNumber = (name: string): name is keyof LossParameters => name in DRAWN;

/** The numbers that a form needs, and of those that it takes some: `draw` a number between two, `some` whether to. */
export function drawNumbers(
  { needs, takes }: { readonly needs: readonly string[]; readonly takes: readonly string[] },
  draw: (low: number, high: number) => number,
  some: () => boolean,
): Numbers {
  const names = [...needs.filter(isNumber), ...takes.filter(isNumber).filter(some)];
  return Object.fromEntries(names.map((name) => [name, draw(...DRAWN[name])]));
}

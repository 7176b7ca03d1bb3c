// Loss forms in float64: what a token's or a row's loss is, its derivative, and what is reported. The same mathematics as
// native/shared/loss_forms.h, which says what each field means; written for one number at a time.
import { KL_KIND, LOSS_FORM, LOSS_FORMS, type LossForm, type LossParameters } from "../contract/loss";
import { expLessOne, ratioOf } from "./exp-less-one";

export interface LossTerm {
  readonly loss: number;
  /** d loss / d logProb log-prob. */
  readonly slope: number;
  readonly ratio: number;
  readonly clippedRatio: number;
  readonly clipped: boolean;
  readonly limited: boolean;
}

/** factor · x, where a factor of 0 silences an infinity but not a NaN. */
export function scaled(factor: number, x: number): number {
  return factor === 0 && !Number.isNaN(x) ? 0 : factor * x;
}

// Not Math.min and Math.max alone for taste: both pass a NaN on, as the native selects do.
export function clamp(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}

/** The log ratio within its clamps. */
export function clampLogRatio(x: number, p: LossParameters): number {
  return clamp(x, -p.logClamp, Math.min(p.logClamp, p.maxLogRatio));
}

/** max(−A·r, −A·clip(r)); for A < 0 at most −A·dualClip. Ties go to the unclipped branch. */
export function clipTerm(logRatio: number, advantage: number, p: LossParameters): LossTerm {
  const clamped = clampLogRatio(logRatio, p);
  const ratio = ratioOf(clamped);
  const clippedRatio = clamp(ratio, 1 - p.clipLow, 1 + p.clipHigh);
  const free = -scaled(advantage, Math.min(ratio, p.ratioCap));
  const banded = -scaled(advantage, clippedRatio);
  const surrogate = Math.max(free, banded);
  if (Number.isNaN(surrogate)) return { loss: NaN, slope: NaN, ratio, clippedRatio, clipped: false, limited: false };

  const clipped = banded > free;
  const limit = advantage < 0 ? -advantage * p.dualClip : Infinity;
  const limited = surrogate > limit;
  // A cap inside of the band hands a negative advantage's term to the banded branch, which moves there.
  const branchMoves = clipped ? clippedRatio === ratio : ratio <= p.ratioCap;
  const moves = branchMoves && !limited && clamped === logRatio;
  return {
    loss: limited ? limit : surrogate,
    slope: moves ? -scaled(advantage, ratio) : 0,
    ratio,
    clippedRatio,
    clipped,
    limited,
  };
}

/** A token as its form sees it. */
export interface LossPoint {
  /** logProb − oldLogProb; 0 where there is no oldLogProb. */
  readonly x: number;
  readonly logProb: number;
  readonly oldLogProb: number;
  readonly marked: boolean;
}

/** What most forms do not say is as here. */
function term(loss: number, slope: number, ratio: number, clipped = false): LossTerm {
  return { loss, slope: Number.isNaN(loss) ? NaN : slope, ratio, clippedRatio: ratio, clipped, limited: false };
}

type TokenForm = (t: LossPoint, A: number, p: LossParameters) => LossTerm;

function sigmoid(z: number): number {
  return 1 / (1 + Math.exp(-z)); // exp may become Infinity: the quotient is then 0, as it should
}

const TOKEN_TERMS: Readonly<Record<LossForm, TokenForm>> = {
  clip: (t, A, p) => clipTerm(t.x, A, p),

  linear: (t, A) => term(-scaled(A, t.logProb), -A, ratioOf(t.x)),

  weighted: (t, A, p) => {
    const ratio = ratioOf(clampLogRatio(t.x, p));
    const weight = clamp(Math.min(ratio, p.ratioCap), 1 - p.clipLow, 1 + p.clipHigh);
    const weighted = scaled(A, weight);
    return term(-scaled(weighted, t.logProb), -weighted, ratio, weight < ratio || weight > ratio);
  },

  sigmoid: (t, A, p) => {
    const x = clampLogRatio(t.x, p);
    const ratio = ratioOf(x);
    const temperature = A > 0 ? p.temperaturePositive : p.temperatureNegative;
    const z = temperature * (ratio - 1);
    // σ(z)·σ(−z) is σ'(z) without the cancellation of 1 − σ.
    const slope = x === t.x ? -scaled(A, 4 * scaled(sigmoid(z) * sigmoid(-z), ratio)) : 0;
    return term(-scaled(A, (4 / temperature) * sigmoid(z)), slope, ratio);
  },

  marked: (t, A, p) => {
    const x = clampLogRatio(t.x, p);
    const ratio = ratioOf(x);
    const loss = -scaled(A, ratio);
    const moves = x === t.x;
    if (!t.marked) return term(loss, moves ? loss : 0, ratio);
    return term(
      loss + scaled(p.coefficient, Math.abs(x)),
      moves ? loss + scaled(p.coefficient, Math.sign(x)) : 0,
      ratio,
    );
  },

  bounded: (t, A, p) => {
    const bound = A > 0 ? Math.log1p(p.clipHigh) : Math.log1p(-Math.min(p.clipLow, 1));
    const beyond = A > 0 ? t.x > bound : t.x < bound;
    const value = Number.isNaN(t.x) ? NaN : beyond ? t.oldLogProb + bound : t.logProb;
    return term(-scaled(A, value), beyond ? 0 : -A, ratioOf(t.x), beyond);
  },

  squared: (t, target, p) => {
    const held = t.x > p.clipHigh ? t.oldLogProb + p.clipHigh : t.x < -p.clipLow ? t.oldLogProb - p.clipLow : t.logProb;
    const free = (t.logProb - target) ** 2;
    const banded = (held - target) ** 2;
    const clipped = banded > free;
    const loss = Number.isNaN(t.x) ? NaN : Math.max(free, banded) / 2;
    return term(loss, clipped ? 0 : t.logProb - target, ratioOf(t.x), clipped);
  },
};

/** The form by its number in srp_loss_form. */
export function tokenForm(form: number): TokenForm {
  return TOKEN_TERMS[LOSS_FORMS[form - LOSS_FORM.clip]!];
}

/** Value and derivative of a KL estimate at d = logProb − reference. */
export interface KlTerm {
  readonly value: number;
  readonly slope: number;
}

/** The estimator by its number in srp_kl_kind. */
export function klEstimate(form: number, d: number): KlTerm {
  switch (form) {
    case KL_KIND.k1:
      return { value: d, slope: 1 };
    case KL_KIND.abs:
      return { value: Math.abs(d), slope: Math.sign(d) };
    case KL_KIND.k2:
      return { value: (d * d) / 2, slope: d };
    default: {
      const e = expLessOne(-d); // exp(−d) − 1 alone would cancel for the small d that are the rule
      return { value: e + d, slope: -e };
    }
  }
}

/** The density of a gamma distribution in the row's weight w, 1 at w = 1. */
export function gammaWeight(logWeight: number, shape: number, rate: number): number {
  const weight = Math.exp(shape * logWeight + rate * (1 - Math.exp(logWeight)));
  return Math.abs(weight) === Infinity ? 0 : weight;
}

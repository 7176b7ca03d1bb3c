// The forms of rows (srp_row_form): from the kept tokens of a row to what each of them, or the row, costs.
import type { LossParameters, LossTokenArgs, RowForm } from "../contract/loss";
import { RATIO_REDUCTIONS } from "../contract/ratio";
import { ratioOf } from "./exp-less-one";
import { clamp, clampLogRatio, clipTerm, gammaWeight, scaled } from "./loss-forms";
import { heldTo, ownRatio, parametersAt, type Ratio, sumOf, type Token } from "./loss-tokens";

/** What a form says of a kept token. Slopes are to the token's own log-prob. */
export interface TokenLoss {
  readonly loss: number;
  readonly slope: number;
  readonly clipped: boolean;
  readonly limited: boolean;
  /** Where it lies against [bandLow, bandHigh]. */
  readonly band: number;
}

/** What a form of rows says. */
export interface RowLoss {
  readonly tokens: readonly TokenLoss[];
  /** The row's own loss, of forms that have one. */
  readonly once: number | null;
  /** Of the row's own loss, in forms without terms of tokens. */
  readonly clipped?: boolean;
  readonly limited?: boolean;
  /** d loss of the row / d logProb of every kept token alike. */
  readonly through: number;
  readonly ratio: number;
  /** What the KL of token k is multiplied by, where asked for. */
  readonly klRatio: (k: number) => Ratio;
}

const LN_LOW = Math.log(1e-8);
const LN_HIGH = 20;

type RowFormula = (a: LossTokenArgs, b: number, tokens: readonly Token[], p: LossParameters) => RowLoss;

/** Log ratio of the row, and how it moves with each kept token. */
export function rowLogRatio(
  a: LossTokenArgs,
  b: number,
  tokens: readonly Token[],
): { readonly s: number; readonly divisor: number } {
  const divisor = a.reduce === RATIO_REDUCTIONS.indexOf("sum") || tokens.length === 0 ? 1 : tokens.length;
  const sum = a.oldLogProbsPerRow ? sumOf(tokens, (t) => t.logProb) - a.oldLogProbs![b]! : sumOf(tokens, (t) => t.x);
  return { s: sum / divisor, divisor };
}

function clippedRow(kind: "each" | "once" | "local"): RowFormula {
  return (a, b, tokens, p) => {
    const { s, divisor } = rowLogRatio(a, b, tokens);
    const clamped = clampLogRatio(s, p);
    const ratio = ratioOf(clamped);
    const moves = clamped === s ? 1 : 0;
    const terms = tokens.map((t) => {
      const { loss, slope, clipped, limited } = clipTerm(s, t.A, t.p);
      return {
        loss: t.term && kind !== "once" ? scaled(t.factor, loss) : 0,
        slope: t.term && kind !== "once" ? scaled(t.factor, slope) : 0,
        clipped,
        limited,
        band: Math.min(ratio, t.p.ratioCap),
      };
    });
    const shared = moves / divisor;
    if (kind === "local")
      return { tokens: terms, once: null, through: 0, ratio, klRatio: () => ({ value: ratio, own: moves, shared: 0 }) };

    const klRatio = () => ({ value: ratio, own: 0, shared });
    const flat = terms.map((t) => ({ ...t, slope: 0 }));
    if (kind === "each")
      return { tokens: flat, once: null, through: sumOf(terms, (t) => t.slope) / divisor, ratio, klRatio };
    const factor = a.factors ? a.factors[b]! : 1;
    const own = parametersAt(a, b, b);
    const { loss, slope, clipped, limited } = clipTerm(s, heldTo(own, a.advantages[b]!), own);
    const through = scaled(factor, slope) / divisor;
    return { tokens: flat, once: scaled(factor, loss), clipped, limited, through, ratio, klRatio };
  };
}

export const ROW_LOSSES: Readonly<Record<RowForm, RowFormula>> = {
  clip: clippedRow("each"),
  clipOnce: clippedRow("once"),
  clipLocal: clippedRow("local"),

  geometric: (a, b, tokens, p) => {
    // The band cuts on the side where the advantage pushes.
    const low = (t: Token) => (t.A < 0 ? -t.p.clipLow : -Infinity);
    const high = (t: Token) => (t.A > 0 ? t.p.clipHigh : Infinity);
    const cut = (t: Token) => t.x < low(t) || t.x > high(t);
    const within = (t: Token) =>
      t.A === 0 && !Number.isNaN(t.x) ? 0 : t.A !== t.A ? NaN : clamp(t.x, low(t), high(t));
    const terms = tokens.filter((t) => t.term);
    const d = p.countEpsilon > 0 ? terms.length + p.countEpsilon : Math.max(terms.length, 1);
    const logFactors = a.factors ? sumOf(terms, (t) => Math.log(t.factor)) : 0;
    const ratio = Math.exp((sumOf(terms, within) + logFactors) / d);
    const once = -scaled(a.advantagesPerToken ? sumOf(terms, (t) => t.A) / d : a.advantages[b]!, ratio);
    return {
      tokens: tokens.map((t) => ({
        loss: 0,
        slope: t.term && (Number.isNaN(once) || (t.A !== 0 && !cut(t))) ? once / d : 0,
        clipped: cut(t),
        limited: false,
        band: t.x,
      })),
      once,
      through: 0,
      ratio,
      klRatio: (k) => ownRatio(tokens[k]!.x, p),
    };
  },

  gamma: (a, b, tokens, p) => {
    const logFactor = (factor: number) => clamp(Math.log(factor), LN_LOW, LN_HIGH);
    const perRow = a.factors ? logFactor(a.factors[b]!) : 0;
    const logFactors = a.factorsPerToken
      ? clamp(
          sumOf(tokens, (t) => logFactor(t.factor)),
          LN_LOW,
          LN_HIGH,
        )
      : perRow;
    const logRatios = sumOf(tokens, (t) => clampLogRatio(t.x, p));
    const logWeight = clamp(logRatios + logFactors, LN_LOW, LN_HIGH);
    const positive = gammaWeight(logWeight, p.shapePositive, p.ratePositive);
    const negative = gammaWeight(logWeight, p.shapeNegative, p.rateNegative);
    const weightFor = (A: number) => (A >= 0 ? positive : negative);
    const terms = tokens.filter((t) => t.term);
    const mean = terms.length > 0 ? sumOf(terms, (t) => weightFor(t.A)) / terms.length : 1;
    return {
      tokens: tokens.map((t) => {
        const gain = scaled(t.A, weightFor(t.A));
        const loss = t.term ? -scaled(gain, t.logProb) : 0;
        const band = Math.min(ratioOf(t.x), p.ratioCap);
        return { loss, slope: Number.isNaN(loss) ? NaN : t.term ? -gain : 0, clipped: false, limited: false, band };
      }),
      once: null,
      through: 0,
      ratio: a.advantagesPerToken ? mean : weightFor(a.advantages[b]!),
      klRatio: (k) => ownRatio(tokens[k]!.x, p),
    };
  },

  squared: (a, b, tokens, p) => {
    const { s, divisor } = rowLogRatio(a, b, tokens);
    const factor = a.factors ? a.factors[b]! : 1;
    const distance = p.coefficient * s - a.advantages[b]!;
    const clamped = clampLogRatio(s, p);
    const ratio = ratioOf(clamped);
    const band = Math.min(ratio, p.ratioCap);
    return {
      tokens: tokens.map(() => ({ loss: 0, slope: 0, clipped: false, limited: false, band })),
      once: scaled(factor, distance ** 2),
      through: scaled(factor, 2 * p.coefficient * distance) / divisor,
      ratio,
      klRatio: () => ({ value: ratio, own: 0, shared: clamped === s ? 1 / divisor : 0 }),
    };
  },
};

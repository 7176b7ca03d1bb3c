// Losses over rows of tokens (contract: native/include/surprisal/loss.h). Numbers are float64 here; an array rounds once
// when it stores. A row is a list of its kept tokens, and a form of rows a function from such a list to its terms.
import { rowBegin, rowEnd } from "../../core/row-layout";
import {
  type LossTokenArgs,
  LOSS_SUMS,
  type LossOps,
  type LossParameters,
  ROW_FORM,
  ROW_FORMS,
  LOSS_FORM,
  type RowForm,
} from "../contract/loss";
import { RATIO_REDUCTIONS } from "../contract/ratio";
import { addBand, addLogRatio, type Figures, newFigures, put, rowScale, rowWeight, storeFigures } from "./loss-figures";
import { lossLogits } from "./loss-logits";
import {
  clamp,
  clampLogRatio,
  clipTerm,
  gammaWeight,
  klEstimate,
  type KlTerm,
  type LossPoint,
  scaled,
  tokenForm,
} from "./loss-forms";

/** A kept token. */
interface Token extends LossPoint {
  readonly i: number;
  readonly A: number;
  readonly factor: number;
  readonly term: boolean;
}

/** What a form says of a kept token. Slopes are to the token's own log-prob. */
interface TokenLoss {
  readonly loss: number;
  readonly slope: number;
  readonly clipped: boolean;
  readonly limited: boolean;
  /** Where it lies against [bandLow, bandHigh]. */
  readonly band: number;
}

/** What a form of rows says. */
interface RowLoss {
  readonly tokens: readonly TokenLoss[];
  /** The row's own loss, of forms that have one. */
  readonly once: number | null;
  /** Of the row's own loss, in forms without terms of tokens. */
  readonly clipped?: boolean;
  readonly limited?: boolean;
  /** d loss of the row / d current of every kept token alike. */
  readonly through: number;
  readonly ratio: number;
  /** What the KL of token k is multiplied by, where asked for. */
  readonly klRatio: (k: number) => Ratio;
}

interface Ratio {
  readonly value: number;
  /** d ln value / d current of the token itself. */
  readonly own: number;
  /** d ln value / d current of every kept token. */
  readonly shared: number;
}

const LN_LOW = Math.log(1e-8);
const LN_HIGH = 20;

function tokenAt(a: LossTokenArgs, b: number, i: number): Token {
  const current = a.logProbs[i]!;
  const old = a.oldLogProbs && !a.oldLogProbsPerRow ? a.oldLogProbs[i]! : null;
  return {
    i,
    current,
    old: old ?? current,
    x: old === null ? (Number.isNaN(current) ? NaN : 0) : current - old,
    marked: a.marks !== null && a.marks[i] !== 0,
    A: a.advantages[a.advantagesPerToken ? i : b]!,
    factor: a.factors ? a.factors[a.factorsPerToken ? i : b]! : 1,
    term: !a.termMask || a.termMask[i] !== 0,
  };
}

function keptTokens(a: LossTokenArgs, b: number): Token[] {
  const tokens: Token[] = [];
  for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) if (!a.mask || a.mask[i] !== 0) tokens.push(tokenAt(a, b, i));
  return tokens;
}

function sumOf<T>(items: readonly T[], value: (item: T) => number): number {
  let sum = 0;
  for (const item of items) sum += value(item);
  return sum;
}

/** The ratio of a token that only its own log-prob moves. */
function ownRatio(x: number, p: LossParameters): Ratio {
  const clamped = clampLogRatio(x, p);
  return { value: Math.exp(clamped), own: clamped === x ? 1 : 0, shared: 0 };
}

type RowFormula = (a: LossTokenArgs, b: number, tokens: readonly Token[], p: LossParameters) => RowLoss;

/** Log ratio of the row, and how it moves with each kept token. */
function rowLogRatio(a: LossTokenArgs, b: number, tokens: readonly Token[]) {
  const divisor = a.reduce === RATIO_REDUCTIONS.indexOf("sum") || tokens.length === 0 ? 1 : tokens.length;
  const sum = a.oldLogProbsPerRow ? sumOf(tokens, (t) => t.current) - a.oldLogProbs![b]! : sumOf(tokens, (t) => t.x);
  return { s: sum / divisor, divisor };
}

function clippedRow(kind: "each" | "once" | "local"): RowFormula {
  return (a, b, tokens, p) => {
    const { s, divisor } = rowLogRatio(a, b, tokens);
    const clamped = clampLogRatio(s, p);
    const ratio = Math.exp(clamped);
    const moves = clamped === s ? 1 : 0;
    const band = Math.min(ratio, p.ratioCap);
    const terms = tokens.map((t) => {
      const { loss, slope, clipped, limited } = clipTerm(s, t.A, p);
      return {
        loss: t.term && kind !== "once" ? scaled(t.factor, loss) : 0,
        slope: t.term && kind !== "once" ? scaled(t.factor, slope) : 0,
        clipped,
        limited,
        band,
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
    const { loss, slope, clipped, limited } = clipTerm(s, a.advantages[b]!, p);
    const through = scaled(factor, slope) / divisor;
    return { tokens: flat, once: scaled(factor, loss), clipped, limited, through, ratio, klRatio };
  };
}

const ROW_LOSSES: Readonly<Record<RowForm, RowFormula>> = {
  clip: clippedRow("each"),
  clipOnce: clippedRow("once"),
  clipLocal: clippedRow("local"),

  geometric: (a, b, tokens, p) => {
    // The band cuts on the side where the advantage pushes.
    const low = (t: Token) => (t.A < 0 ? -p.clipLow : -Infinity);
    const high = (t: Token) => (t.A > 0 ? p.clipHigh : Infinity);
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
        const loss = t.term ? -scaled(gain, t.current) : 0;
        const band = Math.min(Math.exp(t.x), p.ratioCap);
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
    const ratio = Math.exp(clamped);
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

/** KL of one token before any ratio. The clamps belong to the estimator of the value. */
function klOf(a: LossTokenArgs, current: number, i: number): KlTerm {
  if (!a.referenceLogProbs) return { value: 0, slope: 0 };
  const d = current - a.referenceLogProbs[i]!;
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
function klTimes(kl: KlTerm, ratio: Ratio): KlTerm & { readonly shared: number } {
  const value = scaled(kl.value, ratio.value);
  const shared = ratio.shared === 0 ? 0 : ratio.shared * value; // a NaN of one token's own ratio stays with it
  return { value, slope: scaled(kl.slope, ratio.value) + scaled(ratio.own, value), shared };
}

/** A token in the figures of its row. */
function addToken(figures: Figures, t: Token, said: TokenLoss, kl: number): void {
  figures.loss += said.loss;
  figures.kl += kl;
  figures.kept += 1;
  figures.terms += t.term ? 1 : 0;
  figures.clipped += said.clipped ? 1 : 0;
  figures.limited += said.limited ? 1 : 0;
}

/** Stores a row: what its form said, joined with the KL term. */
function storeRow(
  a: LossTokenArgs,
  b: number,
  tokens: readonly Token[],
  row: RowLoss,
  band: readonly [number, number],
): void {
  const scale = rowScale(a, b);
  const { weight, klScale } = scale;
  const figures = newFigures();
  figures.rowRatio = row.ratio;
  const kls = tokens.map((t, k) => {
    const { value, slope } = klOf(a, t.current, t.i);
    return a.referenceLogProbs && a.kl.timesRatio
      ? klTimes({ value, slope }, row.klRatio(k))
      : { value, slope, shared: 0 };
  });
  const through =
    scaled(weight, row.through) +
    scaled(
      klScale,
      sumOf(kls, (kl) => kl.shared),
    );

  const whole = a.form === ROW_FORM.clipOnce || a.form === ROW_FORM.squared;
  for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) {
    if (row.once === null) put(a.losses, i, 0);
    put(a.klValues, i, 0);
    if (!whole) put(a.clipped, i, 0);
    put(a.gradLogProbs, i, 0);
  }
  tokens.forEach((t, k) => {
    const said = row.tokens[k]!;
    const kl = kls[k]!;
    if (row.once === null) put(a.losses, t.i, said.loss);
    put(a.klValues, t.i, kl.value);
    if (!whole) put(a.clipped, t.i, said.clipped ? 1 : 0);
    put(a.gradLogProbs, t.i, through + scaled(weight, said.slope) + scaled(klScale, kl.slope));
    addToken(figures, t, said, kl.value);
    addBand(figures, said.band, band[0], band[1], t.A);
    if (!a.oldLogProbsPerRow) addLogRatio(figures, t.x, a.parameters.logClamp);
  });
  if (a.oldLogProbsPerRow) addLogRatio(figures, rowLogRatio(a, b, tokens).s, a.parameters.logClamp);
  if (row.once !== null) {
    put(a.losses, b, row.once);
    figures.loss = row.once;
  }
  if (whole) {
    figures.clipped = row.clipped ? Math.max(figures.kept, 1) : 0;
    figures.limited = row.limited ? Math.max(figures.kept, 1) : 0;
    put(a.clipped, b, row.clipped ? 1 : 0);
  }
  figures.ratio = ratioSum(figures.kept, row.ratio);
  storeFigures(a, b, figures, scale);
}

/** What the tokens of a row add to `ratio`, where all have the row's. */
function ratioSum(kept: number, ratio: number): number {
  return kept > 0 ? kept * ratio : 0;
}

/** Nothing but sums is asked of the tokens, and nothing but log-probs is read of them. */
function isBare(a: LossTokenArgs): boolean {
  const sums = a.figures === null || a.figureCount === LOSS_SUMS;
  return (
    sums &&
    a.oldLogProbs !== null &&
    !a.oldLogProbsPerRow &&
    !a.factorsPerToken &&
    !a.referenceLogProbs &&
    !a.termMask &&
    !a.klValues
  );
}

/** The figures of a row of a bare call. */
function storeSums(
  a: LossTokenArgs,
  b: number,
  loss: number,
  kept: number,
  clipped: number,
  limited: number,
  rowRatio: number,
  ratio: number,
): void {
  if (!a.figures) return;
  const at = b * a.figureCount;
  a.figures[at] = scaled(rowWeight(a, b), loss) + 0;
  a.figures[at + 1] = loss;
  a.figures[at + 2] = 0;
  a.figures[at + 3] = kept;
  a.figures[at + 4] = kept;
  a.figures[at + 5] = clipped;
  a.figures[at + 6] = limited;
  a.figures[at + 7] = rowRatio;
  a.figures[at + 8] = ratio;
}

/** exp of log ratios up to here is neither 0 nor infinite. */
const PLAIN_LOG_RATIO = 700;

/** The clipped surrogate of tokens in a bare call without factors: a tenth of the time that tokens as objects take. */
function clipTokens(a: LossTokenArgs): void {
  const p = a.parameters;
  const free =
    p.dualClip === Infinity && p.ratioCap === Infinity && p.logClamp === Infinity && p.maxLogRatio === Infinity;
  const [low, high] = [1 - p.clipLow, 1 + p.clipHigh];
  const {
    mask,
    logProbs: current,
    advantages: advantage,
    advantagesPerToken: advantagePerToken,
    losses: loss,
    ratios: ratio,
    clipped,
    gradLogProbs: grad,
  } = a;
  const old = a.oldLogProbs!;
  for (let b = 0; b < a.B; ++b) {
    const weight = rowWeight(a, b);
    const plain = free && weight !== 0 && !Number.isNaN(weight);
    const ofRow = advantagePerToken ? 0 : advantage[b]!;
    let [sum, ratios, largest, kept, clippedTokens, limitedTokens] = [0, 0, -Infinity, 0, 0, 0];
    const end = rowEnd(a, b);
    for (let i = rowBegin(a, b); i < end; ++i) {
      if (mask !== null && mask[i] === 0) {
        storeToken(a, i, 0, 0, 0, 0, 0);
        continue;
      }
      const x = current[i]! - old[i]!;
      const A = advantagePerToken ? advantage[i]! : ofRow;
      let r: number;
      let value: number;
      let slope: number;
      let cut: number;
      if (plain && x <= PLAIN_LOG_RATIO && x >= -PLAIN_LOG_RATIO) {
        // clipTerm() where nothing but the band can hold: the same numbers. 0 −: never −0.
        r = Math.exp(x);
        const gain = A * r;
        const held = A * (r < low ? low : r > high ? high : r);
        cut = held < gain ? 1 : 0;
        value = 0 - (cut === 1 ? held : gain);
        slope = 0 - (cut === 1 ? 0 : weight * gain);
      } else {
        const t = clipTerm(x, A, p);
        r = t.ratio;
        value = t.loss + 0;
        slope = scaled(weight, t.slope) + 0;
        cut = t.clipped ? 1 : 0;
        if (t.limited) ++limitedTokens;
      }
      sum += value;
      ratios += r;
      if (r > largest || Number.isNaN(r)) largest = r; // NaN stays
      ++kept;
      clippedTokens += cut;
      if (loss) loss[i] = value;
      if (ratio) ratio[i] = r;
      if (clipped) clipped[i] = cut;
      if (grad) grad[i] = slope;
    }
    storeSums(a, b, sum, kept, clippedTokens, limitedTokens, largest, ratios);
  }
}

/** The rows of unit u: itself, or the members of group u. */
function unitRows(a: LossTokenArgs, u: number): ArrayLike<number> {
  if (!a.groupOffsets) return [u];
  const [begin, end] = [a.groupOffsets[u]!, a.groupOffsets[u + 1]!];
  return a.members ? a.members.subarray(begin, end) : Array.from({ length: end - begin }, (_, i) => begin + i);
}

/** One clipped ratio for a row or for a group of rows, in a bare call: a term a row, one gradient for all tokens. */
function clipUnits(a: LossTokenArgs): void {
  const p = a.parameters;
  const { mask, logProbs: current, gradLogProbs: grad } = a;
  const old = a.oldLogProbs!;
  const units = a.groupOffsets ? a.G : a.B;
  for (let u = 0; u < units; ++u) {
    const rows = unitRows(a, u);
    const keptOf: number[] = [];
    let sum = 0;
    let all = 0;
    for (let r = 0; r < rows.length; ++r) {
      const end = rowEnd(a, rows[r]!);
      let kept = 0;
      for (let i = rowBegin(a, rows[r]!); i < end; ++i) {
        if (mask !== null && mask[i] === 0) continue;
        sum += current[i]! - old[i]!;
        ++kept;
      }
      keptOf.push(kept);
      all += kept;
    }
    const divisor = a.reduce === RATIO_REDUCTIONS.indexOf("sum") || all === 0 ? 1 : all;
    let slope = 0;
    for (let r = 0; r < rows.length; ++r) {
      const [b, kept] = [rows[r]!, keptOf[r]!];
      const t = clipTerm(sum / divisor, a.advantages[b]!, p);
      const factor = a.factors ? a.factors[b]! : 1;
      const loss = scaled(factor, t.loss) + 0;
      put(a.losses, b, loss);
      put(a.ratios, b, t.ratio);
      put(a.clipped, b, t.clipped ? 1 : 0);
      const counts = Math.max(kept, 1);
      storeSums(a, b, loss, kept, t.clipped ? counts : 0, t.limited ? counts : 0, t.ratio, ratioSum(kept, t.ratio));
      slope += scaled(rowWeight(a, b), scaled(factor, t.slope));
    }
    if (!grad) continue;
    const share = slope / divisor + 0;
    for (let r = 0; r < rows.length; ++r) {
      const end = rowEnd(a, rows[r]!);
      for (let i = rowBegin(a, rows[r]!); i < end; ++i) grad[i] = mask !== null && mask[i] === 0 ? 0 : share;
    }
  }
}

function lossToken(a: LossTokenArgs): void {
  if (a.form === LOSS_FORM.clip && isBare(a) && !a.factors) {
    clipTokens(a);
    return;
  }
  const p = a.parameters;
  const form = tokenForm(a.form);
  const low = 1 - p.clipLow;
  const high = 1 + p.clipHigh;
  for (let b = 0; b < a.B; ++b) {
    const scale = rowScale(a, b);
    const figures = newFigures();
    figures.rowRatio = -Infinity;
    const end = rowEnd(a, b);
    for (let i = rowBegin(a, b); i < end; ++i) {
      if (a.mask && a.mask[i] === 0) {
        storeToken(a, i, 0, 0, 0, 0, 0);
        continue;
      }
      const t = tokenAt(a, b, i);
      const said = form(t, t.A, p);
      const loss = t.term ? scaled(t.factor, said.loss) : 0;
      const slope = t.term ? scaled(t.factor, said.slope) : 0;
      const own = klOf(a, t.current, i);
      const kl = a.referenceLogProbs && a.kl.timesRatio ? klTimes(own, ownRatio(t.x, p)) : own;
      const grad = scaled(scale.weight, slope) + scaled(scale.klScale, kl.slope);
      storeToken(a, i, loss, said.ratio, kl.value, said.clipped ? 1 : 0, grad);
      if (!a.figures) continue;
      const band = Math.min(said.ratio, p.ratioCap);
      figures.rowRatio = Math.max(figures.rowRatio, said.ratio);
      figures.ratio += said.ratio;
      addToken(figures, t, { loss, slope, clipped: said.clipped, limited: said.limited, band }, kl.value);
      addBand(figures, band, low, high, t.A);
      addLogRatio(figures, t.x, p.logClamp);
    }
    storeFigures(a, b, figures, scale);
  }
}

function storeToken(
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

function lossRow(a: LossTokenArgs): void {
  const p = a.parameters;
  const name = ROW_FORMS[a.form - ROW_FORM.clip]!;
  if (name === "clipOnce" && isBare(a)) {
    clipUnits(a);
    return;
  }
  const band = name === "geometric" ? ([-p.clipLow, p.clipHigh] as const) : ([1 - p.clipLow, 1 + p.clipHigh] as const);
  for (let b = 0; b < a.B; ++b) {
    const tokens = keptTokens(a, b);
    const row = ROW_LOSSES[name](a, b, tokens, p);
    put(a.ratios, b, row.ratio);
    storeRow(a, b, tokens, row, band);
  }
}

export const lossOps: LossOps = { lossToken, lossRow, lossLogits: (args) => lossLogits(args, lossToken) };

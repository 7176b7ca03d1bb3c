// Losses over rows of tokens (contract: native/include/surprisal/loss.h). Numbers are float64 here; an array rounds once
// when it stores. A row is a list of its kept tokens, and a form of rows a function from such a list to its terms.
import { rowBegin, rowEnd } from "../../core/row-layout";
import { type LossOps, type LossTokenArgs, ROW_FORM, ROW_FORMS } from "../contract/loss";
import {
  addBand,
  addLogRatio,
  type Figures,
  newFigures,
  put,
  rowScale,
  storeFigures,
  storeToken,
} from "./loss-figures";
import { clipRows, clipTokens, clipUnits, isBare, isBareClip, isBareRowClip, timesKept } from "./loss-bare";
import { scaled, tokenForm } from "./loss-forms";
import { isKlAlone, klRow } from "./loss-kl";
import { lossLogits } from "./loss-logits";
import { ROW_LOSSES, rowLogRatio, type RowLoss, type TokenLoss } from "./loss-rows";
import { keptTokens, klOf, klTimes, ownRatio, sumOf, type Token, tokenAt } from "./loss-tokens";

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
function storeRow(a: LossTokenArgs, b: number, tokens: readonly Token[], row: RowLoss): void {
  const scale = rowScale(a, b);
  const { weight, klScale } = scale;
  const figures = newFigures();
  figures.rowRatio = row.ratio;
  const kls = tokens.map((t, k) => {
    const { value, slope } = klOf(a, t.logProb, t.i);
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
    const at = a.form === ROW_FORM.geometric ? 0 : 1;
    addBand(figures, said.band, at - t.p.clipLow, at + t.p.clipHigh, t.A);
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
  figures.ratio = timesKept(figures.kept, row.ratio);
  storeFigures(a, b, figures, scale);
}

function lossToken(a: LossTokenArgs): void {
  if (isBareClip(a)) {
    clipTokens(a);
    return;
  }
  const form = tokenForm(a.form);
  const alone = isKlAlone(a);
  for (let b = 0; b < a.B; ++b) {
    if (alone && klRow(a, b)) continue;
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
      const { p } = t;
      const said = form(t, t.A, p);
      const loss = t.term ? scaled(t.factor, said.loss) : 0;
      const slope = t.term ? scaled(t.factor, said.slope) : 0;
      const own = klOf(a, t.logProb, i);
      const kl = a.referenceLogProbs && a.kl.timesRatio ? klTimes(own, ownRatio(t.x, p)) : own;
      const grad = scaled(scale.weight, slope) + scaled(scale.klScale, kl.slope);
      storeToken(a, i, loss, said.ratio, kl.value, said.clipped ? 1 : 0, grad);
      if (!a.figures) continue;
      const band = Math.min(said.ratio, p.ratioCap);
      figures.rowRatio = Math.max(figures.rowRatio, said.ratio);
      figures.ratio += said.ratio;
      addToken(figures, t, { loss, slope, clipped: said.clipped, limited: said.limited, band }, kl.value);
      addBand(figures, band, 1 - p.clipLow, 1 + p.clipHigh, t.A);
      addLogRatio(figures, t.x, p.logClamp);
    }
    storeFigures(a, b, figures, scale);
  }
}

function lossRow(a: LossTokenArgs): void {
  const name = ROW_FORMS[a.form - ROW_FORM.clip]!;
  if (name === "clipOnce" && isBare(a)) {
    clipUnits(a);
    return;
  }
  if (isBareRowClip(a)) {
    clipRows(a);
    return;
  }
  for (let b = 0; b < a.B; ++b) {
    const tokens = keptTokens(a, b);
    const row = ROW_LOSSES[name](a, b, tokens, a.parameters);
    put(a.ratios, b, row.ratio);
    storeRow(a, b, tokens, row);
  }
}

export const lossOps: LossOps = { lossToken, lossRow, lossLogits: (args) => lossLogits(args, lossToken) };

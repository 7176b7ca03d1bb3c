// Cases of the losses of tokens and of rows.
import { klEstimates, rowLoss, tokenLoss, tokenLossFromLogits } from "../../../lib";
import { type Case, caseOf, type Given, logProbs, mask, rows, shape, tokens, wideRows } from "./cases";

type Loss = { readonly [name: string]: Given };
type Form = Record<string, unknown> & { readonly form: string };

const layout = { shape, mask };
const outputs = ["losses", "ratios", "klValues", "clipped", "gradLogProbs"];
const marks = Uint8Array.of(0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0);
const clip = { clipLow: 0.2, clipHigh: 0.3 };

/** The fields of a call, and how a row's or a token's stand. */
const fields = ({ reference, klRowWeights, ...own }: Loss) => ({
  ...layout,
  ...own,
  ...(reference && {
    kl: {
      referenceLogProbs: reference,
      kind: "k3",
      coefficient: 0.1,
      ...(klRowWeights && { rowWeights: klRowWeights }),
    },
  }),
});

const TOKEN_FORMS: readonly Form[] = [
  { form: "clip", ...clip },
  { form: "clip", ...clip, dualClip: 3, logClamp: 2 },
  { form: "linear" },
  { form: "weighted", ...clip },
  { form: "sigmoid", temperaturePositive: 1, temperatureNegative: 1.05 },
  { form: "marked", coefficient: 0.5, marks },
  { form: "bounded", ...clip },
  { form: "squared", ...clip },
];

const ROW_FORMS: readonly Form[] = [
  { form: "clip", ...clip },
  { form: "clipOnce", ...clip },
  { form: "clipLocal", ...clip },
  { form: "geometric", ...clip },
  { form: "gamma", shapePositive: 2, ratePositive: 3, shapeNegative: 1.5, rateNegative: 2 },
  { form: "squared", coefficient: 0.5 },
];

const named = (op: string, { form, ...rest }: Form): string =>
  `${op}, ${form}${"logClamp" in rest ? " with clamps" : ""}`;

export const LOSS_CASES: readonly Case[] = [
  ...TOKEN_FORMS.map((form) =>
    caseOf(
      named("tokenLoss", form),
      { logProbs: logProbs(), oldLogProbs: logProbs(), advantages: tokens(0.5, 1.5), rowWeights: wideRows() },
      (given, backend) =>
        tokenLoss({ ...fields(given), ...form, advantagesPer: "token", outputs, backend } as never) as object,
    ),
  ),
  caseOf(
    "tokenLoss, all inputs",
    {
      logProbs: logProbs(),
      oldLogProbs: logProbs(),
      advantages: rows(),
      factors: tokens(0.5, 1.5),
      reference: logProbs(),
      rowWeights: wideRows(),
      klRowWeights: wideRows(),
    },
    (given, backend) =>
      tokenLoss({
        ...fields(given),
        form: "clip",
        ...clip,
        advantagesPer: "row",
        factorsPer: "token",
        outputs,
        backend,
      } as never) as object,
  ),
  ...ROW_FORMS.map((form) =>
    caseOf<string>(
      named("rowLoss", form),
      {
        logProbs: logProbs(),
        oldLogProbs: logProbs(),
        advantages: rows(),
        factors: rows(),
        rowWeights: wideRows(),
        ...(form.form === "clipOnce" || form.form === "squared" ? {} : { reference: logProbs() }),
      },
      (given, backend) =>
        rowLoss({
          ...fields(given),
          ...form,
          advantagesPer: "row",
          factorsPer: "row",
          outputs,
          backend,
        } as never),
    ),
  ),
  caseOf(
    "tokenLossFromLogits",
    {
      logits: {
        ...tokens(-2, 2),
        values: Float32Array.from({ length: 36 }, (_, i) => Math.sin(i)),
        kept: 4,
        masked: 10,
      },
      oldLogProbs: logProbs(),
      advantages: tokens(0.5, 1.5),
    },
    ({ logits, ...given }, backend) =>
      tokenLossFromLogits(logits, Int32Array.of(0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2), {
        ...fields(given),
        vocab: 3,
        form: "clip",
        ...clip,
        advantagesPer: "token",
        entropy: { coefficient: 0.1 },
        backend,
      } as never) as object,
  ),
  ...(["k1", "abs", "k2", "k3"] as const).map((kind) =>
    caseOf(`klEstimates, ${kind}`, { logProbs: logProbs(), reference: logProbs() }, (given, backend) =>
      klEstimates(given.logProbs, given.reference, { ...layout, kind, backend }),
    ),
  ),
];

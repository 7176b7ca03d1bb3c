// What every call of a loss needs: checked inputs.
import { KL_KIND, KL_KINDS, type KlKind, type KlParameters, type LossParameters } from "../../backend/contract/loss";
import { streamOf } from "../../backend/streams";
import { needFloats, optionalFloats, optionalMask } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import { needPerRowOrToken, type Per, type PerRowOrToken } from "../../core/per-row";
import { needRows, type Rows } from "../../core/row-layout";
import type { Stream } from "../../core/stream";
import { type BoundOptions, type Bounds, needBounds } from "./bounds";
import type { LossInputOptions, LossKl, LossOptions, LossOutput } from "./types";

/** What the two losses decide on their own. */
export interface LossForm {
  /** The backend's function. */
  readonly run: "lossToken" | "lossRow";
  readonly form: number;
  readonly reduce: number;
  readonly parameters: LossParameters;
  readonly oldPerRow: boolean;
  /** The form takes no array per token but logProbs and oldLogProbs. */
  readonly rowsOnly: boolean;
  /** Sizes of `losses` and `ratios`; `clipped` is per row where `rowsOnly`. */
  readonly lossesPer: Per;
  readonly ratiosPer: Per;
}

/** The arrays that a form adds to those of every loss. */
export interface FormArrays extends BoundOptions {
  readonly oldLogProbs?: FloatArray;
  readonly marks?: Uint8Array;
}

/** A checked KL term, or none. */
export interface CheckedKl {
  readonly reference: FloatArray | null;
  readonly weights: FloatArray | null;
  readonly parameters: KlParameters;
}

/** Checked inputs of a loss but for the log-probs. */
export interface LossInputs {
  readonly rows: Rows;
  readonly old: FloatArray | null;
  readonly advantage: PerRowOrToken;
  readonly factor: PerRowOrToken | null;
  readonly rowWeights: FloatArray | null;
  readonly mask: Uint8Array | null;
  readonly termMask: Uint8Array | null;
  readonly marks: Uint8Array | null;
  readonly kl: CheckedKl;
  /** Default: those of the form. */
  readonly bounds?: Bounds;
  /** Groups of rows that have one ratio: of `"clipOnce"` alone. */
  readonly groups?: { readonly G: number; readonly members: Int32Array | null; readonly offsets: Int32Array } | null;
}

export const NO_KL: CheckedKl = {
  reference: null,
  weights: null,
  parameters: { kind: 0, gradientKind: 0, timesRatio: 0, coefficient: 0, logClamp: Infinity, valueClamp: Infinity },
};

function needKind(op: string, name: string, kind: KlKind): number {
  needWord(op, name, kind, KL_KINDS);
  return KL_KIND[kind];
}

/** The numbers of a KL term. `at`: where the caller wrote it, a path that ends in a point, or nothing. */
export function needKlParameters(
  op: string,
  at: string,
  kl: Omit<LossKl, "referenceLogProbs" | "rowWeights">,
): KlParameters {
  const bound = { min: 0, above: true, infinite: true } as const;
  return {
    kind: needKind(op, `${at}kind`, kl.kind),
    gradientKind: needKind(op, `${at}gradientKind`, kl.gradientKind ?? kl.kind),
    timesRatio: kl.timesRatio ? 1 : 0,
    coefficient: needNumber(op, `${at}coefficient`, kl.coefficient ?? 1),
    logClamp: needNumber(op, `${at}logClamp`, kl.logClamp ?? Infinity, bound),
    valueClamp: needNumber(op, `${at}valueClamp`, kl.valueClamp ?? Infinity, bound),
  };
}

function needKl(op: string, kl: LossKl | undefined, { n, B, meaning }: Rows): CheckedKl {
  if (kl === undefined) return NO_KL;
  return {
    reference: needFloats(op, "kl.referenceLogProbs", kl.referenceLogProbs, n, meaning),
    weights: optionalFloats(op, "kl.rowWeights", kl.rowWeights, B, "one per row"),
    parameters: needKlParameters(op, "kl.", kl),
  };
}

/** A form of one value a row has no terms of tokens that a mask could leave out. */
export function refuseTerms(op: string, form: LossForm, termMask: Uint8Array | null): void {
  if (form.rowsOnly && termMask)
    throw optionError(op, "termMask", termMask, "nothing: this form has one value a row, and no terms of tokens");
}

/** Checks everything but the log-probs; nothing is computed. */
export function needLossInputs(op: string, options: LossInputOptions & FormArrays, form: LossForm): LossInputs {
  const rows = needRows(op, options);
  const { n, B, meaning } = rows;
  const old = form.oldPerRow
    ? needFloats(op, "oldLogProbs", options.oldLogProbs, B, "one per row")
    : optionalFloats(op, "oldLogProbs", options.oldLogProbs, n, meaning);
  const needValues = (name: "advantages" | "factors", values: FloatArray, per: Per | undefined): PerRowOrToken => {
    if (form.rowsOnly && per !== undefined && per !== "row")
      throw optionError(op, `${name}Per`, per, `"row" for this form`);
    return needPerRowOrToken(op, name, values, rows, form.rowsOnly ? "row" : per);
  };
  const { advantages, advantagesPer, factors, factorsPer } = options;
  const advantage = needValues("advantages", advantages, advantagesPer);
  const factor = factors === undefined ? null : needValues("factors", factors, factorsPer ?? advantagesPer);
  const rowWeights = optionalFloats(op, "rowWeights", options.rowWeights, B, "one per row");
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const termMask = optionalMask(op, "termMask", options.termMask, n, meaning);
  refuseTerms(op, form, termMask);
  const marks = optionalMask(op, "marks", options.marks, n, meaning);
  const kl = needKl(op, options.kl, rows);
  const bounds = needBounds(op, options, rows, form);
  return { rows, old, advantage, factor, rowWeights, mask, termMask, marks, kl, bounds };
}

/** A loss that is checked, with nothing allocated yet. */
export interface CheckedLoss {
  readonly form: LossForm;
  readonly logProbs: FloatArray;
  readonly inputs: LossInputs;
  readonly stream: Stream | null;
}

/** Checks all arguments. */
export function needLoss(op: string, form: LossForm, options: LossOptions<LossOutput> & FormArrays): CheckedLoss {
  const { logProbs, oldLogProbs, advantages, factors, rowWeights, mask, termMask, marks, kl } = options;
  const others = [kl?.referenceLogProbs, kl?.rowWeights, options.clipLow, options.clipHigh, options.ratioCap];
  const given = [oldLogProbs, advantages, factors, rowWeights, mask, termMask, marks, ...others];
  const stream = streamOf(op, options, logProbs, ...given);
  const inputs = needLossInputs(op, options, form);
  return { form, logProbs: needFloats(op, "logProbs", logProbs, inputs.rows.n, inputs.rows.meaning), inputs, stream };
}

// What every call of a loss needs: checked inputs, the memory of its results, and the arguments of a backend.
import {
  KL_KIND,
  KL_KINDS,
  type KlKind,
  type KlParameters,
  LOSS_FIGURES,
  type LossFigure,
  type LossParameters,
  type LossTokenArgs,
} from "../../backend/contract/loss";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import {
  flagsOr,
  float64Or,
  needFloats,
  optionalFloats,
  optionalMask,
  outputOr,
  refuseOverlap,
} from "../../core/arrays";
import { DTYPE_CODE, type FloatArray, type FloatDType } from "../../core/dtype";
import { asFloat, widestFloat } from "../../core/float-arrays";
import { DeviceArray } from "../../core/device-array";
import { DeviceSummary } from "../../core/device-summary";
import { argumentError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import { needPerRowOrToken, type Per } from "../../core/per-row";
import { needRows, type Rows } from "../../core/row-layout";
import type { Stream } from "../../core/stream";
import type {
  LossArrays,
  LossFigures,
  LossInputOptions,
  LossKl,
  LossOptions,
  LossOutput,
  LossResult,
  LossSummary,
} from "./types";

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
export interface FormArrays {
  readonly oldLogProbs?: FloatArray;
  readonly marks?: Uint8Array;
}

/** An array with an entry a row or a token. */
export interface PerRowOrToken {
  readonly array: FloatArray;
  readonly perToken: boolean;
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
  /** Groups of rows that have one ratio: of `"clipOnce"` alone. */
  readonly groups?: { readonly G: number; readonly members: Int32Array | null; readonly offsets: Int32Array } | null;
}

/** Where a backend writes; null: nobody asked for it. */
export type LossMemory = { readonly [Name in LossOutput]: LossArrays[Name] | null };

const OUTPUTS: readonly LossOutput[] = ["losses", "ratios", "klValues", "clipped", "gradLogProbs"];

export const NO_KL: CheckedKl = {
  reference: null,
  weights: null,
  parameters: { kind: 0, gradientKind: 0, timesRatio: 0, coefficient: 0, logClamp: Infinity, valueClamp: Infinity },
};

function needKind(op: string, name: string, kind: KlKind): number {
  needWord(op, name, kind, KL_KINDS);
  return KL_KIND[kind];
}

/** `at`: where the caller wrote the KL term, a path that ends in a point, or nothing. */
function needKl(op: string, at: string, kl: LossKl | undefined, n: number, B: number, meaning: string): CheckedKl {
  if (kl === undefined) return NO_KL;
  const bound = { min: 0, above: true, infinite: true } as const;
  return {
    reference: needFloats(op, "kl.referenceLogProbs", kl.referenceLogProbs, n, meaning),
    weights: optionalFloats(op, "kl.rowWeights", kl.rowWeights, B, "one per row"),
    parameters: {
      kind: needKind(op, `${at}kind`, kl.kind),
      gradientKind: needKind(op, `${at}gradientKind`, kl.gradientKind ?? kl.kind),
      timesRatio: kl.timesRatio ? 1 : 0,
      coefficient: needNumber(op, `${at}coefficient`, kl.coefficient ?? 1),
      logClamp: needNumber(op, `${at}logClamp`, kl.logClamp ?? Infinity, bound),
      valueClamp: needNumber(op, `${at}valueClamp`, kl.valueClamp ?? Infinity, bound),
    },
  };
}

/** One of a device has to be float64. */
function asFloat64(array: FloatArray): Float64Array {
  if (array instanceof Float64Array || DeviceArray.is(array)) return asFloat(array, "float64") as Float64Array;
  return Float64Array.from(array);
}

/** Checks everything but the log-probs; nothing is computed. */
export function needLossInputs(
  op: string,
  options: LossInputOptions & FormArrays,
  form: LossForm,
  klAt: string,
): LossInputs {
  const rows = needRows(op, options);
  const { n, B, meaning } = rows;
  const old = form.oldPerRow
    ? needFloats(op, "oldLogProbs", options.oldLogProbs, B, "one per row")
    : optionalFloats(op, "oldLogProbs", options.oldLogProbs, n, meaning);
  const needValues = (name: "advantages" | "factors", values: FloatArray, per: Per | undefined): PerRowOrToken => {
    if (form.rowsOnly && per !== undefined && per !== "row")
      throw argumentError("ERR_SURPRISAL_OPTION", op, `${name}Per`, per, `"row" for this form`);
    return needPerRowOrToken(op, name, values, rows, form.rowsOnly ? "row" : per);
  };
  const { advantages, advantagesPer, factors, factorsPer } = options;
  const advantage = needValues("advantages", advantages, advantagesPer);
  const factor = factors === undefined ? null : needValues("factors", factors, factorsPer ?? advantagesPer);
  const rowWeights = optionalFloats(op, "rowWeights", options.rowWeights, B, "one per row");
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const termMask = optionalMask(op, "termMask", options.termMask, n, meaning);
  if (form.rowsOnly && termMask)
    throw argumentError(
      "ERR_SURPRISAL_OPTION",
      op,
      "termMask",
      termMask,
      "nothing: this form has one value a row, and no terms of tokens",
    );
  const marks = optionalMask(op, "marks", options.marks, n, meaning);
  const kl = needKl(op, klAt, options.kl, n, B, meaning);
  return { rows, old, advantage, factor, rowWeights, mask, termMask, marks, kl };
}

/** The arguments of a backend, from what is checked and allocated. */
export function lossArgs(
  dtype: FloatDType,
  { form, reduce, parameters, oldPerRow }: LossForm,
  current: FloatArray,
  inputs: LossInputs,
  memory: LossMemory,
  figures: Float64Array,
  figureCount: number,
): LossTokenArgs {
  const { rows, old, advantage, factor, rowWeights, kl, groups } = inputs;
  return {
    dtype: DTYPE_CODE[dtype],
    logProbs: asFloat(current, dtype),
    oldLogProbs: old && asFloat(old, dtype),
    advantages: asFloat(advantage.array, dtype),
    factors: factor && asFloat(factor.array, dtype),
    referenceLogProbs: kl.reference && asFloat(kl.reference, dtype),
    rowWeights: rowWeights && asFloat64(rowWeights),
    klRowWeights: kl.weights && asFloat64(kl.weights),
    mask: inputs.mask,
    termMask: inputs.termMask,
    marks: inputs.marks,
    offsets: rows.offsets,
    members: groups ? groups.members : null,
    groupOffsets: groups ? groups.offsets : null,
    n: rows.n,
    B: rows.B,
    T: rows.T,
    G: groups ? groups.G : 0,
    form,
    oldLogProbsPerRow: oldPerRow ? 1 : 0,
    advantagesPerToken: advantage.perToken ? 1 : 0,
    factorsPerToken: factor?.perToken ? 1 : 0,
    reduce,
    figureCount,
    parameters,
    kl: kl.parameters,
    losses: memory.losses,
    ratios: memory.ratios,
    klValues: memory.klValues,
    clipped: memory.clipped,
    gradLogProbs: memory.gradLogProbs,
    figures,
  };
}

/** Memory for the outputs of a form that are wanted: the caller's, or new. */
export function needLossMemory(
  op: string,
  dtype: FloatDType,
  form: LossForm,
  { n, B }: Rows,
  wanted: readonly LossOutput[],
  out: Partial<LossArrays> | undefined,
  stream: Stream | null,
  known: readonly LossOutput[] = OUTPUTS,
): LossMemory {
  for (const name of wanted) needWord(op, "outputs", name, known);
  for (const name in out)
    if (!wanted.includes(name as LossOutput))
      throw argumentError("ERR_SURPRISAL_OPTION", op, `out.${name}`, name, "an array that `outputs` lists");
  const output = (name: Exclude<LossOutput, "clipped">, length: number): FloatArray | null =>
    wanted.includes(name) ? outputOr(op, name, out?.[name], dtype, length, stream) : null;
  const flags = (length: number) =>
    wanted.includes("clipped") ? flagsOr(op, "clipped", out?.clipped, length, stream) : null;
  return {
    losses: output("losses", form.lossesPer === "row" ? B : n),
    ratios: output("ratios", form.ratiosPer === "row" ? B : n),
    klValues: output("klValues", n),
    clipped: flags(form.rowsOnly ? B : n),
    gradLogProbs: output("gradLogProbs", n),
  };
}

function columns(figures: Float64Array, B: number): LossFigures<Float64Array> {
  const width = LOSS_FIGURES.length;
  const column = (k: number) => Float64Array.from({ length: B }, (_, b) => figures[b * width + k]!);
  return Object.fromEntries(LOSS_FIGURES.map((name, k) => [name, column(k)])) as LossFigures<Float64Array>;
}

function sums(rows: LossFigures<Float64Array>, largest: boolean): LossFigures<number> {
  const sum = (values: Float64Array) => values.reduce((a, b) => a + b, 0);
  const max = (values: Float64Array) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const figures = Object.fromEntries(LOSS_FIGURES.map((name) => [name, sum(rows[name])])) as Record<LossFigure, number>;
  if (largest) figures.rowRatio = max(rows.rowRatio);
  return figures;
}

/** What a call of a loss wants back, and where it runs. */
interface LossWishes<Output extends LossOutput> extends BackendOption {
  readonly outputs?: readonly Output[];
  readonly out?: Partial<LossArrays>;
}

/** Allocates for checked inputs. `finish` makes the result once the op has run. */
function planLoss<Output extends LossOutput>(
  op: string,
  form: LossForm,
  current: FloatArray,
  inputs: LossInputs,
  { outputs, out }: LossWishes<Output>,
  stream: Stream | null,
) {
  const { rows, old, advantage, factor, rowWeights, mask, termMask, marks, kl } = inputs;
  const dtype = widestFloat(current, old, advantage.array, factor?.array, kl.reference);
  const wanted: readonly LossOutput[] = outputs ?? ["gradLogProbs"];
  const memory = needLossMemory(op, dtype, form, rows, wanted, out, stream);
  const given = {
    logProbs: current,
    oldLogProbs: old,
    advantages: advantage.array,
    factors: factor?.array,
    "kl.referenceLogProbs": kl.reference,
    rowWeights,
    "kl.rowWeights": kl.weights,
    mask,
    termMask,
    marks,
    offsets: rows.offsets,
  };
  refuseOverlap(op, memory, given);
  const figures = float64Or(op, "", undefined, rows.B * LOSS_FIGURES.length, stream);
  const args = lossArgs(dtype, form, current, inputs, memory, figures, LOSS_FIGURES.length);
  const conclude = (read: Float64Array): LossSummary => {
    const rowFigures = columns(read, rows.B);
    const batch = sums(rowFigures, form.run === "lossToken");
    return { total: batch.total, figures: batch, rowFigures };
  };
  const finish = (): LossResult<Output> => {
    const returned = Object.fromEntries(wanted.map((name) => [name, memory[name]])) as unknown as Pick<
      LossArrays,
      Output
    >;
    if (!stream) return { ...returned, ...conclude(figures) };
    const summary = new DeviceSummary([figures as unknown as DeviceArray], ([read]) => conclude(read as Float64Array));
    return { ...returned, summary } as unknown as LossResult<Output>;
  };
  return { args, finish, arrays: { ...given, ...memory } };
}

/** Checks what is common. */
function needLoss(op: string, form: LossForm, options: LossOptions<LossOutput> & FormArrays, klAt: string) {
  const { logProbs, oldLogProbs, advantages, factors, rowWeights, mask, termMask, marks, kl } = options;
  const ofKl = [kl?.referenceLogProbs, kl?.rowWeights];
  const given = [oldLogProbs, advantages, factors, rowWeights, mask, termMask, marks, ...ofKl];
  const stream = streamOf(op, options, logProbs, ...given);
  const inputs = needLossInputs(op, options, form, klAt);
  const current = needFloats(op, "logProbs", logProbs, inputs.rows.n, inputs.rows.meaning);
  return { current, inputs, stream };
}

/** Checks what is common, allocates, and runs. */
export function evaluateLoss<Output extends LossOutput>(
  op: string,
  form: LossForm,
  options: LossOptions<Output> & FormArrays,
  klAt: string,
): LossResult<Output> {
  const { current, inputs, stream } = needLoss(op, form, options, klAt);
  const { args, finish } = planLoss(op, form, current, inputs, options, stream);
  selectBackend(op, options.backend, stream).ops[form.run](args);
  return finish();
}

/** The same off the event loop. */
export async function evaluateLossAsync<Output extends LossOutput>(
  op: string,
  form: LossForm,
  options: LossOptions<Output> & FormArrays & AsyncOption,
): Promise<LossResult<Output>> {
  const { current, inputs, stream } = needLoss(op, form, options, "kl.");
  const { args, finish, arrays } = planLoss(op, form, current, inputs, options, stream);
  await runWhole(op, form.run, args, arrays, options);
  return finish();
}

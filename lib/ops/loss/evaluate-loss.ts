// Runs a loss on checked inputs: the memory of its results, and the arguments of a backend.
import { LOSS_FIGURES, LOSS_SUMS, type LossTokenArgs, namedLossFigures } from "../../backend/contract/loss";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { type BackendOption, selectBackend } from "../../backend/select";
import { flagsOr, float64Or, outputOr, refuseOverlap } from "../../core/arrays";
import { DeviceArray } from "../../core/device-array";
import { DeviceSummary } from "../../core/device-summary";
import { DTYPE_CODE, type FloatArray, type FloatDType } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { asFloat, widestFloat } from "../../core/float-arrays";
import { keepingLast, MOST_WITHOUT_BUFFER } from "../../core/kept-memory";
import { needWord } from "../../core/option-checks";
import type { Rows } from "../../core/row-layout";
import type { Stream } from "../../core/stream";
import type { Writable } from "../../core/writable";
import { boundArrays, NO_BOUNDS } from "./bounds";
import type { CheckedLoss, LossForm, LossInputs } from "./loss-inputs";
import type { LossArrays, LossFigures, LossOutput, LossResult, LossSummary } from "./types";

/** Where a backend writes; null: an output that was not asked for. */
export type LossMemory = { readonly [Name in LossOutput]: LossArrays[Name] | null };

const OUTPUTS: readonly LossOutput[] = ["losses", "ratios", "klValues", "clipped", "gradLogProbs"];

/** One of a device has to be float64. */
function asFloat64(array: FloatArray): Float64Array {
  if (array instanceof Float64Array || DeviceArray.is(array)) return asFloat(array, "float64") as Float64Array;
  return Float64Array.from(array);
}

/** The arguments of a backend, from what is checked and allocated. */
export function lossArgs(
  dtype: FloatDType,
  { form, reduce, parameters, oldPerRow }: LossForm,
  logProbs: FloatArray,
  inputs: LossInputs,
  memory: LossMemory,
  figures: Float64Array,
  figureCount: number,
): LossTokenArgs {
  const { rows, old, advantage, factor, rowWeights, kl, groups, bounds } = inputs;
  const { clipLow, clipHigh, ratioCap } = bounds ?? {};
  return {
    dtype: DTYPE_CODE[dtype],
    logProbs: asFloat(logProbs, dtype),
    oldLogProbs: old && asFloat(old, dtype),
    advantages: asFloat(advantage.array, dtype),
    factors: factor && asFloat(factor.array, dtype),
    clipLows: clipLow ? asFloat(clipLow.array, dtype) : null,
    clipHighs: clipHigh ? asFloat(clipHigh.array, dtype) : null,
    ratioCaps: ratioCap ? asFloat(ratioCap.array, dtype) : null,
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
    clipLowsPerToken: clipLow?.perToken ? 1 : 0,
    clipHighsPerToken: clipHigh?.perToken ? 1 : 0,
    ratioCapsPerToken: ratioCap?.perToken ? 1 : 0,
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

function lengthIn(form: LossForm, name: LossOutput, n: number, B: number): number {
  const perRow = (name === "losses" && form.lossesPer === "row") || (name === "ratios" && form.ratiosPer === "row");
  return perRow ? B : n;
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
  for (const name in out)
    if (!wanted.includes(name as LossOutput))
      throw optionError(op, `out.${name}`, name, "an array that `outputs` lists");
  const memory: Writable<LossMemory> = {
    losses: null,
    ratios: null,
    klValues: null,
    clipped: null,
    gradLogProbs: null,
  };
  for (const name of wanted) {
    needWord(op, "outputs", name, known);
    if (name === "clipped") memory.clipped = flagsOr(op, name, out?.clipped, form.rowsOnly ? B : n, stream);
    else memory[name] = outputOr(op, name, out?.[name], dtype, lengthIn(form, name, n, B), stream);
  }
  return memory;
}

/** Where each figure stands among those of a row. */
export const PLACE = namedLossFigures([...LOSS_FIGURES.keys()]);

/** One figure of every row, of which there are `width`. */
export function figureOfRows(
  figures: Float64Array,
  width: number,
  place: number,
  column = new Float64Array(figures.length / width),
): Float64Array {
  for (let b = 0, at = place; b < column.length; ++b, at += width) column[b] = figures[at]!;
  return column;
}

const WIDTH = LOSS_FIGURES.length;

/** Every figure of every row. Those of many rows share a buffer: 19 of their own take longer to make than to fill. */
function figuresOfRows(figures: Float64Array): LossFigures<Float64Array> {
  const rows = figures.length / WIDTH;
  const shared = rows > MOST_WITHOUT_BUFFER ? new Float64Array(figures.length) : null;
  const columns: Float64Array[] = [];
  for (let place = 0; place < WIDTH; ++place) {
    const column = shared ? shared.subarray(place * rows, (place + 1) * rows) : new Float64Array(rows);
    columns.push(figureOfRows(figures, WIDTH, place, column));
  }
  return namedLossFigures(columns);
}

/** Its sum over the rows, in their order. */
export function sumOfRows(figures: Float64Array, width: number, place: number): number {
  let sum = 0;
  for (let at = place; at < figures.length; at += width) sum += figures[at]!;
  return sum;
}

const batchSums = new Float64Array(WIDTH);

/** Of the batch, in row order; the largest of the rows' ratios where that is wanted, not their sum. */
function sums(figures: Float64Array, largest: boolean): LossFigures<number> {
  batchSums.fill(0);
  let most = -Infinity;
  for (let at = 0; at < figures.length; at += WIDTH) {
    for (let place = 0; place < WIDTH; ++place) batchSums[place]! += figures[at + place]!;
    most = Math.max(most, figures[at + PLACE.rowRatio]!);
  }
  const batch = namedLossFigures(batchSums);
  if (largest) batch.rowRatio = most;
  return batch;
}

const keptFigures = keepingLast((count) => new Float64Array(count));

/** What a call of a loss wants back, and where it runs. */
interface LossWishes<Output extends LossOutput> extends BackendOption {
  readonly outputs?: readonly Output[];
  readonly out?: Partial<LossArrays>;
  /** Whether the caller has looked for outputs that share memory. */
  readonly apart?: boolean;
}

/** Allocates for checked inputs, and so many figures of each row. `inTurn`: they are read before another call begins. */
function allocateLoss(
  op: string,
  { form, logProbs, inputs, stream }: CheckedLoss,
  { outputs, out, apart }: LossWishes<LossOutput>,
  width: number,
  inTurn: boolean,
) {
  const { rows, old, advantage, factor, rowWeights, mask, termMask, marks, kl, bounds } = inputs;
  const ofBounds = bounds && bounds !== NO_BOUNDS ? boundArrays(bounds) : null;
  const dtype = widestFloat(
    logProbs,
    old,
    advantage.array,
    factor?.array,
    kl.reference,
    ofBounds?.clipLow,
    ofBounds?.clipHigh,
    ofBounds?.ratioCap,
  );
  const wanted: readonly LossOutput[] = outputs ?? ["gradLogProbs"];
  const memory = needLossMemory(op, dtype, form, rows, wanted, out, stream);
  const given = {
    logProbs,
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
  const inputArrays = ofBounds ? { ...given, ...ofBounds } : given;
  if (!apart) refuseOverlap(op, out, memory, inputArrays);
  const count = rows.B * width;
  const figures = inTurn && !stream ? keptFigures(count) : float64Or(op, "", undefined, count, stream);
  const args = lossArgs(dtype, form, logProbs, inputs, memory, figures, width);
  return { args, figures, memory, wanted, inputArrays };
}

/** As allocateLoss, with all figures. `finish` makes the result once the op has run. */
function planLoss<Output extends LossOutput>(
  op: string,
  loss: CheckedLoss,
  wishes: LossWishes<Output>,
  inTurn: boolean,
) {
  const { args, figures, memory, wanted, inputArrays } = allocateLoss(op, loss, wishes, LOSS_FIGURES.length, inTurn);
  const { form, stream } = loss;
  const conclude = (read: Float64Array): LossSummary => {
    const batch = sums(read, form.run === "lossToken");
    return { total: batch.total, figures: batch, rowFigures: figuresOfRows(read) };
  };
  const finish = (): LossResult<Output> => {
    const result: Record<string, unknown> = {};
    for (const name of wanted) result[name] = memory[name];
    if (stream) {
      const parts = [figures as unknown as DeviceArray];
      result["summary"] = new DeviceSummary(parts, ([read]) => conclude(read as Float64Array));
    } else {
      const { total, figures: batch, rowFigures } = conclude(figures);
      result["total"] = total;
      result["figures"] = batch;
      result["rowFigures"] = rowFigures;
    }
    return result as unknown as LossResult<Output>;
  };
  return { args, finish, arrays: () => ({ ...inputArrays, ...memory }) };
}

/**
 * Allocates and runs, for the arrays and the first LOSS_SUMS figures of each row, [rows, LOSS_SUMS]: to be read at once, since the next
 * call writes into the same memory.
 */
export function evaluateSums(
  op: string,
  loss: CheckedLoss,
  wishes: LossWishes<LossOutput>,
): { readonly memory: LossMemory; readonly sums: Float64Array } {
  const { args, figures, memory } = allocateLoss(op, loss, wishes, LOSS_SUMS, true);
  selectBackend(op, wishes.backend, loss.stream).ops[loss.form.run](args);
  return { memory, sums: figures };
}

/** Allocates and runs. */
export function evaluateLoss<Output extends LossOutput>(
  op: string,
  loss: CheckedLoss,
  wishes: LossWishes<Output>,
): LossResult<Output> {
  const { args, finish } = planLoss(op, loss, wishes, true);
  selectBackend(op, wishes.backend, loss.stream).ops[loss.form.run](args);
  return finish();
}

/** The same off the event loop. */
export async function evaluateLossAsync<Output extends LossOutput>(
  op: string,
  loss: CheckedLoss,
  wishes: LossWishes<Output> & AsyncOption,
): Promise<LossResult<Output>> {
  const { args, finish, arrays } = planLoss(op, loss, wishes, false);
  await runWhole(op, loss.form.run, args, arrays(), wishes);
  return finish();
}

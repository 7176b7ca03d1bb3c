// What the losses of tokens and of rows have in common: their inputs, checked, and one call of a backend.
import { KL_KINDS, type KlKind, type LossArgs, LOSS_FIGURES, type LossFigure } from "../../backend/contract/loss";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { flagsOr, float64Or, needFloats, optionalFloats, optionalMask, outputOr, refuseOverlap } from "../../core/arrays";
import { asFloat, DTYPE_CODE, type FloatArray, widestFloat } from "../../core/dtype";
import { DeviceArray, type DeviceFloatArray } from "../../core/device-array";
import { DeviceSummary } from "../../core/device-summary";
import { argumentError } from "../../core/errors";
import type { Anywhere, OnDevice } from "../../core/on-device";
import { needNumber, needWord } from "../../core/options";
import { needPerRowOrToken, type Per } from "../../core/per-row";
import { needRows, type RowLayout, type Rows } from "../../core/rows";

/** A KL term beside the loss, from d = logProbs − referenceLogProbs. */
export interface LossKl {
  /** Log-probs of the reference model, nats, [n]. */
  readonly referenceLogProbs: FloatArray;
  /** The estimate v: `"k1"` d; `"abs"` |d|; `"k2"` d²/2; `"k3"` exp(−d) − 1 + d. */
  readonly kind: KlKind;
  /**
   * The estimator that gives the derivative. Another one than `kind` is "straight-through": value of the one, gradient of
   * the other, which no clamp of the value stops. Default: `kind`.
   */
  readonly gradientKind?: KlKind;
  /**
   * v is multiplied by the ratio of the new and old policy, which carries gradient too: the estimate of tokens that the old
   * policy sampled. Default false.
   */
  readonly timesRatio?: boolean;
  /** Multiplies the term. Default 1. */
  readonly coefficient?: number;
  /** Weight of each row's sum, [rows]. Default: `rowWeights`. */
  readonly rowWeights?: FloatArray;
  /** d is clamped to ±logClamp, without gradient outside, > 0. Default Infinity, off. */
  readonly logClamp?: number;
  /** v is clamped to ±valueClamp, without gradient outside, > 0. Default Infinity, off. */
  readonly valueClamp?: number;
}

/** Arrays that a loss can return. */
export interface LossArrays {
  /** The loss of each token with its factor, [n], 0 where there is no term; [rows] for forms of one value a row. */
  readonly losses: FloatArray;
  /** exp of the log ratio within its clamps: [n], 0 under the mask; of rows [rows]. */
  readonly ratios: FloatArray;
  /** KL estimates, [n]; 0 under the mask. */
  readonly klValues: FloatArray;
  /** 1 where the clipping cut the gradient off, [n]. */
  readonly clipped: Uint8Array;
  /** d total / d logProbs, [n]; 0 under the mask. */
  readonly gradLogProbs: FloatArray;
}

export type LossOutput = keyof LossArrays;

/** What a loss reads beside the log-probs. Per-token arrays have [n] elements, as `shape` or `offsets` say. */
export interface LossInputOptions extends RowLayout, BackendOption {
  /** Advantages, [n] or [rows]; constants for the gradient. (Returns, in the form of regression.) */
  readonly advantages: FloatArray;
  /** What an advantage belongs to. Default: by the length; as many rows as tokens leave that open, then it must be said. */
  readonly advantagesPer?: Per;
  /** Importance weights or others, [n] or [rows]; constants for the gradient. Default: 1. */
  readonly factors?: FloatArray;
  /** What a factor belongs to. Default: as advantagesPer. */
  readonly factorsPer?: Per;
  /** Weight of each row in the total, [rows]. Default: 1 each, so that the total is a plain sum. */
  readonly rowWeights?: FloatArray;
  /** 1 = the policy's token, 0 = prompt, tool output or padding: never read. Default: all 1. */
  readonly mask?: Uint8Array;
  /** 1 = a kept token that enters the loss; KL and figures see all kept tokens. Default: all 1. */
  readonly termMask?: Uint8Array;
  /** Default: no KL term. */
  readonly kl?: LossKl;
}

/** Options of every loss. */
export interface LossOptions<Output extends LossOutput> extends LossInputOptions {
  /** Log-probs under the current policy, nats, [n]: what the gradient is for. (Values, in the form of regression.) */
  readonly logProbs: FloatArray;
  /** The arrays to return beside sums and figures. Default: `["gradLogProbs"]`. */
  readonly outputs?: readonly Output[];
  /** Reuse memory for them instead of allocating. Must not overlap the inputs. */
  readonly out?: Partial<LossArrays>;
}

/** Partial sums over the tokens of rows. */
export type LossFigures<Value> = Readonly<Record<LossFigure, Value>>;

/** What a loss adds up. */
export interface LossSummary {
  /** Σ_b rowWeights[b]·(Σ losses of row b) + kl.rowWeights[b]·coefficient·(Σ KL of row b), to be minimised; float64. */
  readonly total: number;
  /** Sums over the batch, in row order. `rowRatio` of tokens: the largest ratio, −Infinity without a token. */
  readonly figures: LossFigures<number>;
  /** The same of each row, [rows]. */
  readonly rowFigures: LossFigures<Float64Array>;
}

export type LossResult<Output extends LossOutput> = Pick<LossArrays, Output> & LossSummary;

/** As the result on the host, with the sums still on the device. */
export type DeviceLossResult<Output extends LossOutput> = OnDevice<Pick<LossArrays, Output>> & {
  readonly summary: DeviceSummary<LossSummary>;
};

/** Options of a loss whose log-probs lie on a device. */
export type DeviceLossOptions<Options extends { readonly logProbs: FloatArray; readonly kl?: LossKl }> = Options extends unknown
  ? Omit<Anywhere<Options>, "logProbs" | "kl"> & { readonly logProbs: DeviceFloatArray; readonly kl?: Anywhere<LossKl> }
  : never;

/** What the two losses decide on their own. */
export interface LossCall {
  readonly op: string;
  /** The backend's function. */
  readonly run: "lossToken" | "lossRow";
  readonly args: Pick<
    LossArgs,
    | "form"
    | "clipLow"
    | "clipHigh"
    | "dualClip"
    | "ratioCap"
    | "logClamp"
    | "maxLogRatio"
    | "temperaturePositive"
    | "temperatureNegative"
    | "coefficient"
    | "shapePositive"
    | "ratePositive"
    | "shapeNegative"
    | "rateNegative"
    | "countEpsilon"
    | "reduce"
  >;
  readonly old: FloatArray | undefined;
  readonly oldPerRow: boolean;
  readonly marks: Uint8Array | undefined;
  /** The form takes no array per token but logProbs and oldLogProbs. */
  readonly rowsOnly: boolean;
  /** Where the caller wrote the KL term: a path that ends in a point, or nothing. */
  readonly klAt: string;
  /** Sizes of `losses` and `ratios`. */
  readonly lossesPer: Per;
  readonly ratiosPer: Per;
}

const OUTPUTS: readonly LossOutput[] = ["losses", "ratios", "klValues", "clipped", "gradLogProbs"];

function needKl({ op, klAt: at }: LossCall, kl: LossKl | undefined, n: number, B: number, meaning: string) {
  if (kl === undefined)
    return { reference: null, weights: null, args: { klForm: 0, klSlopeForm: 0, klRatio: 0, klCoefficient: 0, klLogClamp: Infinity, klValueClamp: Infinity } };
  const bound = { min: 0, above: true, infinite: true } as const;
  return {
    reference: needFloats(op, "kl.referenceLogProbs", kl.referenceLogProbs, n, meaning),
    weights: optionalFloats(op, "kl.rowWeights", kl.rowWeights, B, "one per row"),
    args: {
      klForm: needWord(op, `${at}kind`, kl.kind, KL_KINDS) + 1,
      klSlopeForm: needWord(op, `${at}gradientKind`, kl.gradientKind ?? kl.kind, KL_KINDS) + 1,
      klRatio: kl.timesRatio ? 1 : 0,
      klCoefficient: needNumber(op, `${at}coefficient`, kl.coefficient ?? 1),
      klLogClamp: needNumber(op, `${at}logClamp`, kl.logClamp ?? Infinity, bound),
      klValueClamp: needNumber(op, `${at}valueClamp`, kl.valueClamp ?? Infinity, bound),
    },
  };
}

/** A copy in float64; one of a device has to be float64. */
function asFloat64(array: FloatArray): Float64Array {
  return DeviceArray.is(array) ? (asFloat(array, "float64") as Float64Array) : Float64Array.from(array);
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

interface LossInputs {
  readonly rows: Rows;
  readonly old: FloatArray | null;
  readonly advantage: { readonly array: FloatArray; readonly perToken: boolean };
  readonly factor: { readonly array: FloatArray; readonly perToken: boolean } | null;
  readonly rowWeights: FloatArray | null;
  readonly mask: Uint8Array | null;
  readonly termMask: Uint8Array | null;
  readonly marks: Uint8Array | null;
  readonly kl: ReturnType<typeof needKl>;
}

/** Checks everything but the log-probs; nothing is computed. */
export function needLossInputs(options: LossInputOptions, call: LossCall): LossInputs {
  const { op } = call;
  const rows = needRows(op, options);
  const { n, B, meaning } = rows;
  const old = call.oldPerRow
    ? needFloats(op, "oldLogProbs", call.old, B, "one per row")
    : optionalFloats(op, "oldLogProbs", call.old, n, meaning);
  const perRowOnly = (name: "advantages" | "factors", per: Per | undefined): Per | undefined => {
    if (call.rowsOnly && per !== undefined && per !== "row")
      throw argumentError("ERR_SURPRISAL_OPTION", op, `${name}Per`, per, `"row" for this form`);
    return call.rowsOnly ? "row" : per;
  };
  const advantage = needPerRowOrToken(op, "advantages", options.advantages, rows, perRowOnly("advantages", options.advantagesPer));
  const factor =
    options.factors === undefined
      ? null
      : needPerRowOrToken(op, "factors", options.factors, rows, perRowOnly("factors", options.factorsPer ?? options.advantagesPer));
  const rowWeights = optionalFloats(op, "rowWeights", options.rowWeights, B, "one per row");
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const termMask = optionalMask(op, "termMask", options.termMask, n, meaning);
  if (call.rowsOnly && termMask)
    throw argumentError("ERR_SURPRISAL_OPTION", op, "termMask", termMask, "nothing: this form has one value a row, and no terms of tokens");
  const marks = optionalMask(op, "marks", call.marks, n, meaning);
  return { rows, old, advantage, factor, rowWeights, mask, termMask, marks, kl: needKl(call, options.kl, n, B, meaning) };
}

/** Checks what is common and allocates. `finish` makes the result once the op has run. */
function prepareLoss<Output extends LossOutput>(options: LossOptions<Output>, call: LossCall) {
  const { op } = call;
  const { logProbs, advantages, factors, kl: given } = options;
  const ofKl = [given?.referenceLogProbs, given?.rowWeights];
  const flags = [options.mask, options.termMask, call.marks];
  const stream = streamOf(op, options, logProbs, call.old, advantages, factors, options.rowWeights, ...flags, ...ofKl);
  const { rows, old, advantage, factor, rowWeights, mask, termMask, marks, kl } = needLossInputs(options, call);
  const { n, B, T, offsets, meaning } = rows;
  const current = needFloats(op, "logProbs", options.logProbs, n, meaning);
  const dtype = widestFloat(current, old, advantage.array, factor?.array, kl.reference);

  const wanted: readonly LossOutput[] = options.outputs ?? ["gradLogProbs"];
  for (const name of wanted) needWord(op, "outputs", name, OUTPUTS);
  for (const name of Object.keys(options.out ?? {}))
    if (!wanted.includes(name as LossOutput))
      throw argumentError("ERR_SURPRISAL_OPTION", op, `out.${name}`, name, "an array that `outputs` lists");
  const output = (name: Exclude<LossOutput, "clipped">, length: number): FloatArray | null => {
    if (!wanted.includes(name)) return null;
    return outputOr(op, name, options.out?.[name], dtype, length, stream);
  };
  const arrays = {
    losses: output("losses", call.lossesPer === "row" ? B : n),
    ratios: output("ratios", call.ratiosPer === "row" ? B : n),
    klValues: output("klValues", n),
    clipped: wanted.includes("clipped") ? flagsOr(op, "clipped", options.out?.clipped, n, stream) : null,
    gradLogProbs: output("gradLogProbs", n),
  };
  const inputs = {
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
    offsets,
  };
  refuseOverlap(op, arrays, inputs);

  const figures = float64Or(op, "", undefined, B * LOSS_FIGURES.length, stream);
  const args = {
    dtype: DTYPE_CODE[dtype],
    current: asFloat(current, dtype),
    old: old && asFloat(old, dtype),
    advantage: asFloat(advantage.array, dtype),
    factor: factor && asFloat(factor.array, dtype),
    reference: kl.reference && asFloat(kl.reference, dtype),
    rowWeight: rowWeights && asFloat64(rowWeights),
    klWeight: kl.weights && asFloat64(kl.weights),
    mask,
    termMask,
    marks,
    offsets,
    n,
    B,
    T,
    oldPerRow: call.oldPerRow ? 1 : 0,
    advantagePerToken: advantage.perToken ? 1 : 0,
    factorPerToken: factor?.perToken ? 1 : 0,
    loss: arrays.losses,
    ratio: arrays.ratios,
    kl: arrays.klValues,
    clipped: arrays.clipped,
    grad: arrays.gradLogProbs,
    figures,
    ...call.args,
    ...kl.args,
  };
  const conclude = (read: Float64Array): LossSummary => {
    const rowFigures = columns(read, B);
    const batch = sums(rowFigures, call.run === "lossToken");
    return { total: batch.total, figures: batch, rowFigures };
  };
  const finish = (): LossResult<Output> => {
    const returned = Object.fromEntries(wanted.map((name) => [name, arrays[name]])) as unknown as Pick<LossArrays, Output>;
    if (!stream) return { ...returned, ...conclude(figures) };
    const summary = new DeviceSummary([figures as unknown as DeviceArray], ([read]) => conclude(read as Float64Array));
    return { ...returned, summary } as unknown as LossResult<Output>;
  };
  return { args, finish, stream, arrays: { ...inputs, ...arrays } };
}

/** Checks what is common, allocates, and runs. */
export function evaluateLoss<Output extends LossOutput>(options: LossOptions<Output>, call: LossCall): LossResult<Output> {
  const { args, finish, stream } = prepareLoss(options, call);
  selectBackend(call.op, options.backend, stream).ops[call.run](args);
  return finish();
}

/** The same off the event loop. */
export async function evaluateLossAsync<Output extends LossOutput>(
  options: LossOptions<Output> & AsyncOption,
  call: LossCall,
): Promise<LossResult<Output>> {
  const { args, finish, arrays } = prepareLoss(options, call);
  await runWhole(call.op, call.run, args, arrays, options);
  return finish();
}

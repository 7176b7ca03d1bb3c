// Weights of sequences from their mean entropy relative to their group.
import {
  type ModulateOps,
  type ModulateRowsArgs,
  NON_FINITE_ROWS,
  type NonFiniteRows,
  WEIGHT_FORMS,
  type WeightForm,
} from "../../backend/contract/modulate";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { flagsOr, float64Or, int32Or, needFloats, optionalMask } from "../../core/arrays";
import type { Collective, CollectiveOption } from "../../core/collective";
import type { DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { floatDType } from "../../core/float-arrays";
import { optionError } from "../../core/errors";
import { gatherGroups } from "../../core/gathered-groups";
import { type GroupLayout, type Groups, needGroups, type NamedGroups } from "../../core/groups";
import { fillingNew } from "../../core/kept-memory";
import type { AnyFloatArray, Anywhere, OnDevice } from "../../core/on-device";
import { needNumber, needWord } from "../../core/option-checks";
import { gatherRowPartials } from "../../core/row-partials";
import { needRows, type RowLayout } from "../../core/row-layout";
import type { Stream } from "../../core/stream";
import type { Writable } from "../../core/writable";

takesDeviceArrays("sequenceWeights");

export type { NonFiniteRows, WeightForm } from "../../backend/contract/modulate";

/** Lowest and highest weight. Where low exceeds high, high wins. high may be Infinity. */
export type WeightBounds = readonly [low: number, high: number];

export interface SequenceWeightsOptions extends RowLayout, GroupLayout, BackendOption, CollectiveOption {
  /** 1 = a token that counts in the mean, 0 = never read. Default: all 1. */
  readonly mask?: Uint8Array;
  /** What the values are: entropies, or log-probs of the sampled tokens, whose negative is averaged. Default `"entropies"`. */
  readonly values?: "entropies" | "logProbs";
  /** The quotient mean / entropy, or one plus a clipped z-score. Default `"ratio"`. */
  readonly form?: WeightForm;
  /** Added to the entropy (`"ratio"`), floor of the deviation (`"zscore"`); nats, >= 0. Default 1e-6. */
  readonly epsilon?: number;
  /** Slope of the z-score. Default 1. */
  readonly beta?: number;
  /** The z-score is clipped to ±zClip; Infinity for no clip. Default 3. */
  readonly zClip?: number;
  /** Smallest variance of entropies in a group (ddof 1). Default 0. */
  readonly varianceFloor?: number;
  /** Bounds of the weights, of all rows or of the rows that `positive` marks. Default [0.5, 2]. */
  readonly bounds?: WeightBounds;
  /** Bounds of the rows that `positive` does not mark. Default: as `bounds`. */
  readonly negativeBounds?: WeightBounds;
  /** 1 = the row takes `bounds`, 0 = `negativeBounds`; [B]. Default: all 1. */
  readonly positive?: Uint8Array;
  /**
   * Rows without a kept token:
   * - `"exclude"`: not in the mean of their group, ratio 1.
   * - `"zero"`: a row of entropy 0.
   *
   * Default `"exclude"`.
   */
  readonly emptyRows?: "exclude" | "zero";
  /**
   * Rows with a NaN or infinite entropy:
   * - `"isolate"`: not in the mean of their group, ratio 1.
   * - `"group"`: ratio 1, and so for every row of their group, whose mean is NaN.
   * - `"propagate"`: IEEE arithmetic; a NaN reaches every row of the group.
   *
   * Default `"isolate"`.
   */
  readonly nonFinite?: NonFiniteRows;
  /**
   * A group with one row that counts:
   * - `"one"`: ratio 1.
   * - `"own"`: compared with itself, H/(H + ε).
   * - `"standard"`: compared with mean 0 and deviation 1.
   *
   * Default `"one"`.
   */
  readonly singleton?: "one" | "own" | "standard";
  /** A group whose mean entropy is 0 (a deterministic policy): ratio 1, or what the formula gives. Default `"one"`. */
  readonly zeroMean?: "one" | "formula";
}

/** One number per row. */
export interface SequenceWeights {
  /** Clipped ratios. */
  readonly weights: Float64Array;
  /** Before clipping. */
  readonly entropyRatios: Float64Array;
  /** Mean over the kept tokens, nats; 0 without any. */
  readonly sequenceEntropies: Float64Array;
  /** Mean of the group's sequence entropies, for every row of the group; NaN where no row counts. */
  readonly groupMeanEntropies: Float64Array;
  /** Kept tokens. */
  readonly lengths: Int32Array;
  /** 1 = the row counts in its group. */
  readonly valid: Uint8Array;
}

const SINGLETONS = ["one", "own", "standard"] as const;

function needBounds(op: string, name: string, bounds: WeightBounds): WeightBounds {
  const given: unknown = bounds;
  if (!Array.isArray(given) || given.length !== 2) throw optionError(op, name, bounds, "[low, high]");
  const low = needNumber(op, `${name}[0]`, bounds[0]);
  const high = needNumber(op, `${name}[1]`, bounds[1], { infinite: true });
  return [low, high];
}

/** Weights of the rows here, and of the rows of all workers. */
export interface WeighedSequences {
  readonly own: SequenceWeights;
  readonly all: SequenceWeights;
  /** The `positive` of all rows, 1 where none is given. */
  readonly allPositive: Uint8Array;
}

function emptyWeights(B: number, stream: Stream | null): SequenceWeights {
  const output = () => float64Or("", "", undefined, B, stream);
  return {
    weights: output(),
    entropyRatios: output(),
    sequenceEntropies: output(),
    groupMeanEntropies: output(),
    lengths: int32Or("", "", undefined, B, stream),
    valid: flagsOr("", "", undefined, B, stream),
  };
}

const filled = fillingNew((B) => emptyWeights(B, null));

type RowsArgs = Omit<ModulateRowsArgs, keyof SequenceWeights>;

function run(ops: ModulateOps, args: RowsArgs, stream: Stream | null = null): SequenceWeights {
  // Not a new object of as many fields, which takes longer than the op on a few rows.
  const call = args as Writable<ModulateRowsArgs>;
  const fill = (result: SequenceWeights): void => {
    call.weights = result.weights;
    call.entropyRatios = result.entropyRatios;
    call.sequenceEntropies = result.sequenceEntropies;
    call.groupMeanEntropies = result.groupMeanEntropies;
    call.lengths = result.lengths;
    call.valid = result.valid;
    ops.modulateRows(call);
  };
  if (!stream) return filled(args.B, fill);
  const result = emptyWeights(args.B, stream);
  fill(result);
  return result;
}

/**
 * Measures the rows here, and compares them with those of all workers: there each is a row of one token, its mean entropy,
 * or a row without tokens. The backend does every sum that it does for one worker.
 */
function weighTogether(
  op: string,
  collective: Collective,
  ops: ModulateOps,
  args: RowsArgs,
  groups: Groups,
): WeighedSequences {
  const measured = run(ops, args);
  const width = 3;
  const rows = new Float64Array(width * args.B);
  for (let b = 0; b < args.B; ++b)
    rows.set([measured.sequenceEntropies[b]!, measured.lengths[b]!, args.positive ? args.positive[b]! : 1], width * b);
  const { partials, begin, end } = gatherRowPartials(op, collective, rows, width);
  const B = partials.length / width;
  const field = (k: number): Float64Array => Float64Array.from({ length: B }, (_, b) => partials[width * b + k]!);
  const lengths = Int32Array.from(field(1));
  const allPositive = Uint8Array.from(field(2), (flag) => (flag !== 0 ? 1 : 0));
  const everywhere = gatherGroups(op, collective, groups);
  const compared = run(ops, {
    ...args,
    dtype: DTYPE_CODE.float64,
    // The op negates again, and -0 stays -0.
    values: field(0).map((entropy) => (args.negate ? -entropy : entropy)),
    mask: Uint8Array.from(lengths, (length) => (length > 0 ? 1 : 0)),
    positive: allPositive,
    offsets: null,
    members: everywhere.members,
    groupOffsets: everywhere.offsets,
    n: B,
    B,
    T: 1,
    G: everywhere.G,
  });
  const all = { ...compared, lengths };
  const own = {
    weights: all.weights.slice(begin, end),
    entropyRatios: all.entropyRatios.slice(begin, end),
    sequenceEntropies: all.sequenceEntropies.slice(begin, end),
    groupMeanEntropies: all.groupMeanEntropies.slice(begin, end),
    lengths: lengths.slice(begin, end),
    valid: all.valid.slice(begin, end),
  };
  return { own, all, allPositive };
}

/** As sequenceWeights, in the name of the public function `op` and its argument `name`; with the rows of all workers. */
export function weighSequences(
  op: string,
  name: string,
  values: FloatArray,
  options: SequenceWeightsOptions,
): WeighedSequences {
  const stream = streamOf(op, options, values, options.mask, options.positive);
  const { n, B, T, offsets, meaning } = needRows(op, options);
  const entropy = needFloats(op, name, values, n, meaning);
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const positive = optionalMask(op, "positive", options.positive, B, "one per row");
  const groups = needGroups(op, options, B);
  const bounds = needBounds(op, "bounds", options.bounds ?? [0.5, 2]);
  const negativeBounds =
    options.negativeBounds === undefined ? bounds : needBounds(op, "negativeBounds", options.negativeBounds);
  const singleton = SINGLETONS[needWord(op, "singleton", options.singleton ?? "one", SINGLETONS)];
  const { ops } = selectBackend(op, options.backend, stream);
  const args: RowsArgs = {
    dtype: DTYPE_CODE[floatDType(entropy)],
    values: entropy,
    mask,
    positive,
    offsets,
    members: groups.members,
    groupOffsets: groups.offsets,
    n,
    B,
    T,
    G: groups.G,
    form: needWord(op, "form", options.form ?? "ratio", WEIGHT_FORMS),
    negate: needWord(op, "values", options.values ?? "entropies", ["entropies", "logProbs"]),
    epsilon: needNumber(op, "epsilon", options.epsilon ?? 1e-6, { min: 0 }),
    beta: needNumber(op, "beta", options.beta ?? 1),
    zClip: needNumber(op, "zClip", options.zClip ?? 3, { min: 0, infinite: true }),
    varianceFloor: needNumber(op, "varianceFloor", options.varianceFloor ?? 0, { min: 0 }),
    lowPositive: bounds[0],
    highPositive: bounds[1],
    lowNegative: negativeBounds[0],
    highNegative: negativeBounds[1],
    emptyIsolate: 1 - needWord(op, "emptyRows", options.emptyRows ?? "exclude", ["exclude", "zero"]),
    nonFinite: needWord(op, "nonFinite", options.nonFinite ?? "isolate", NON_FINITE_ROWS),
    singletonOne: singleton === "one" ? 1 : 0,
    singletonZeroMean: singleton === "standard" ? 1 : 0,
    zeroOne: 1 - needWord(op, "zeroMean", options.zeroMean ?? "one", ["one", "formula"]),
  };
  if (options.collective) return weighTogether(op, options.collective, ops, args, groups);
  const own = run(ops, args, stream);
  return { own, all: own, allPositive: positive ?? new Uint8Array(B).fill(1) };
}

/** The same on a device, where the first array lies. */
export function sequenceWeights(
  values: DeviceFloatArray,
  options: Anywhere<SequenceWeightsOptions & NamedGroups>,
): OnDevice<SequenceWeights>;
/**
 * Weight of each sequence from its mean entropy H relative to the mean μ of its group: sequences that are surer than their
 * fellows weigh more.
 *
 *     "ratio":   ratio = μ / (H + ε)
 *     "zscore":  ratio = 1 + β·clamp((μ − H) / max(σ, ε), ±zClip),   σ with ddof 1
 *     weight = clamp(ratio, bounds)
 *
 * Neither `groups` nor `groupOffsets`: all rows are one group. With a `collective` groups span its workers.
 *
 * @param values per token, nats; [n] as `shape` or `offsets` say. Shannon entropies, or with `values: "logProbs"` the
 * log-probs of the sampled tokens: their negative mean estimates the entropy from one sample per token
 * @returns float64, [B] each
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _BUFFER, _VALUE (labels) or _RANGE (offsets)
 */
export function sequenceWeights(values: FloatArray, options: SequenceWeightsOptions & NamedGroups): SequenceWeights;
export function sequenceWeights(
  values: AnyFloatArray,
  anywhere: SequenceWeightsOptions | Anywhere<SequenceWeightsOptions>,
): SequenceWeights | OnDevice<SequenceWeights> {
  const options = anywhere as SequenceWeightsOptions;
  return weighSequences("sequenceWeights", "values", values as FloatArray, options).own;
}

// The critic's loss: squared error to the returns, clipped around the old values.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalFloats, optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { optionError } from "../core/errors";
import { needNumber } from "../core/option-checks";
import type { Per } from "../core/per-row";
import { type MaskedRows, needRows, rowBegin, rowEnd, type RowLayout } from "../core/row-layout";
import { isArray, needBounds } from "../ops/loss/bounds";
import { evaluateLoss } from "../ops/loss/evaluate-loss";
import { type LossInputs, NO_KL } from "../ops/loss/loss-inputs";
import { tokenForm } from "../ops/loss/token-loss";
import type { LossResult } from "../ops/loss/types";
import { type PresetOption, resolvePreset } from "../presets";
import { type AggregationCounts, type AggregationMode, weighRows } from "./aggregation";
import type { AggregationName } from "../presets/aggregations";

/** Per-token arrays have [n] elements, as `shape` or `offsets` say. */
export interface ValueBatch extends RowLayout {
  /** v: the critic's values now. The gradient is for these. */
  readonly values: FloatArray;
  /** V: the critic's values when the batch was made. Needed by `clip`. */
  readonly oldValues?: FloatArray;
  /** R: the returns, which the values should equal. */
  readonly returns: FloatArray;
  /** 1 = a token of the policy; the others are not read and get gradient 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** The choices in which frameworks differ. */
export interface ValueLossConventions {
  /** How losses of tokens become the loss of the batch. Default `"tokenMean"`. */
  readonly aggregation?: AggregationMode | AggregationName;
}

export interface ValueLossOptions
  extends ValueLossConventions, AggregationCounts, PresetOption<"valueLoss">, BackendOption {
  /** ε: v is clipped to V ± ε. >= 0. An array: one for each row or token. Default: Infinity, the plain squared error. */
  readonly clip?: number | FloatArray;
  /** What an entry of a `clip` that is an array belongs to. Default: by the length. */
  readonly boundsPer?: Per;
  /** δ > 0: an error beyond ±δ counts δ·(|error| − δ/2) in place of half its square (Huber). Default: Infinity, off. */
  readonly huberDelta?: number;
  /** Whether rows without a kept token count as rows. Default: as the aggregation says, else `"skip"`. */
  readonly emptyRows?: "skip" | "count";
}

export interface ValueLossResult {
  /** Σ W·l, float64. */
  readonly loss: number;
  /** d loss / d values, [n]; 0 under the mask. */
  readonly gradValues: FloatArray;
  /** l per token, 0 under the mask. */
  readonly losses: FloatArray;
  /** 1 where the clipped error is the larger one, [n]. */
  readonly clipped: Uint8Array;
  /** `critic/vf_loss`, and `critic/vf_clipfrac`: the share of kept tokens with `clipped`. */
  readonly metrics: Readonly<Record<"critic/vf_loss" | "critic/vf_clipfrac", number>>;
  /** What a kept token of each row weighs, [rows]. */
  readonly rowWeights: Float64Array;
}

/**
 * The value loss of PPO and its gradient, per token:
 *
 *     v̄ = clip(v, V − ε, V + ε),   l = ½·max((v − R)², (v̄ − R)²),   loss = Σ W·l
 *     d l / d v = v − R where (v − R)² is the larger or equal one, else 0
 *
 * With `huberDelta` the larger error is taken by Huber's function, whose slope is at most δ.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Schulman et al. 2017, Proximal Policy Optimization Algorithms, equation 9 (the squared error); its authors' code (the clipping)
 */
export function valueLoss(batch: ValueBatch, options: ValueLossOptions = {}): ValueLossResult {
  const op = "valueLoss";
  const { preset: _, ...resolved } = resolvePreset(op, options.preset, options);
  return evaluateValueLoss(op, { clip: "clip", mask: "mask" }, batch, resolved);
}

/** As valueLoss with its preset resolved, in the name of the public function `op`, which has its own names for two arguments. */
export function evaluateValueLoss(
  op: string,
  names: Readonly<Record<"clip" | "mask", string>>,
  batch: ValueBatch,
  resolved: Omit<ValueLossOptions, "preset">,
): ValueLossResult {
  const rows = needRows(op, batch);
  const { n, meaning } = rows;
  const values = needFloats(op, "values", batch.values, n, meaning);
  const returns = needFloats(op, "returns", batch.returns, n, meaning);
  const oldValues = optionalFloats(op, "oldValues", batch.oldValues, n, meaning);
  const mask = optionalMask(op, names.mask, batch.mask, n, meaning);
  const { clip: width = Infinity, huberDelta: _, aggregation, boundsPer, ...counts } = resolved;
  const clip =
    names.clip === "clip" && isArray(width) ? width : needNumber(op, names.clip, width, { min: 0, infinite: true });
  if (clip !== Infinity && !oldValues)
    throw optionError(op, "oldValues", undefined, `values to clip around, since ${names.clip} is given`);
  const delta = needNumber(op, "huberDelta", resolved.huberDelta ?? Infinity, { min: 0, above: true, infinite: true });
  const rowWeights = weighRows(op, "aggregation", { rows, mask }, { mode: aggregation ?? "tokenMean", ...counts });
  const form = tokenForm(op, { form: "squared", clipLow: clip, clipHigh: clip });
  const bounds = needBounds(op, { clip, clipLow: clip, clipHigh: clip, boundsPer }, rows, form);
  const inputs: LossInputs = {
    rows,
    bounds,
    old: oldValues,
    advantage: { array: returns, perToken: true },
    factor: null,
    rowWeights,
    mask,
    termMask: null,
    marks: null,
    kl: NO_KL,
  };
  const loss = { form, logProbs: values, inputs, stream: null };
  const outputs = ["losses", "clipped", "gradLogProbs"] as const;
  const squared = evaluateLoss(op, loss, { outputs, backend: resolved.backend });
  const { clipLow: own } = bounds;
  const widthAt = (b: number, i: number): number => (own ? own.array[own.perToken ? i : b]! : (clip as number));
  const result =
    delta === Infinity
      ? squared
      : withHuber(squared, { values, returns, oldValues, rows, mask, rowWeights }, widthAt, delta);
  const { kept, clipped } = result.figures;
  return {
    loss: result.total,
    gradValues: result.gradLogProbs,
    losses: result.losses,
    clipped: result.clipped,
    metrics: { "critic/vf_loss": result.total, "critic/vf_clipfrac": kept > 0 ? clipped / kept : 0 },
    rowWeights,
  };
}

interface CheckedValues extends MaskedRows {
  readonly values: FloatArray;
  readonly returns: FloatArray;
  readonly oldValues: FloatArray | null;
  readonly rowWeights: Float64Array;
}
type ValueResult = LossResult<"losses" | "clipped" | "gradLogProbs">;

/** Huber's function grows with the error as the square does, so that the same error is the larger one. */
function withHuber(
  squared: ValueResult,
  { values, returns, oldValues, rows, mask, rowWeights }: CheckedValues,
  widthAt: (b: number, i: number) => number,
  delta: number,
): ValueResult {
  const [losses, gradLogProbs] = [squared.losses.slice(), squared.gradLogProbs.slice()];
  let total = 0;
  for (let b = 0; b < rows.B; ++b) {
    let sum = 0;
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i) {
      if (mask && mask[i] === 0) continue;
      const v = values[i]!;
      const width = widthAt(b, i);
      const held = oldValues ? Math.min(Math.max(v, oldValues[i]! - width), oldValues[i]! + width) : v;
      const error = Math.abs((squared.clipped[i] === 0 ? v : held) - returns[i]!);
      const loss = error > delta ? delta * (error - delta / 2) : error ** 2 / 2;
      losses[i] = loss;
      if (error > delta) gradLogProbs[i]! *= delta / error;
      sum += loss;
    }
    if (rowWeights[b] !== 0) total += rowWeights[b]! * sum;
  }
  return { ...squared, total, losses, gradLogProbs };
}

// Distillation: the divergence between a teacher's and a student's next-token distributions, added up to a loss.
import type { BackendOption } from "../backend/select";
import { needIds, optionalMask, type TokenIds } from "../core/arrays";
import { optionError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { type LogitPairLayout, type Outside, topLogits } from "../ops/divergence";
import { evaluateDivergence } from "../ops/divergence/divergence";
import { needPair } from "../ops/divergence/pairs";
import type { LogitViewOf, WideLogits, WideLogitView } from "../ops/logprob";

const REDUCTIONS = ["batchmean", "sum", "mean"] as const;
/**
 * What a kept row weighs, with C kept rows and a vocabulary of V:
 * - `"batchmean"`: 1 / max(C, 1), the mean over tokens.
 * - `"sum"`: 1.
 * - `"mean"`: 1 / (max(C, 1)·outcomes), the mean over the tokens' outcomes: the V ids, or those of a support and their pool.
 */
export type DistillationReduction = (typeof REDUCTIONS)[number];

export interface DistillationOptions extends LogitPairLayout, BackendOption {
  /** 0: KL(teacher‖student), "forward"; 1: KL(student‖teacher), "reverse"; between them generalized Jensen-Shannon. Default 0.5. */
  readonly beta?: number;
  /** Divides both logits, > 0. Default 1. The loss is not multiplied by its square. */
  readonly temperature?: number;
  /** Default `"batchmean"`. */
  readonly reduction?: DistillationReduction;
  /** Ids of the targets, one a row, as trainers hold them: rows with `ignoreIndex` are masked, the ids are not used. */
  readonly labels?: TokenIds;
  /** Default −100. */
  readonly ignoreIndex?: number;
  /** 1 = a row that counts, 0 = never read. Together with `labels`: both must keep it. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Look at the student's k likeliest ids of each row only. Default: at the whole vocabulary. */
  readonly topK?: number;
  /** Or at these ids, [rows, K], distinct in a row. */
  readonly support?: TokenIds;
  /** With `topK` or `support`: the other ids together are one more outcome, `"pooled"` (default), or nothing, `"dropped"`. */
  readonly outside?: Outside;
  /** As in `divergence`. Default 1e-7. */
  readonly tailFloor?: number;
  /** False: no gradient is computed. Default true. */
  readonly gradient?: boolean;
  /** Memory for the gradient, of the student's kind; without a support it may be the student's logits. */
  readonly out?: WideLogitView;
}

export interface DistillationMetrics {
  /** Rows that count. */
  readonly tokens: number;
  /** Mean and largest divergence of these, nats. 0 without any. */
  readonly meanDivergence: number;
  readonly maxDivergence: number;
}

export interface DistillationResult<View = WideLogitView> {
  /** Σ_n weight·divergence_n. 0 where nothing counts. */
  readonly loss: number;
  readonly metrics: DistillationMetrics;
  /** dL/d student logits, of their kind and length; null with `gradient: false`. */
  readonly gradStudentLogits: View | null;
  /** [rows], nats; 0 under the mask. */
  readonly divergences: Float64Array;
  /** d loss / d divergences, [rows]; 0 under the mask. */
  readonly gradDivergences: Float64Array;
  /** The ids that were looked at, [rows, K]; null for the whole vocabulary. */
  readonly support: Int32Array | null;
}

function keptRows(op: string, N: number, options: DistillationOptions): Uint8Array {
  const mask = optionalMask(op, "mask", options.mask, N, "one a row");
  const ignoreIndex = needNumber(op, "ignoreIndex", options.ignoreIndex ?? -100, {
    min: -(2 ** 31),
    max: 2 ** 31 - 1,
    integer: true,
  });
  const labels = options.labels == null ? null : needIds(op, "labels", options.labels, N, "one a row");
  return Uint8Array.from({ length: N }, (_, n) =>
    (mask && mask[n] === 0) || (labels && labels[n] === ignoreIndex) ? 0 : 1,
  );
}

function supportOf(
  op: string,
  student: WideLogits,
  options: DistillationOptions,
  mask: Uint8Array,
  V: number,
): Int32Array | null {
  const { topK, support, shape, dtype, stride, backend } = options;
  if (topK === undefined) return support == null ? null : needIds(op, "support", support);
  if (support != null) throw optionError(op, "support", support, "nothing beside topK");
  needNumber(op, "topK", topK, { min: 1, max: V, integer: true });
  return topLogits(student, topK, {
    mask,
    shape,
    dtype,
    stride,
    backend,
  });
}

function metricsOf(divergences: Float64Array, mask: Uint8Array, tokens: number): DistillationMetrics {
  let sum = 0;
  let max = 0;
  divergences.forEach((value, n) => {
    if (mask[n] === 0) return;
    sum += value;
    max = Math.max(max, value); // NaN stays
  });
  return { tokens, meanDivergence: sum / Math.max(tokens, 1), maxDivergence: max };
}

/**
 * Distillation loss and its gradient to the student's logits: `divergence` of each row (a token of the response), reduced.
 *
 * A row under the mask is not read. Over the whole vocabulary, or over the student's `topK` likeliest ids, which are constants
 * for the gradient.
 *
 * @param student logits, [rows, vocab] or with more leading dimensions: float32, float64, or half types
 * @param teacher logits of the same shape and type; constants
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see Agarwal et al. 2024, On-Policy Distillation of Language Models; TRL's GKD and self-distillation trainers
 */
export function distillationLoss<L extends WideLogits>(
  student: L,
  teacher: WideLogits,
  options: DistillationOptions = {},
): DistillationResult<LogitViewOf<L>> {
  const op = "distillationLoss";
  const { N: rows, V: vocab } = needPair(op, student, teacher, options).student;
  const reduction = REDUCTIONS[needWord(op, "reduction", options.reduction ?? "batchmean", REDUCTIONS)]!;
  const mask = keptRows(op, rows, options);
  const tokens = mask.reduce((count, kept) => count + kept, 0);
  if (options.outside !== undefined && options.topK === undefined && options.support == null)
    throw optionError(op, "outside", options.outside, "nothing without topK or support");
  const support = supportOf(op, student, options, mask, vocab);
  const outside = options.outside ?? "pooled";
  const outcomes = support ? support.length / Math.max(rows, 1) + (outside === "pooled" ? 1 : 0) : vocab;
  const weight = {
    batchmean: 1 / Math.max(tokens, 1),
    sum: 1,
    mean: 1 / (Math.max(tokens, 1) * Math.max(outcomes, 1)),
  }[reduction];

  const divergences = new Float64Array(rows);
  const gradDivergences = Float64Array.from(mask, (kept) => kept * weight);
  const { shape, dtype, stride, teacherStride, temperature, tailFloor, backend, out } = options;
  const gradient = evaluateDivergence(
    op,
    student,
    teacher,
    {
      beta: options.beta ?? 0.5,
      mask,
      shape,
      dtype,
      stride,
      teacherStride,
      temperature,
      tailFloor,
      backend,
      support: support ?? undefined,
      outside: support ? outside : undefined,
    },
    {
      divergences,
      gradDivergences: options.gradient !== false ? gradDivergences : undefined,
      out: options.gradient !== false ? out : undefined,
    },
  );
  const loss = divergences.reduce((sum, value, n) => (mask[n] === 0 ? sum : sum + value), 0) * weight;
  return {
    loss,
    metrics: metricsOf(divergences, mask, tokens),
    gradStudentLogits: gradient as LogitViewOf<L> | null,
    divergences,
    gradDivergences,
    support,
  };
}

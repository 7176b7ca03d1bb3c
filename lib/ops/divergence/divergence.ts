// How far a student's distribution over the vocabulary is from a teacher's, and the gradient to the student's logits.
import type { DivergenceRowsArgs } from "../../backend/contract/divergence";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { float64Or, needFloat64, needFloats, optionalMask, refuseOverlap } from "../../core/arrays";
import type { DeviceArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { asFloat } from "../../core/float-arrays";
import type { Anywhere } from "../../core/on-device";
import { needNumber } from "../../core/option-checks";
import {
  type DeviceWideLogits,
  type LogitViewOf,
  needGradient,
  type WideLogitDType,
  type WideLogits,
  type WideLogitView,
} from "../logprob/logits";
import { type LogitPairLayout, needPair } from "./pairs";
import { needSupport, type SupportOptions } from "./support";

takesDeviceArrays("divergence", "divergenceBackward");

export interface DivergenceOptions extends LogitPairLayout, SupportOptions, BackendOption {
  /** Which divergence, in [0, 1]: 0 is KL(teacher‖student), 1 is KL(student‖teacher), between them Jensen-Shannon. */
  readonly beta: number;
  /** Divides both logits, > 0. Default 1. */
  readonly temperature?: number;
  /** One flag a row; a row with 0 is not read: its divergence is 0, its gradient exactly 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface DivergenceBackwardOptions extends DivergenceOptions {
  /** Memory for the gradient, of the student's kind; without a support it may be the student's logits, which are overwritten then. */
  readonly out?: WideLogitView;
}

/** What a call is to fill. */
interface Wanted {
  readonly divergences?: Float64Array;
  /** Weight of each row in the loss. */
  readonly gradDivergences?: FloatArray;
  readonly out?: unknown;
}

function prepare(op: string, student: unknown, teacher: unknown, options: DivergenceOptions, wanted: Wanted) {
  const stream = streamOf(
    op,
    options,
    student,
    teacher,
    options.mask,
    options.support,
    wanted.gradDivergences,
    wanted.divergences,
    wanted.out,
  );
  const pair = needPair(op, student, teacher, options);
  const { N, V, dtype } = pair.student;
  const beta = needNumber(op, "beta", options.beta, { min: 0, max: 1 });
  const temperature = needNumber(op, "temperature", options.temperature ?? 1, { min: 1e-30, max: 1e30 });
  const mask = optionalMask(op, "mask", options.mask, N, "one a row");
  const support = needSupport(op, options, N, V, mask);
  const divergence = wanted.divergences ?? null;
  const given = wanted.gradDivergences && needFloats(op, "gradDivergences", wanted.gradDivergences, N, "one a row");
  const weight = given ? (asFloat(given, "float64") as Float64Array) : null;
  const gradient = given ? needGradient(op, pair.student, wanted.out, stream) : null;
  const grad = gradient && gradient.grad;
  const x = pair.student.logits;
  const inPlace = grad && !support.support && grad.buffer === x.buffer && grad.byteOffset === x.byteOffset;
  const inputs = { teacher: pair.teacher.logits, mask, gradDivergences: weight, support: support.support };
  const outputs = { divergences: divergence, gradient: grad };
  refuseOverlap(op, outputs, outputs, { ...inputs, student: inPlace ? undefined : x });
  const args: DivergenceRowsArgs = {
    dtype,
    student: x,
    teacher: pair.teacher.logits,
    mask,
    gradDivergences: weight,
    N,
    V,
    studentStride: pair.student.stride,
    teacherStride: pair.teacher.stride,
    beta,
    temperature,
    divergences: divergence,
    gradStudent: grad,
    ...support,
  };
  return { args, stream, gradient: gradient && gradient.view, arrays: { student: x, ...inputs, ...outputs } };
}

/** Both outputs of the op in one call; the gradient where `gradDivergences` is given, else null. */
export function evaluateDivergence(
  op: string,
  student: unknown,
  teacher: unknown,
  options: DivergenceOptions,
  wanted: Wanted,
): WideLogitView | null {
  const { args, gradient, stream } = prepare(op, student, teacher, options, wanted);
  selectBackend(op, options.backend, stream).ops.divergenceRows(args);
  return gradient;
}

async function evaluateAsync(
  op: string,
  student: unknown,
  teacher: unknown,
  options: DivergenceOptions & AsyncOption,
  wanted: Wanted,
): Promise<WideLogitView | null> {
  const { args, gradient, arrays } = prepare(op, student, teacher, options, wanted);
  await runWhole(op, "divergenceRows", args, arrays, options);
  return gradient;
}

function needDivergences(
  op: string,
  student: WideLogits,
  teacher: WideLogits,
  options: DivergenceOptions & { readonly out?: Float64Array },
) {
  const stream = streamOf(op, options, student, teacher, options.mask, options.support, options.out);
  const rows = needPair(op, student, teacher, options).student.N;
  return options.out === undefined
    ? float64Or(op, "", undefined, rows, stream)
    : needFloat64(op, "out", options.out, rows, "one a row");
}

function needRowGradients(
  op: string,
  student: WideLogits,
  teacher: WideLogits,
  gradDivergences: FloatArray,
  options: DivergenceOptions,
): void {
  needFloats(op, "gradDivergences", gradDivergences, needPair(op, student, teacher, options).student.N, "one a row");
}

/** The same on a device, where the student's logits lie. */
export function divergence(
  student: DeviceWideLogits,
  teacher: WideLogits | DeviceWideLogits,
  options: Anywhere<DivergenceOptions> & { readonly out?: DeviceArray<"float64"> },
): DeviceArray<"float64">;
/**
 * The divergence of each row, in nats. With S and T the softmax of student / temperature and teacher / temperature:
 *
 *     beta 0:  KL(T‖S) = Σ T ln(T/S)
 *     beta 1:  KL(S‖T) = Σ S ln(S/T)
 *     else:    M = (1 − beta)·S + beta·T,   beta·KL(T‖M) + (1 − beta)·KL(S‖M)
 *
 * over the vocabulary, or over a support of K ids a row. Logits of −∞ are masked ids, 0·ln 0 = 0: the mixture stays finite where
 * one side lacks an id, a KL whose second argument lacks one is ∞. A row without a finite logit is NaN.
 *
 * @param student logits, [rows, vocab]: float32, float64, or half types
 * @param teacher logits of the same shape and type; they get no gradient
 * @returns [rows], float64 whatever the logits' type; 0 for rows that `mask` leaves out
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (an id outside the vocabulary, or twice in a row) or _BUFFER
 * @see Agarwal et al. 2024, On-Policy Distillation of Language Models (generalized Jensen-Shannon divergence)
 */
export function divergence(
  student: WideLogits,
  teacher: WideLogits,
  options: DivergenceOptions & { readonly out?: Float64Array },
): Float64Array;
export function divergence(
  student: WideLogits | DeviceWideLogits,
  teacher: WideLogits | DeviceWideLogits,
  anywhere: DivergenceOptions | Anywhere<DivergenceOptions>,
): Float64Array | DeviceArray<"float64"> {
  const op = "divergence";
  const options = anywhere as DivergenceOptions;
  const divergences = needDivergences(op, student as WideLogits, teacher as WideLogits, options);
  evaluateDivergence(op, student, teacher, options, { divergences });
  return divergences;
}

/**
 * `divergence` off the event loop. The arrays must not be touched until it resolves.
 */
export async function divergenceAsync(
  student: WideLogits,
  teacher: WideLogits,
  options: DivergenceOptions & AsyncOption & { readonly out?: Float64Array },
): Promise<Float64Array> {
  const op = "divergenceAsync";
  const divergences = needDivergences(op, student, teacher, options);
  await evaluateAsync(op, student, teacher, options, { divergences });
  return divergences;
}

/** The same on a device, where the student's logits lie. Gradients there are float64. */
export function divergenceBackward<D extends WideLogitDType>(
  student: DeviceArray<D>,
  teacher: WideLogits | DeviceWideLogits,
  gradDivergences: FloatArray | DeviceArray<"float64">,
  options: Anywhere<DivergenceOptions> & { readonly out?: DeviceArray<D> },
): DeviceArray<D>;
/**
 * Gradient of the student's logits, from that of the divergences.
 *
 *     dL/dx[j] = dL/dD · (h[j] − S[j]·Σ h) / temperature,   h = S − T  |  S ln(S/T)  |  (1 − beta)·S ln(S/M)
 *
 * Ids outside a support get 0 when they are dropped, their share of the pool's gradient when they are pooled. Columns of the
 * padding and rows left out get exactly 0, as do rows with a gradient of 0.
 *
 * @param gradDivergences dL/d divergence, [rows]
 * @returns the gradient, of the student's kind and length: `out` if given
 * @throws SurprisalError as `divergence`
 */
export function divergenceBackward<L extends WideLogits>(
  student: L,
  teacher: WideLogits,
  gradDivergences: FloatArray,
  options: DivergenceBackwardOptions,
): LogitViewOf<L>;
export function divergenceBackward(
  student: WideLogits | DeviceWideLogits,
  teacher: WideLogits | DeviceWideLogits,
  gradients: FloatArray | DeviceArray<"float64">,
  anywhere: DivergenceBackwardOptions | (Anywhere<DivergenceOptions> & { readonly out?: DeviceWideLogits }),
): unknown {
  const op = "divergenceBackward";
  const options = anywhere as DivergenceBackwardOptions;
  const gradDivergences = gradients as FloatArray;
  needRowGradients(op, student as WideLogits, teacher as WideLogits, gradDivergences, options);
  return evaluateDivergence(op, student, teacher, options, { gradDivergences, out: options.out });
}

/**
 * `divergenceBackward` off the event loop. The arrays must not be touched until it resolves.
 */
export async function divergenceBackwardAsync<L extends WideLogits>(
  student: L,
  teacher: WideLogits,
  gradDivergences: FloatArray,
  options: DivergenceBackwardOptions & AsyncOption,
): Promise<LogitViewOf<L>> {
  const op = "divergenceBackwardAsync";
  needRowGradients(op, student, teacher, gradDivergences, options);
  return (await evaluateAsync(op, student, teacher, options, { gradDivergences, out: options.out })) as LogitViewOf<L>;
}

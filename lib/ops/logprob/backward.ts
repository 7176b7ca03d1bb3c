// From gradients of log-probs and entropies to the gradient of the logits.
import type { LogprobBackwardArgs } from "../../backend/contract/logprob";
import { runByRows } from "../../backend/run-by-rows";
import { selectBackend } from "../../backend/select";
import { needLength, needOutput, optionalFloats, refuseOverlap, type TokenIds } from "../../core/arrays";
import { needDevice } from "../../core/device-arguments";
import { DeviceArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { type FloatArray, typedArrayName } from "../../core/dtype";
import { dtypeError, SurprisalError } from "../../core/errors";
import type { AsyncOption } from "../../backend/run-async";
import { streamOf } from "../../backend/streams";
import type { Anywhere, OnDevice } from "../../core/on-device";
import {
  type DeviceLogits,
  type LogitDType,
  type Logits,
  type LogitView,
  type LogitViewOf,
  needGradient,
} from "./logits";
import type { LogprobState } from "./results";
import { type LogitRowsOptions, needLogitRows, type ShardOptions } from "./logit-rows";

takesDeviceArrays("logprobBackward");

/** The options of the forward pass again, and what comes back from the loss. At least one gradient is needed. */
export interface LogprobBackwardOptions extends LogitRowsOptions, ShardOptions {
  /** dL/d logprob, [rows, K]. */
  readonly gradLogProbs?: FloatArray;
  /** dL/d entropy, [rows]. */
  readonly gradEntropies?: FloatArray;
  /** Memory for the gradient, of the logits' kind; may be the logits themselves, which are overwritten then. */
  readonly out?: LogitView;
}

/** Options where the logits lie on a device. */
export type DeviceLogprobBackwardOptions = Anywhere<Omit<LogprobBackwardOptions, "out">> & {
  readonly out?: DeviceLogits;
};

export function needRowState(
  op: string,
  name: keyof LogprobState,
  state: Partial<LogprobState>,
  N: number,
): Float32Array {
  const array: unknown = state[name];
  if (DeviceArray.is(array)) return needOutput(op, name, array, "float32", N) as Float32Array;
  if (typedArrayName(array) !== "Float32Array")
    throw dtypeError(op, name, array, "the Float32Array that logprob returned");
  needLength(op, name, array as Float32Array, N, "one a row");
  return array as Float32Array;
}

/** Gradients travel to the backends as float32; on a device they have to be. */
export function asFloat32(op: string, name: string, array: FloatArray | null): Float32Array | null {
  if (DeviceArray.is(array)) needDevice(op, name, array, ["float32"]);
  return array && typedArrayName(array) === "Float64Array" ? Float32Array.from(array) : (array as Float32Array | null);
}

function prepare(
  op: string,
  logits: Logits,
  targets: TokenIds | null | undefined,
  state: LogprobState,
  options: LogprobBackwardOptions,
) {
  const { gradLogProbs: ofLogProbs, gradEntropies: ofEntropies, out, mask } = options;
  const stream = streamOf(op, options, logits, targets, ofLogProbs, ofEntropies, out, mask, ...Object.values(state));
  const rows = needLogitRows(op, logits, targets, options, options);
  const { N, K } = rows;
  const gradLogProbs = asFloat32(
    op,
    "gradLogProbs",
    optionalFloats(op, "gradLogProbs", ofLogProbs, N * K, "one a target"),
  );
  const gradEntropies = asFloat32(
    op,
    "gradEntropies",
    optionalFloats(op, "gradEntropies", ofEntropies, N, "one a row"),
  );
  if (!gradLogProbs && !gradEntropies)
    throw new SurprisalError("ERR_SURPRISAL_OPTION", `${op}: neither gradLogProbs nor gradEntropies is given`, {
      op,
      name: "gradLogProbs",
      got: undefined,
      want: "gradLogProbs, gradEntropies or both",
    });
  if (gradLogProbs && !rows.targets) throw dtypeError(op, "targets", targets, "the ids that gradLogProbs belong to");
  const maxLogits = needRowState(op, "maxLogits", state, N);
  const log1pSums = needRowState(op, "log1pSums", state, N);
  const meanGaps = gradEntropies && needRowState(op, "meanGaps", state, N);
  const { view, grad } = needGradient(op, rows, out, stream);
  const inPlace = grad.buffer === rows.logits.buffer && grad.byteOffset === rows.logits.byteOffset;
  refuseOverlap(
    op,
    out,
    { gradient: grad },
    {
      logits: inPlace ? undefined : rows.logits,
      targets: rows.targets,
      mask: rows.mask,
      maxLogits,
      log1pSums,
      meanGaps,
      gradLogProbs,
      gradEntropies,
    },
  );
  const args: LogprobBackwardArgs = {
    maxLogits,
    log1pSums,
    meanGaps,
    gradLogProbs,
    gradEntropies,
    gradLogits: grad,
    ...rows,
  };
  return { args, view, stream };
}

/** The same on a device, where logits and state lie. Gradients there are float32. */
export function logprobBackward<D extends LogitDType>(
  logits: DeviceArray<D>,
  targets: TokenIds | DeviceArray<"int32"> | null | undefined,
  state: OnDevice<LogprobState>,
  options: DeviceLogprobBackwardOptions,
): DeviceArray<D>;
/**
 * Gradient of the logits, from those of log-probs and entropies.
 *
 *     dL/dz[j] = Σ_k a_k·([j = target_k] − p[j]) − h·p[j]·(ln p[j] + H),      dL/dx = dL/dz · dz/dx
 *
 * Nothing is rebuilt from rounded results: p comes from the logits and from the sums that `logprob` returned. Columns of
 * the padding and ignored rows get exactly 0, masked ids (−∞) too, unless they are a target.
 *
 * For a shard of the vocabulary give its columns, the state that `logprobMerge` returned, and `vocabStart`, `vocabSize`.
 *
 * @param logits as in the forward pass, unchanged
 * @param targets as in the forward pass; null with gradEntropies alone
 * @param state the result of `logprob` or `logprobMerge` on these logits, with the same options
 * @returns the gradient, of the logits' kind and length: `out` if given
 * @throws SurprisalError as `logprob`
 */
export function logprobBackward<L extends Logits>(
  logits: L,
  targets: TokenIds | null | undefined,
  state: LogprobState,
  options: LogprobBackwardOptions,
): LogitViewOf<L>;
export function logprobBackward(
  logits: Logits | DeviceLogits,
  targets: TokenIds | DeviceArray<"int32"> | null | undefined,
  state: LogprobState | OnDevice<LogprobState>,
  anywhere: LogprobBackwardOptions | DeviceLogprobBackwardOptions,
): unknown {
  const options = anywhere as LogprobBackwardOptions;
  const { args, view, stream } = prepare(
    "logprobBackward",
    logits as Logits,
    targets as TokenIds,
    state as LogprobState,
    options,
  );
  selectBackend("logprobBackward", options.backend, stream).ops.logprobBackward(args);
  return view;
}

/** `logprobBackward` off the event loop, as `logprobAsync`. */
export async function logprobBackwardAsync<L extends Logits>(
  logits: L,
  targets: TokenIds | null | undefined,
  state: LogprobState,
  options: LogprobBackwardOptions & AsyncOption,
): Promise<LogitViewOf<L>> {
  options.signal?.throwIfAborted();
  const { args, view } = prepare("logprobBackwardAsync", logits, targets, state, options);
  const {
    logits: x,
    targets: ids,
    mask,
    maxLogits,
    log1pSums,
    meanGaps,
    gradLogProbs,
    gradEntropies,
    gradLogits: grad,
  } = args;
  const arrays = {
    logits: x,
    targets: ids,
    mask,
    maxLogits,
    log1pSums,
    meanGaps,
    gradLogProbs,
    gradEntropies,
    out: grad,
  };
  await runByRows("logprobBackwardAsync", "logprobBackward", args, arrays, options);
  return view as LogitViewOf<L>;
}

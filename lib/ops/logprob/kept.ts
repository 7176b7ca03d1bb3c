// Log-probs over the ids that a sampler kept: what top-k and top-p left of the vocabulary, recorded row by row.
import { selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloats, needIds, needLength, outputOr, refuseOverlap, type TokenIds } from "../../core/arrays";
import { DeviceArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import { dtypeError, optionError, rangeError, shapeError } from "../../core/errors";
import type { Anywhere, OnDevice } from "../../core/on-device";
import { checkOffsets } from "../../core/offsets";
import { asFloat32, logprobBackward, needRowState } from "./backward";
import { type CheckedRows, type LogitRowsOptions, needLogitRows } from "./logit-rows";
import {
  type DeviceLogits,
  type LogitDType,
  type Logits,
  type LogitView,
  type LogitViewOf,
  needGradient,
} from "./logits";
import { type LogprobResult, type LogprobState, needResult } from "./results";

takesDeviceArrays("keptLogprob", "keptLogprobBackward");

/** The ids that a sampler kept of each row, one row behind the other; the target counts as kept, listed or not. */
export interface KeptIds {
  /** Ids, distinct within a row; 0 <= id < vocab. */
  readonly ids: TokenIds;
  /** Row b's are ids[offsets[b]] … ids[offsets[b + 1] − 1], [rows + 1]. A row without any has its target alone. */
  readonly offsets: Int32Array;
}

export interface KeptLogprobOptions extends LogitRowsOptions {
  /** False: no entropies, and no pass over the whole vocabulary. Default true. */
  readonly entropies?: boolean;
}

export interface KeptLogprobResult {
  /** z[target] − ln Σ over kept ids of exp z, nats, [rows]. */
  readonly logProbs: Float32Array;
  /** Of the whole vocabulary, nats, [rows]; null with `entropies: false`. */
  readonly entropies: Float32Array | null;
  /** What the gradient needs: of the kept ids, and of all. */
  readonly state: {
    readonly kept: Pick<LogprobState, "maxLogits" | "log1pSums">;
    readonly whole: LogprobResult | null;
  };
}

/** The same on a device. */
export interface DeviceKeptLogprobResult extends OnDevice<Pick<KeptLogprobResult, "logProbs" | "entropies">> {
  readonly state: {
    readonly kept: OnDevice<KeptLogprobResult["state"]["kept"]>;
    readonly whole: OnDevice<LogprobResult> | null;
  };
}

export interface KeptLogprobBackwardOptions extends KeptLogprobOptions {
  /** d loss / d logProbs, [rows]. */
  readonly gradLogProbs?: FloatArray;
  /** d loss / d entropies, [rows]. */
  readonly gradEntropies?: FloatArray;
  /** Memory for the gradient, of the logits' kind and length; may be the logits themselves. Default: new. */
  readonly out?: LogitView;
}

/** Options where the logits lie on a device. */
export type DeviceKeptLogprobBackwardOptions = Anywhere<Omit<KeptLogprobBackwardOptions, "out">> & {
  readonly out?: DeviceLogits;
};

/** Lists of kept ids, K in all. */
export interface CheckedLists {
  readonly ids: Int32Array;
  readonly offsets: Int32Array;
  readonly K: number;
}

/** The lists, checked as far as they lie on the host. */
export function needKept(
  op: string,
  kept: KeptIds,
  { N, V, targets, mask }: Pick<CheckedRows, "N" | "V" | "targets" | "mask">,
): CheckedLists {
  const ids = needIds(op, "kept.ids", kept.ids);
  const offsets: unknown = kept.offsets;
  if (!(offsets instanceof Int32Array)) throw dtypeError(op, "kept.offsets", offsets, "an Int32Array");
  needLength(op, "kept.offsets", offsets, N + 1, "one more than rows");
  checkOffsets(op, "kept.offsets", offsets);
  if (offsets[N] !== ids.length) throw rangeError(op, "kept.offsets", offsets[N], `${ids.length}, the ids, at the end`);
  if (![ids, targets, mask].some((array) => DeviceArray.is(array))) {
    const seen = new Int32Array(V).fill(-1);
    for (let b = 0; b < N; ++b)
      for (let k: number = offsets[b]!; k < offsets[b + 1]! && mask?.[b] !== 0; ++k) {
        const id = ids[k]!;
        if (id < 0 || id >= V || seen[id] === b)
          throw rangeError(op, `kept.ids[${k}]`, id, `0..${V - 1} (vocab), once a row`);
        seen[id] = b;
      }
  }
  return { ids, offsets, K: ids.length };
}

function prepare(
  op: string,
  logits: Logits,
  targets: TokenIds,
  kept: KeptIds,
  options: KeptLogprobBackwardOptions,
  state: readonly unknown[] = [],
) {
  const { gradLogProbs, gradEntropies, mask } = options;
  const stream = streamOf(op, options, logits, targets, kept.ids, mask, gradLogProbs, gradEntropies, ...state);
  const { view, ...rows } = needLogitRows(op, logits, targets, options);
  if (rows.K !== 1 || !rows.targets) throw shapeError(op, "targets", targets, "one a row");
  return { args: { ...rows, targets: rows.targets, ...needKept(op, kept, rows) }, view, stream };
}

/** The same on a device. Ids there that are none are reported at the next read. */
export function keptLogprob(
  logits: DeviceLogits,
  targets: TokenIds | DeviceArray<"int32">,
  kept: Anywhere<KeptIds>,
  options?: Anywhere<KeptLogprobOptions>,
): DeviceKeptLogprobResult;
/**
 * Log-probs under the distribution that was sampled from: over the ids that top-k and top-p kept, with the entropy of the whole
 * vocabulary beside them. A ratio of the policy's whole softmax to a sampler's nucleus is biased; this one is not.
 *
 *     logprob = z[target] − ln Σ_{j in kept ∪ {target}} exp z[j]
 *
 * with z as in `logprob`. Ids that were not kept get no gradient from log-probs. Of a row its kept logits alone are read, and once more
 * all for the entropy.
 *
 * @param logits float32, float16 or bfloat16, [rows, vocab]
 * @param targets one id a row
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (an id) or _BUFFER, naming the argument
 */
export function keptLogprob(
  logits: Logits,
  targets: TokenIds,
  kept: KeptIds,
  options?: KeptLogprobOptions,
): KeptLogprobResult;
export function keptLogprob(
  logits: Logits | DeviceLogits,
  targets: TokenIds | DeviceArray<"int32">,
  kept: KeptIds | Anywhere<KeptIds>,
  options: KeptLogprobOptions | Anywhere<KeptLogprobOptions> = {},
): KeptLogprobResult | DeviceKeptLogprobResult {
  return evaluateKept(
    "keptLogprob",
    logits as Logits,
    targets as TokenIds,
    kept as KeptIds,
    options as KeptLogprobOptions,
  );
}

/** As keptLogprob, in the name of the public function `op`. */
export function evaluateKept(
  op: string,
  logits: Logits,
  targets: TokenIds,
  kept: KeptIds,
  options: KeptLogprobOptions,
): KeptLogprobResult {
  const { args, stream } = prepare(op, logits, targets, kept, options);
  const [logProbs, maxLogits, log1pSums] = ["logProbs", "maxLogits", "log1pSums"].map(
    (name) => outputOr(op, name, undefined, "float32", args.N, stream) as Float32Array,
  ) as [Float32Array, Float32Array, Float32Array];
  const { ops } = selectBackend(op, options.backend, stream);
  ops.logprobKeptForward({ ...args, logProbs, maxLogits, log1pSums });
  const whole = (options.entropies ?? true) ? needResult(op, undefined, args.N, 0, stream) : null;
  if (whole) ops.logprobForward({ ...args, targets: null, K: 0, ...whole });
  return { logProbs, entropies: whole && whole.entropies, state: { kept: { maxLogits, log1pSums }, whole } };
}

/** Gradients of entropies need the forward pass to have had them. */
export function needWhole(op: string, forward: string, gradEntropies: unknown, whole: unknown): void {
  if (gradEntropies && !whole)
    throw optionError(op, "gradEntropies", gradEntropies, `nothing, as ${forward} had entropies: false`);
}

/** The same on a device, where logits and state lie. Gradients there are float32. */
export function keptLogprobBackward<D extends LogitDType>(
  logits: DeviceArray<D>,
  targets: TokenIds | DeviceArray<"int32">,
  kept: Anywhere<KeptIds>,
  state: DeviceKeptLogprobResult["state"],
  options: DeviceKeptLogprobBackwardOptions,
): DeviceArray<D>;
/**
 * The gradient of `keptLogprob`: d / d z[j] = a·([j = target] − p_kept[j]) for kept ids, and of the entropy for all.
 *
 * @param state that of the result, from the same logits, targets, ids and options
 * @returns the gradient, of the logits' kind and length: `out` if given
 * @throws SurprisalError as `keptLogprob`
 */
export function keptLogprobBackward<L extends Logits>(
  logits: L,
  targets: TokenIds,
  kept: KeptIds,
  state: KeptLogprobResult["state"],
  options: KeptLogprobBackwardOptions,
): LogitViewOf<L>;
export function keptLogprobBackward(
  logits: Logits | DeviceLogits,
  targets: TokenIds | DeviceArray<"int32">,
  kept: KeptIds | Anywhere<KeptIds>,
  state: KeptLogprobResult["state"] | DeviceKeptLogprobResult["state"],
  options: KeptLogprobBackwardOptions | DeviceKeptLogprobBackwardOptions,
): unknown {
  return differentiateKept(
    "keptLogprobBackward",
    logits as Logits,
    targets as TokenIds,
    kept as KeptIds,
    state as KeptLogprobResult["state"],
    options as KeptLogprobBackwardOptions,
  );
}

/** As keptLogprobBackward, in the name of the public function `op`. */
export function differentiateKept(
  op: string,
  logits: Logits,
  targets: TokenIds,
  kept: KeptIds,
  { kept: sums, whole }: KeptLogprobResult["state"],
  options: KeptLogprobBackwardOptions,
): LogitView {
  const { gradLogProbs, gradEntropies, out } = options;
  const state: unknown[] = [sums.maxLogits, sums.log1pSums, whole?.maxLogits, whole?.log1pSums, whole?.meanGaps];
  const { args, view: given, stream } = prepare(op, logits, targets, kept, options, state);
  if (!gradLogProbs && !gradEntropies)
    throw optionError(op, "gradLogProbs", undefined, "gradLogProbs, gradEntropies or both");
  needWhole(op, "keptLogprob", gradEntropies, whole);
  const { N } = args;
  const { entropies: _, gradLogProbs: __, ignoreIndex: ___, ...all } = options;
  if (!gradLogProbs) return logprobBackward(logits, null, whole!, { ...all, mask: args.mask ?? undefined });
  const floats = (name: string, array: FloatArray) =>
    asFloat32(op, name, needFloats(op, name, array, N, "one a row")) as Float32Array;
  const ofAll = (name: keyof LogprobState) => (gradEntropies ? needRowState(op, name, whole!, N) : null);
  const { view, grad } = needGradient(op, { ...args, view: given }, out, stream);
  const inputs = {
    keptMaxLogits: needRowState(op, "maxLogits", sums, N),
    keptLog1pSums: needRowState(op, "log1pSums", sums, N),
    maxLogits: ofAll("maxLogits"),
    log1pSums: ofAll("log1pSums"),
    meanGaps: ofAll("meanGaps"),
    gradLogProbs: floats("gradLogProbs", gradLogProbs),
    gradEntropies: gradEntropies ? floats("gradEntropies", gradEntropies) : null,
  };
  const { ids, offsets, mask } = args;
  const inPlace = grad.buffer === args.logits.buffer && grad.byteOffset === args.logits.byteOffset;
  const others = { logits: inPlace ? undefined : args.logits, targets: args.targets, ids, offsets, mask };
  refuseOverlap(op, out, { gradient: grad }, { ...inputs, ...others });
  selectBackend(op, options.backend, stream).ops.logprobKeptBackward({ ...args, ...inputs, gradLogits: grad });
  return view;
}

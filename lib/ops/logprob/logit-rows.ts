// What every function over rows of logits takes besides the logits: targets, rows to leave out, the map from logits to z.
import type { LogprobForwardArgs } from "../../backend/contract/logprob";
import type { BackendOption } from "../../backend/select";
import { needIds, optionalMask } from "../../core/arrays";
import { DeviceArray } from "../../core/device-array";
import { optionError, rangeError, SurprisalError } from "../../core/errors";
import { needNumber } from "../../core/option-checks";
import { type CheckedLogits, type LogitLayout, needLogits } from "./logits";

/** How a logit x becomes z, of which the softmax is taken. */
export interface LogitMapOptions {
  /** Divides the logits, once, before everything. > 0. Default 1. */
  readonly temperature?: number;
  /** Factor of the logits (`logit_scale`). > 0. Default 1. */
  readonly scale?: number;
  /** z = softcap·tanh(scale·x / softcap) / temperature. > 0. Default: none. */
  readonly softcap?: number;
}

export interface LogitRowsOptions extends LogitLayout, LogitMapOptions, BackendOption {
  /** One flag a row; a row with 0 is not read: its results are 0, its gradient is exactly 0. Default: all 1. */
  readonly mask?: Uint8Array;
  /** A row whose targets are this id is left out as well; trainers use −100. Default: none. */
  readonly ignoreIndex?: number;
}

/** Rows over a part of the vocabulary. */
export interface ShardOptions {
  /** Id of the first column. Default 0. */
  readonly vocabStart?: number;
  /** Ids of the whole vocabulary. Default: `vocabStart` and the columns here. */
  readonly vocabSize?: number;
}

/** The same as numbers of the native interface. */
export type LogitMapArgs = Pick<LogprobForwardArgs, "temperature" | "scale" | "softcap">;

export interface CheckedRows extends CheckedLogits, LogitMapArgs {
  readonly targets: Int32Array | null;
  readonly mask: Uint8Array | null;
  readonly K: number;
}

// float32 holds these with room for the difference of two logits (native/include/surprisal/logprob.h).
const FACTOR = { min: 1e-30, max: 1e30 } as const;
const POSITIVE = { min: 1e-300, max: 1e300 } as const;

export function needLogitMap(op: string, options: LogitMapOptions): LogitMapArgs {
  const temperature = needNumber(op, "temperature", options.temperature ?? 1, POSITIVE);
  const scale = needNumber(op, "scale", options.scale ?? 1, POSITIVE);
  needNumber(op, "scale / temperature", scale / temperature, FACTOR);
  if (options.softcap === undefined) return { temperature, scale, softcap: 0 };
  const softcap = needNumber(op, "softcap", options.softcap, POSITIVE);
  needNumber(op, "scale / softcap", scale / softcap, FACTOR);
  needNumber(op, "softcap / temperature", softcap / temperature, FACTOR);
  return { temperature, scale, softcap };
}

export function needShard(op: string, V: number, options: ShardOptions): { vocabStart: number; vocabSize: number } {
  const vocabStart = needNumber(op, "vocabStart", options.vocabStart ?? 0, { min: 0, max: 2 ** 31 - 1, integer: true });
  const least = vocabStart + V;
  const vocabSize = needNumber(op, "vocabSize", options.vocabSize ?? least, {
    min: least,
    max: 2 ** 31 - 1,
    integer: true,
  });
  return { vocabStart, vocabSize };
}

function needTargets(op: string, value: unknown, N: number): { targets: Int32Array | null; K: number } {
  if (value == null) return { targets: null, K: 0 };
  const targets = needIds(op, "targets", value);
  const K = N === 0 ? 1 : targets.length / N;
  if (!Number.isInteger(K) || N * K !== targets.length)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${op}: targets has ${targets.length} elements, expected one or K for each of ${N} rows`,
      { op, name: "targets", got: targets.length, want: `one or K for each of ${N} rows` },
    );
  return { targets, K };
}

/** Flags of the rows to read, or null for all: those that the mask keeps and whose targets are not all `ignoreIndex`. */
export function keptRows(
  op: string,
  mask: Uint8Array | null,
  ignoreIndex: unknown,
  targets: Int32Array | null,
  N: number,
  K: number,
): Uint8Array | null {
  if (ignoreIndex === undefined) return mask;
  const id = needNumber(op, "ignoreIndex", ignoreIndex, { min: -(2 ** 31), max: 2 ** 31 - 1, integer: true });
  if (!targets || K === 0) return mask;
  if (DeviceArray.is(targets) || DeviceArray.is(mask))
    throw optionError(
      op,
      "ignoreIndex",
      id,
      "nothing where targets or mask lie on a device",
      "mask, an array of flags, leaves rows out",
    );
  const kept = mask ? Uint8Array.from(mask) : new Uint8Array(N).fill(1);
  for (let n = 0; n < N; ++n) if (targets.subarray(n * K, (n + 1) * K).every((target) => target === id)) kept[n] = 0;
  return kept;
}

export function checkTargets(
  op: string,
  { targets, mask, N, K }: Pick<CheckedRows, "targets" | "mask" | "N" | "K">,
  vocabSize: number,
  hint = "ignoreIndex or a mask leaves rows out",
): void {
  // What lies on a device is left to the kernel, which reports it at the next read.
  if (!targets || DeviceArray.is(targets) || DeviceArray.is(mask)) return;
  for (let n = 0; n < N; ++n) {
    if (mask && mask[n] === 0) continue;
    for (let i = n * K; i < (n + 1) * K; ++i)
      if (targets[i]! < 0 || targets[i]! >= vocabSize)
        throw rangeError(op, `targets[${i}]`, targets[i], `0..${vocabSize - 1} (vocab)`, hint);
  }
}

/** Checks and collects the inputs. `vocabSize` undefined = the columns are the whole vocabulary. */
export function needLogitRows(
  op: string,
  logits: unknown,
  targets: unknown,
  options: LogitRowsOptions,
  shard?: ShardOptions,
): CheckedRows & { readonly vocabStart: number; readonly vocabSize: number } {
  const checked = needLogits(op, logits, options);
  const { N, V } = checked;
  const map = needLogitMap(op, options);
  const ids = needTargets(op, targets, N);
  const given = optionalMask(op, "mask", options.mask, N, "one a row");
  const mask = keptRows(op, given, options.ignoreIndex, ids.targets, N, ids.K);
  const place = needShard(op, V, shard ?? {});
  const { targets: chosen, K } = ids;
  checkTargets(op, { targets: chosen, mask, N, K }, place.vocabSize);
  // Each by name: spreads cost half of a small call.
  return {
    view: checked.view,
    logits: checked.logits,
    dtype: checked.dtype,
    N,
    V,
    stride: checked.stride,
    temperature: map.temperature,
    scale: map.scale,
    softcap: map.softcap,
    targets: chosen,
    K,
    mask,
    vocabStart: place.vocabStart,
    vocabSize: place.vocabSize,
  };
}

// A vocabulary that lies on several workers: each makes states of its columns, and the states merge to what one worker with
// all columns would have got.
import { type LogprobMergeArgs, STATE_IGNORED, STATE_SUMS } from "../../backend/contract/logprob";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { float64Or, needFloat64, refuseOverlap, type TokenIds } from "../../core/arrays";
import type { DeviceArray } from "../../core/device-array";
import { needsHostArrays, takesDeviceArrays } from "../../core/device-ops";
import { typedArrayName } from "../../core/dtype";
import { argumentError, shapeError, SurprisalError } from "../../core/errors";
import type { Anywhere } from "../../core/on-device";
import type { DeviceLogits, Logits } from "./logits";
import { type LogprobResult, needResult } from "./results";
import {
  type LogitMapOptions,
  type LogitRowsOptions,
  needLogitMap,
  needLogitRows,
  type ShardOptions,
} from "./logit-rows";

takesDeviceArrays("logprobPartial");
needsHostArrays("logprobMerge", "the states of shards come from workers, and are joined and checked in host memory");

export interface LogprobPartialOptions extends LogitRowsOptions, ShardOptions {
  /** Memory for the states. Must not overlap the inputs. */
  readonly out?: Float64Array;
}

/** Options where the logits lie on a device. */
export type DeviceLogprobPartialOptions = Anywhere<Omit<LogprobPartialOptions, "out">> & {
  readonly out?: DeviceArray<"float64">;
};

export interface LogprobMergeOptions extends LogitMapOptions, BackendOption {
  /** Rows of every state. */
  readonly rows: number;
  /** Reuse memory for any of the results. Must not overlap the states. */
  readonly out?: Partial<LogprobResult>;
}

/** The same on a device, where the logits lie; read the states to merge them. */
export function logprobPartial(
  logits: DeviceLogits,
  targets: TokenIds | DeviceArray<"int32"> | null | undefined,
  options?: DeviceLogprobPartialOptions,
): DeviceArray<"float64">;
/**
 * States of a shard of the vocabulary: columns vocabStart … vocabStart + vocab − 1.
 *
 * @param logits this shard's columns, [rows, columns]; `shape` is that of the shard
 * @param targets ids of the whole vocabulary, [rows, K]; every shard gets all of them
 * @returns [rows, 4 + K] numbers to send to the others and to give to `logprobMerge`: the maximum, the sums without it, the
 *   raw logits of the targets (∞ for those of other shards)
 * @throws SurprisalError as `logprob`
 */
export function logprobPartial(
  logits: Logits,
  targets: TokenIds | null | undefined,
  options?: LogprobPartialOptions,
): Float64Array;
export function logprobPartial(
  logits: Logits | DeviceLogits,
  targets: TokenIds | DeviceArray<"int32"> | null | undefined,
  anywhere: LogprobPartialOptions | DeviceLogprobPartialOptions = {},
): Float64Array | DeviceArray<"float64"> {
  const options = anywhere as LogprobPartialOptions;
  const op = "logprobPartial";
  const stream = streamOf(op, options, logits, targets, options.mask, options.out);
  const rows = needLogitRows(op, logits, targets, options, options);
  const length = rows.N * (STATE_SUMS + rows.K);
  const state =
    options.out === undefined
      ? float64Or(op, "", undefined, length, stream)
      : needFloat64(op, "out", options.out, length, "rows * (4 + targets a row)");
  refuseOverlap(op, options.out, { states: state }, { logits: rows.logits, targets: rows.targets, mask: rows.mask });
  selectBackend(op, options.backend, stream).ops.logprobPartial({ states: state, ...rows });
  return state;
}

/** All states in one array [shards, rows, 4 + K], as backends take them. */
function joinStates(op: string, states: readonly Float64Array[], rows: number): { joined: Float64Array; K: number } {
  const first: unknown = Array.isArray(states) ? states[0] : undefined;
  if (typedArrayName(first) !== "Float64Array")
    throw argumentError(
      first === undefined ? "ERR_SURPRISAL_SHAPE" : "ERR_SURPRISAL_DTYPE",
      op,
      "states",
      states,
      "a list of Float64Arrays, one a shard",
    );
  const size = (first as Float64Array).length;
  const K = rows === 0 ? 0 : size / rows - STATE_SUMS;
  if (!Number.isInteger(K) || K < 0) throw shapeError(op, "states[0].length", size, `${rows} rows of 4 + K numbers`);
  const length = rows * (STATE_SUMS + K);
  const joined = new Float64Array(states.length * length);
  states.forEach((state, p) => {
    joined.set(needFloat64(op, `states[${p}]`, state, length, "as the first shard"), p * length);
  });
  return { joined, K };
}

/** Every target of a row that is not ignored must be in a shard; rows with NaN or ±∞ have no log-probs to find. */
function checkCovered(op: string, joined: Float64Array, P: number, rows: number, K: number): void {
  const at = (p: number, n: number, i: number) => joined[(p * rows + n) * (STATE_SUMS + K) + i]!;
  for (let n = 0; n < rows; ++n) {
    const shards = Array.from({ length: P }, (_, p) => p);
    if (shards.some((p) => at(p, n, 1) === STATE_IGNORED)) continue;
    const maxima = shards.map((p) => at(p, n, 0));
    if (!Number.isFinite(Math.max(...maxima))) continue;
    for (let k = 0; k < K; ++k)
      if (shards.every((p) => at(p, n, STATE_SUMS + k) === Infinity))
        throw new SurprisalError(
          "ERR_SURPRISAL_RANGE",
          `${op}: target ${k} of row ${n} is in none of the ${P} shards; their columns must cover the vocabulary`,
          { op, name: "states", got: `row ${n}, target ${k}`, want: "a shard that has it" },
        );
  }
}

/**
 * Merges the states of all shards, in the order of their columns, to the result of `logprob` on the whole vocabulary.
 *
 * @param states one array [rows, 4 + K] a shard, from `logprobPartial` with the same targets and options
 * @returns as `logprob`; rows that were left out are 0
 * @throws SurprisalError as `logprob`; ERR_SURPRISAL_RANGE when a target is in no shard
 */
export function logprobMerge(states: readonly Float64Array[], options: LogprobMergeOptions): LogprobResult {
  const op = "logprobMerge";
  const { rows: N } = options;
  if (!Number.isSafeInteger(N) || N < 0) throw shapeError(op, "rows", N, "an integer >= 0");
  const map = needLogitMap(op, options);
  const { joined, K } = joinStates(op, states, N);
  const result = needResult(op, options.out, N, K, null);
  // `joined` is a copy; an output inside a state would still destroy what the caller may merge again.
  refuseOverlap(op, options.out, { ...result }, Object.fromEntries(states.map((state, p) => [`states[${p}]`, state])));
  mergeJoined(op, { ...map, ...result, states: joined, P: states.length, N, K }, options);
  return result;
}

/** Merges checked states [P, N, 4 + K]; refuses targets that are in none. */
export function mergeJoined(op: string, args: LogprobMergeArgs, { backend }: BackendOption): void {
  checkCovered(op, args.states, args.P, args.N, args.K);
  selectBackend(op, backend).ops.logprobMerge(args);
}

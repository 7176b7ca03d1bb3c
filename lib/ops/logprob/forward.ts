// Log-probs of targets and the entropy of every row of logits. docs/ops/logprob.md has formulas and precision.
import type { LogprobForwardArgs } from "../../backend/contract/logprob";
import { runByRows } from "../../backend/run-by-rows";
import { selectBackend } from "../../backend/select";
import { refuseOverlap, type TokenIds } from "../../core/arrays";
import type { AsyncOption } from "../../backend/run-async";
import { streamOf } from "../../backend/streams";
import type { DeviceArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { Anywhere, OnDevice } from "../../core/on-device";
import type { DeviceLogits, Logits } from "./logits";
import { type LogprobResult, needResult } from "./results";
import { type LogitRowsOptions, needLogitRows } from "./logit-rows";

takesDeviceArrays("logprob");

export interface LogprobOptions extends LogitRowsOptions {
  /** Reuse memory for any of the results. Must not overlap the inputs. */
  readonly out?: Partial<LogprobResult>;
}

function prepare(op: string, logits: Logits, targets: TokenIds | null | undefined, options: LogprobOptions) {
  const stream = streamOf(op, options, logits, targets, options.mask);
  const rows = needLogitRows(op, logits, targets, options);
  const result = needResult(op, options.out, rows.N, rows.K, stream);
  const { logits: x, targets: ids, mask } = rows;
  refuseOverlap(op, options.out, result as unknown as Readonly<Record<string, Float32Array>>, {
    logits: x,
    targets: ids,
    mask,
  });
  // Each by name: spreads cost half of a small call.
  const args: LogprobForwardArgs = {
    logits: x,
    targets: ids,
    mask,
    dtype: rows.dtype,
    N: rows.N,
    V: rows.V,
    K: rows.K,
    stride: rows.stride,
    temperature: rows.temperature,
    scale: rows.scale,
    softcap: rows.softcap,
    logProbs: result.logProbs,
    entropies: result.entropies,
    logSumExps: result.logSumExps,
    maxLogits: result.maxLogits,
    log1pSums: result.log1pSums,
    meanGaps: result.meanGaps,
    sumSquares: result.sumSquares,
  };
  return { args, result, stream };
}

/** The same on a device, where the logits lie. Targets there that are no ids are reported at the next read. */
export function logprob(
  logits: DeviceLogits,
  targets: TokenIds | DeviceArray<"int32"> | null | undefined,
  options?: Anywhere<LogprobOptions>,
): OnDevice<LogprobResult>;
/**
 * Log-probs of targets, entropy and the sums behind them, for every row of logits.
 *
 *     z = scale·x / temperature      or      softcap·tanh(scale·x / softcap) / temperature
 *     logprob = z[target] − ln Σ exp z,      entropy = −Σ p ln p,      p = softmax(z)
 *
 * Exact at every confidence: a row of entropy 1e-9 keeps six digits. Logits of −∞ are masked ids; a row without a finite
 * logit, or with NaN or +∞, gives NaN.
 *
 * @param logits float32, float16 or bfloat16, [rows, vocab]
 * @param targets one id a row, or K: [rows, K]; null for none. Ids count up to the vocabulary of `shape`
 * @returns float32 arrays; in nats. Keep the result for `logprobBackward`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (a target) or _BUFFER, naming the argument
 */
export function logprob(logits: Logits, targets: TokenIds | null | undefined, options?: LogprobOptions): LogprobResult;
export function logprob(
  logits: Logits | DeviceLogits,
  targets: TokenIds | DeviceArray<"int32"> | null | undefined,
  anywhere: LogprobOptions | Anywhere<LogprobOptions> = {},
): LogprobResult | OnDevice<LogprobResult> {
  return evaluateLogprob("logprob", logits as Logits, targets as TokenIds, anywhere as LogprobOptions);
}

/** As logprob, in the name of the public function `op`. */
export function evaluateLogprob(
  op: string,
  logits: Logits,
  targets: TokenIds | null | undefined,
  options: LogprobOptions,
): LogprobResult {
  const { args, result, stream } = prepare(op, logits, targets, options);
  selectBackend(op, options.backend, stream).ops.logprobForward(args);
  return result;
}

/**
 * `logprob` off the event loop. The arrays must not be touched until it resolves.
 */
export async function logprobAsync(
  logits: Logits,
  targets: TokenIds | null | undefined,
  options: LogprobOptions & AsyncOption = {},
): Promise<LogprobResult> {
  options.signal?.throwIfAborted();
  const { args, result } = prepare("logprobAsync", logits, targets, options);
  const arrays = { logits: args.logits, targets: args.targets, mask: args.mask, ...result };
  await runByRows("logprobAsync", "logprobForward", args, arrays, options);
  return result;
}

// Log-probs and entropies straight from hidden states, without logits in memory. docs/ops/linear.md has formulas and precision.
import type { LinearForwardArgs } from "../../backend/contract/linear";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { float64Or, outputOr, refuseOverlap, type TokenIds } from "../../core/arrays";
import type { DeviceArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray } from "../../core/dtype";
import type { Anywhere, OnDevice } from "../../core/on-device";
import type { Stream } from "../../core/stream";
import type { Writable } from "../../core/writable";
import { type CheckedHead, type DeviceHeadTensor, type HeadTensor, type LinearHeadOptions, needHead } from "./head";

takesDeviceArrays("linearLogprob");

/** Per row [rows]. The first four are float64 where hidden is, else float32. */
export interface LinearLogprobResult {
  /** ln p(target) in nats. Empty without targets. */
  readonly logProbs: FloatArray;
  /** −Σ p ln p in nats. */
  readonly entropies: FloatArray;
  /** ln Σ exp z. */
  readonly logSumExps: FloatArray;
  /** Σ p², the probability that two samples agree. */
  readonly sumSquares: FloatArray;
  /** The largest raw logit. */
  readonly maxLogits: Float64Array;
  /** logSumExp − M, M being the largest z. */
  readonly log1pSums: Float64Array;
  /** M − Σ p z; entropy = log1pSum + meanGap. */
  readonly meanGaps: Float64Array;
}

/** What the backward pass needs of a forward result. */
export type LinearLogprobState = Pick<LinearLogprobResult, "maxLogits" | "log1pSums" | "meanGaps">;

export interface LinearLogprobOptions extends LinearHeadOptions {
  /** Reuse memory for any of the results. Must not overlap the inputs. */
  readonly out?: Partial<LinearLogprobResult>;
}

/** Options where the hidden states lie on a device. */
export type DeviceLinearLogprobOptions = Anywhere<Omit<LinearLogprobOptions, "bias">> & {
  readonly bias?: HeadTensor | DeviceHeadTensor;
};

export function needResult(
  op: string,
  out: Partial<LinearLogprobResult> | undefined,
  { N, wide, targets }: CheckedHead,
  stream: Stream | null,
): LinearLogprobResult {
  const floats = (name: keyof LinearLogprobResult, length = N): FloatArray =>
    outputOr(op, name, out?.[name], wide, length, stream);
  const exact = (name: "maxLogits" | "log1pSums" | "meanGaps"): Float64Array =>
    float64Or(op, name, out?.[name], N, stream);
  return {
    logProbs: floats("logProbs", targets ? N : 0),
    entropies: floats("entropies"),
    logSumExps: floats("logSumExps"),
    sumSquares: floats("sumSquares"),
    maxLogits: exact("maxLogits"),
    log1pSums: exact("log1pSums"),
    meanGaps: exact("meanGaps"),
  };
}

function prepare(
  op: string,
  hidden: HeadTensor,
  weight: HeadTensor,
  targets: TokenIds | null | undefined,
  options: LinearLogprobOptions,
) {
  const stream = streamOf(op, options, hidden, weight, targets, options.bias, options.mask);
  const head = needHead(op, hidden, weight, targets, options);
  const result = needResult(op, options.out, head, stream);
  const inputs = { hidden: head.hidden, weight: head.weight, bias: head.bias, targets: head.targets, mask: head.mask };
  refuseOverlap(op, options.out, { ...result }, inputs);
  const args = head as Writable<CheckedHead & LinearForwardArgs>;
  args.logProbs = head.targets && result.logProbs;
  args.entropies = result.entropies;
  args.logSumExps = result.logSumExps;
  args.sumSquares = result.sumSquares;
  args.maxLogits = result.maxLogits;
  args.log1pSums = result.log1pSums;
  args.meanGaps = result.meanGaps;
  return { args, result, inputs, stream };
}

/** The same on a device, where the hidden states lie. */
export function linearLogprob(
  hidden: DeviceHeadTensor,
  weight: HeadTensor | DeviceHeadTensor,
  targets: TokenIds | DeviceArray<"int32"> | null | undefined,
  options?: DeviceLinearLogprobOptions,
): OnDevice<LinearLogprobResult>;
/**
 * Log-probs of targets and the entropy of every row of hidden states under a linear head. The logits are never in memory as a
 * whole: what is beside the arguments grows with `chunkRows` and dim, not with rows · vocab.
 *
 *     x = hidden · weightᵀ (+ bias),      logprob and entropy of x as `logprob` has them
 *
 * @param hidden float32, float16, bfloat16 or float64, [rows, dim]
 * @param weight of the same type, [vocab, dim]; with `vocab` in the options the rows beyond it are padding
 * @param targets one id a row; null for none
 * @returns arrays of one number a row, in nats. Keep the result for `linearLogprobBackward`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (a target) or _BUFFER, naming the argument
 */
export function linearLogprob(
  hidden: HeadTensor,
  weight: HeadTensor,
  targets: TokenIds | null | undefined,
  options?: LinearLogprobOptions,
): LinearLogprobResult;
export function linearLogprob(
  hidden: HeadTensor | DeviceHeadTensor,
  weight: HeadTensor | DeviceHeadTensor,
  targets: TokenIds | DeviceArray<"int32"> | null | undefined,
  anywhere: LinearLogprobOptions | DeviceLinearLogprobOptions = {},
): LinearLogprobResult | OnDevice<LinearLogprobResult> {
  const op = "linearLogprob";
  const options = anywhere as LinearLogprobOptions;
  const { args, result, stream } = prepare(
    op,
    hidden as HeadTensor,
    weight as HeadTensor,
    targets as TokenIds,
    options,
  );
  selectBackend(op, options.backend, stream).ops.linearForward(args);
  return result;
}

/**
 * `linearLogprob` off the event loop. The arrays must not be touched until it resolves.
 */
export async function linearLogprobAsync(
  hidden: HeadTensor,
  weight: HeadTensor,
  targets: TokenIds | null | undefined,
  options: LinearLogprobOptions & AsyncOption = {},
): Promise<LinearLogprobResult> {
  const op = "linearLogprobAsync";
  const { args, result, inputs } = prepare(op, hidden, weight, targets, options);
  await runWhole(op, "linearForward", args, { ...inputs, ...result }, options);
  return result;
}

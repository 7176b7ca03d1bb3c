// From gradients of log-probs and entropies to those of hidden states and the head.
import type { LinearBackwardArgs } from "../../backend/contract/linear";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { needFloat64, optionalFloats, outputOr, refuseOverlap, type TokenIds } from "../../core/arrays";
import { takesDeviceArrays } from "../../core/device-ops";
import type { FloatArray, FloatDType } from "../../core/dtype";
import { floatDType } from "../../core/float-arrays";
import { needDevice } from "../../core/device-arguments";
import { DeviceArray } from "../../core/device-array";
import { dtypeError, optionError } from "../../core/errors";
import type { Anywhere, OnDevice } from "../../core/on-device";
import { needWord } from "../../core/option-checks";
import type { Stream } from "../../core/stream";
import { bitsOf, needLike } from "../../core/tensor";
import { needShard, type ShardOptions } from "../logprob/logit-rows";
import type { LinearLogprobState } from "./forward";
import {
  type CheckedHead,
  type DeviceHeadTensor,
  type HeadTensor,
  type HeadView,
  type HeadViewOf,
  type LinearHeadOptions,
  needHead,
} from "./head";

takesDeviceArrays("linearLogprobBackward");

const PARTS = ["hidden", "weight", "bias"] as const;
/** What has a gradient. */
export type LinearPart = (typeof PARTS)[number];

export interface LinearLogprobGradients<View extends HeadView = HeadView> {
  /** dL/d hidden, [rows, dim], of hidden's kind; 0 in rows that are not kept. null where not asked for. */
  readonly gradHidden: View | null;
  /** dL/d weight, the size of weight, float64 where hidden is, else float32; 0 in the padding. null where not asked for. */
  readonly gradWeight: FloatArray | null;
  /** dL/d bias, one a row of weight, of gradWeight's type. null where not asked for. */
  readonly gradBias: FloatArray | null;
}

/** The options of the forward pass again, and what comes back from the loss. At least one gradient is needed. */
export interface LinearLogprobBackwardOptions extends LinearHeadOptions, ShardOptions {
  /** dL/d logprob, [rows]. */
  readonly gradLogProbs?: FloatArray;
  /** dL/d entropy, [rows]. */
  readonly gradEntropies?: FloatArray;
  /** Gradients to compute; each costs a product, weight and bias one together. Default: hidden, weight, and bias if there is one. */
  readonly gradients?: readonly LinearPart[];
  /**
   * true: what is computed for weight and bias is added to `out.gradWeight` and `out.gradBias`, which must be given: micro-batches
   * add up. Default false: they are overwritten.
   */
  readonly accumulate?: boolean;
  /** Reuse memory for any of the results. Must not overlap the inputs. */
  readonly out?: { readonly gradHidden?: HeadView; readonly gradWeight?: FloatArray; readonly gradBias?: FloatArray };
}

/** Options where the hidden states lie on a device. */
export type DeviceLinearLogprobBackwardOptions = Anywhere<Omit<LinearLogprobBackwardOptions, "bias">> & {
  readonly bias?: HeadTensor | DeviceHeadTensor;
};

/** The parts asked for, as a set. */
function neededParts(op: string, parts: readonly LinearPart[] | undefined, bias: boolean): ReadonlySet<LinearPart> {
  if (parts === undefined) return new Set(bias ? PARTS : ["hidden", "weight"]);
  if (!Array.isArray(parts)) throw optionError(op, "gradients", parts, `a list of ${PARTS.join(", ")}`);
  parts.forEach((part, i) => needWord(op, `gradients[${i}]`, part as LinearPart, PARTS));
  if (parts.includes("bias") && !bias)
    throw optionError(op, "gradients", parts, "no bias among them, as none is given");
  return new Set(parts as LinearPart[]);
}

function asWide(op: string, name: string, array: FloatArray | null, wide: FloatDType): FloatArray | null {
  if (!array || floatDType(array) === wide) return array;
  if (DeviceArray.is(array)) needDevice(op, name, array, [wide]); // which it is not
  return wide === "float64" ? Float64Array.from(array) : Float32Array.from(array);
}

export function needGradients(
  op: string,
  head: CheckedHead,
  options: LinearLogprobBackwardOptions,
  stream: Stream | null,
): LinearLogprobGradients {
  const parts = neededParts(op, options.gradients, head.bias !== null);
  const { accumulate = false, out } = options;
  if (typeof accumulate !== "boolean") throw optionError(op, "accumulate", accumulate, "true or false");
  const sum = (name: "gradWeight" | "gradBias", part: LinearPart, length: number): FloatArray | null => {
    if (!parts.has(part)) return null;
    if (accumulate && out?.[name] === undefined)
      throw optionError(op, `out.${name}`, undefined, "the sums to add to", "accumulate is true");
    return outputOr(op, name, out?.[name], head.wide, length, stream);
  };
  return {
    gradHidden: parts.has("hidden") ? needLike(op, "out.gradHidden", out?.gradHidden, head, "hidden", stream) : null,
    gradWeight: sum("gradWeight", "weight", head.padded * head.D),
    gradBias: sum("gradBias", "bias", head.padded),
  };
}

export function needArgs(
  op: string,
  head: CheckedHead,
  state: LinearLogprobState,
  options: LinearLogprobBackwardOptions,
  result: LinearLogprobGradients,
): LinearBackwardArgs {
  const { N, wide } = head;
  const gradLogProbs = asWide(
    op,
    "gradLogProbs",
    optionalFloats(op, "gradLogProbs", options.gradLogProbs, N, "one a row"),
    wide,
  );
  const gradEntropies = asWide(
    op,
    "gradEntropies",
    optionalFloats(op, "gradEntropies", options.gradEntropies, N, "one a row"),
    wide,
  );
  if (!gradLogProbs && !gradEntropies)
    throw optionError(op, "gradLogProbs", undefined, "gradLogProbs, gradEntropies or both");
  if (gradLogProbs && !head.targets) throw dtypeError(op, "targets", null, "the ids that gradLogProbs belong to");
  const given = (name: keyof LinearLogprobState) =>
    needFloat64(op, name, state[name], N, "one a row, as linearLogprob returned it");
  return {
    ...head,
    ...needShard(op, head.V, options),
    maxLogits: given("maxLogits"),
    log1pSums: given("log1pSums"),
    meanGaps: gradEntropies && given("meanGaps"),
    gradLogProbs,
    gradEntropies,
    accumulate: options.accumulate ? 1 : 0,
    gradHidden: result.gradHidden && bitsOf(result.gradHidden),
    gradWeight: result.gradWeight,
    gradBias: result.gradBias,
  };
}

function prepare(
  op: string,
  hidden: HeadTensor,
  weight: HeadTensor,
  targets: TokenIds | null | undefined,
  state: LinearLogprobState,
  options: LinearLogprobBackwardOptions,
): {
  args: LinearBackwardArgs;
  result: LinearLogprobGradients;
  arrays: Readonly<Record<string, ArrayBufferView | null>>;
  stream: Stream | null;
} {
  const { gradLogProbs, gradEntropies, bias, mask } = options;
  const stream = streamOf(
    op,
    options,
    hidden,
    weight,
    targets,
    gradLogProbs,
    gradEntropies,
    bias,
    mask,
    ...Object.values(state),
  );
  const head = needHead(op, hidden, weight, targets, options, options);
  const result = needGradients(op, head, options, stream);
  const args = needArgs(op, head, state, options, result);
  const outputs = { gradHidden: args.gradHidden, gradWeight: args.gradWeight, gradBias: args.gradBias };
  const inputs = {
    hidden: args.hidden,
    weight: args.weight,
    bias: args.bias,
    targets: args.targets,
    mask: args.mask,
    maxLogits: args.maxLogits,
    log1pSums: args.log1pSums,
    meanGaps: args.meanGaps,
    gradLogProbs: args.gradLogProbs,
    gradEntropies: args.gradEntropies,
  };
  refuseOverlap(op, outputs, outputs, inputs);
  return { args, result, arrays: { ...inputs, ...outputs }, stream };
}

/** The same on a device, where hidden states and state lie. */
export function linearLogprobBackward(
  hidden: DeviceHeadTensor,
  weight: HeadTensor | DeviceHeadTensor,
  targets: TokenIds | DeviceArray<"int32"> | null | undefined,
  state: OnDevice<LinearLogprobState>,
  options: DeviceLinearLogprobBackwardOptions,
): OnDevice<LinearLogprobGradients>;
/**
 * Gradients of hidden states and of a linear head, from those of log-probs and entropies.
 *
 *     g = dL/dx as `logprobBackward` has it,      dL/d hidden = g · weight,      dL/d weight = gᵀ · hidden,      dL/d bias = Σ_rows g
 *
 * The logits are formed again, a part at a time, once for hidden and once for weight and bias. The entropy's gradient is
 * part of all of them. Rows that are not kept get 0 and add nothing.
 *
 * For a shard of the vocabulary give its rows of the head, the state of all shards, and `vocabStart`, `vocabSize`; gradHidden
 * is then the part of these ids. `linearLogprobTogether` and its backward pass do so on several workers.
 *
 * @param hidden, weight, targets as in the forward pass, unchanged
 * @param state the result of `linearLogprob` on these, with the same options
 * @returns the gradients asked for: `out`'s memory where given. That of hidden in hidden's type; those of weight and bias in
 *   float32 (float64), since micro-batches add up in them
 * @throws SurprisalError as `linearLogprob`
 */
export function linearLogprobBackward<H extends HeadTensor>(
  hidden: H,
  weight: HeadTensor,
  targets: TokenIds | null | undefined,
  state: LinearLogprobState,
  options: LinearLogprobBackwardOptions,
): LinearLogprobGradients<HeadViewOf<H>>;
export function linearLogprobBackward(
  hidden: HeadTensor | DeviceHeadTensor,
  weight: HeadTensor | DeviceHeadTensor,
  targets: TokenIds | DeviceArray<"int32"> | null | undefined,
  state: LinearLogprobState | OnDevice<LinearLogprobState>,
  anywhere: LinearLogprobBackwardOptions | DeviceLinearLogprobBackwardOptions,
): LinearLogprobGradients | OnDevice<LinearLogprobGradients> {
  const op = "linearLogprobBackward";
  const options = anywhere as LinearLogprobBackwardOptions;
  const { args, result, stream } = prepare(
    op,
    hidden as HeadTensor,
    weight as HeadTensor,
    targets as TokenIds,
    state as LinearLogprobState,
    options,
  );
  selectBackend(op, options.backend, stream).ops.linearBackward(args);
  return result;
}

/**
 * `linearLogprobBackward` off the event loop. The arrays must not be touched until it resolves.
 */
export async function linearLogprobBackwardAsync<H extends HeadTensor>(
  hidden: H,
  weight: HeadTensor,
  targets: TokenIds | null | undefined,
  state: LinearLogprobState,
  options: LinearLogprobBackwardOptions & AsyncOption,
): Promise<LinearLogprobGradients<HeadViewOf<H>>> {
  const op = "linearLogprobBackwardAsync";
  const { args, result, arrays } = prepare(op, hidden, weight, targets, state, options);
  await runWhole(op, "linearBackward", args, arrays, options);
  return result as LinearLogprobGradients<HeadViewOf<H>>;
}

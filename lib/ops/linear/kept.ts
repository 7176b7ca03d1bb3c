// Log-probs of a linear head over the ids that a sampler kept: of every row the head is the rows of weight that its list names.
import type { BackendOps } from "../../backend/backend";
import { selectBackend } from "../../backend/select";
import { outputOr, float64Or, refuseOverlap, type TokenIds } from "../../core/arrays";
import { needsHostArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray, type WideLogitArray } from "../../core/dtype";
import { dtypeError } from "../../core/errors";
import { fromHalfBits, type HalfDType, toHalfBits } from "../../core/half";
import { bitsOf } from "../../core/tensor";
import { type CheckedLists, type KeptIds, needKept, needWhole } from "../logprob/kept";
import {
  linearLogprobBackward,
  type LinearLogprobBackwardOptions,
  type LinearLogprobGradients,
  needArgs,
  needGradients,
} from "./backward";
import { linearLogprob, type LinearLogprobResult, type LinearLogprobState } from "./forward";
import { type CheckedHead, type HeadTensor, type HeadViewOf, type LinearHeadOptions, needHead } from "./head";

const ON_DEVICE = "give it array.read(), or form the logits there and call keptLogprob, which takes DeviceArrays";
needsHostArrays("keptLinearLogprob", "the rows of weight that a list names are gathered in host memory", ON_DEVICE);
needsHostArrays("keptLinearLogprobBackward", "their gradients are spread in host memory", ON_DEVICE);

export interface KeptLinearLogprobOptions extends LinearHeadOptions {
  /** False: no entropies, and no pass over the whole head. Default true. */
  readonly entropies?: boolean;
}

export interface KeptLinearLogprobResult {
  /** z[target] − ln Σ over kept ids of exp z, nats, [rows]; float64 where hidden is, else float32. */
  readonly logProbs: FloatArray;
  /** Of the whole vocabulary, nats, [rows]; null with `entropies: false`. */
  readonly entropies: FloatArray | null;
  /** What the gradients need: the lists, and the sums of the kept ids and of all. */
  readonly state: {
    readonly lists: KeptIds;
    readonly kept: Pick<LinearLogprobState, "maxLogits" | "log1pSums">;
    readonly whole: LinearLogprobResult | null;
  };
}

export type KeptLinearLogprobBackwardOptions = LinearLogprobBackwardOptions & KeptLinearLogprobOptions;

const OWN_FIRST = Int32Array.of(0);

/** Zeros in an array of the same kind. */
function like<A extends WideLogitArray>(array: A, length: number): A {
  return new (array.constructor as new (length: number) => A)(length);
}

/** The head of one row: its kept ids, the target first. */
function headOfRow(head: CheckedHead, lists: CheckedLists, n: number) {
  const { D, hidden, weight, bias, targets } = head;
  const listed = lists.ids.subarray(lists.offsets[n], lists.offsets[n + 1]);
  const own = targets![n]!;
  const ids = Int32Array.of(own, ...listed.filter((id) => id !== own));
  const [weights, biases] = [like(weight, ids.length * D), bias && like(bias, ids.length)];
  ids.forEach((id, k) => {
    weights.set(weight.subarray(id * D, (id + 1) * D), k * D);
    biases?.set(bias!.subarray(id, id + 1), k);
  });
  const size = { N: 1, V: ids.length, padded: ids.length, targets: OWN_FIRST, mask: null };
  return {
    ids,
    args: { ...head, ...size, hidden: hidden.subarray(n * D, (n + 1) * D), weight: weights, bias: biases },
  };
}

function prepare(
  op: string,
  hidden: HeadTensor,
  weight: HeadTensor,
  targets: TokenIds,
  kept: KeptIds,
  options: LinearHeadOptions,
): {
  head: CheckedHead;
  ops: BackendOps;
  eachRow: (visit: (n: number, row: ReturnType<typeof headOfRow>) => void) => void;
} {
  const head = needHead(op, hidden, weight, targets, options);
  if (!head.targets) throw dtypeError(op, "targets", targets, "one id a row");
  const lists = needKept(op, kept, head);
  const { ops } = selectBackend(op, options.backend, null);
  const eachRow = (visit: (n: number, row: ReturnType<typeof headOfRow>) => void): void => {
    for (let n = 0; n < head.N; ++n) if (head.mask?.[n] !== 0) visit(n, headOfRow(head, lists, n));
  };
  return { head, ops, eachRow };
}

/**
 * Log-probs of a linear head over the ids that a sampler kept, as `keptLogprob` of the logits hidden · weightᵀ + bias, with the entropy of
 * the whole vocabulary beside them, as `linearLogprob`.
 *
 * The logits of kept ids alone are formed, a row at a time: the memory beside the results is the kept rows of weight of one row.
 *
 * @param hidden float32, float16, bfloat16 or float64, [rows, dim]
 * @param weight of the same type, [vocab, dim]
 * @param targets one id a row
 * @throws SurprisalError as `linearLogprob` and `keptLogprob`
 */
export function keptLinearLogprob(
  hidden: HeadTensor,
  weight: HeadTensor,
  targets: TokenIds,
  kept: KeptIds,
  options: KeptLinearLogprobOptions = {},
): KeptLinearLogprobResult {
  const op = "keptLinearLogprob";
  const { entropies: wanted = true, ...all } = options;
  const { head, ops, eachRow } = prepare(op, hidden, weight, targets, kept, all);
  const logProbs = outputOr(op, "logProbs", undefined, head.wide, head.N, null);
  const [maxLogits, log1pSums] = [
    float64Or(op, "maxLogits", undefined, head.N, null),
    float64Or(op, "log1pSums", undefined, head.N, null),
  ];
  for (const array of [logProbs, maxLogits, log1pSums]) array.fill(0);
  const none = { entropies: null, logSumExps: null, sumSquares: null, meanGaps: null };
  eachRow((n, { args }) => {
    const of = <A extends FloatArray>(array: A): A => array.subarray(n, n + 1) as A;
    ops.linearForward({
      ...args,
      ...none,
      logProbs: of(logProbs),
      maxLogits: of(maxLogits),
      log1pSums: of(log1pSums),
    });
  });
  const whole = wanted ? linearLogprob(hidden, weight, null, { ...all, mask: head.mask ?? undefined }) : null;
  return {
    logProbs,
    entropies: whole && whole.entropies,
    state: { lists: kept, kept: { maxLogits, log1pSums }, whole },
  };
}

/** to[at + i] += part[i]; half types are rounded once more. */
function addTo(to: WideLogitArray, at: number, part: WideLogitArray, half: HalfDType | undefined): void {
  if (half) {
    const more = fromHalfBits(part, half);
    const sum = fromHalfBits(to.subarray(at, at + part.length), half).map((x, i) => x + more[i]!);
    to.set(toHalfBits(sum, half), at);
  } else for (let i = 0; i < part.length; ++i) to[at + i] = to[at + i]! + part[i]!;
}

/**
 * The gradients of `keptLinearLogprob` to hidden states and the head.
 *
 * @param state that of the result, from the same hidden states, head, targets and options
 * @returns as `linearLogprobBackward`; of half types gradHidden is the sum of two rounded parts where both gradients are given
 * @throws SurprisalError as `keptLinearLogprob`
 */
export function keptLinearLogprobBackward<H extends HeadTensor>(
  hidden: H,
  weight: HeadTensor,
  targets: TokenIds,
  state: KeptLinearLogprobResult["state"],
  options: KeptLinearLogprobBackwardOptions,
): LinearLogprobGradients<HeadViewOf<H>> {
  const op = "keptLinearLogprobBackward";
  const { lists, kept: sums, whole } = state;
  const { gradLogProbs: _, gradEntropies, entropies: __, ...all } = options;
  const { head, ops, eachRow } = prepare(op, hidden, weight, targets, lists, all);
  needWhole(op, "keptLinearLogprob", gradEntropies, whole);
  const result = needGradients(op, head, options, null);
  const meanGaps = whole ? whole.meanGaps : new Float64Array(head.N);
  const { gradLogProbs } = needArgs(op, head, { ...sums, meanGaps }, options, result);
  const { gradHidden, gradWeight, gradBias } = result;
  const outputs = { gradHidden: gradHidden && bitsOf(gradHidden), gradWeight, gradBias };
  refuseOverlap(op, options.out, outputs, {
    ...sums,
    hidden: head.hidden,
    weight: head.weight,
    bias: head.bias,
    gradLogProbs,
  });
  const out = {
    gradHidden: gradHidden ?? undefined,
    gradWeight: gradWeight ?? undefined,
    gradBias: gradBias ?? undefined,
  };
  if (gradEntropies)
    linearLogprobBackward(hidden, weight, null, whole!, { ...all, mask: head.mask ?? undefined, gradEntropies, out });
  else
    for (const [name, array] of Object.entries(outputs)) if (name === "gradHidden" || !all.accumulate) array?.fill(0);
  if (!gradLogProbs) return result as LinearLogprobGradients<HeadViewOf<H>>;
  const half = (["float16", "bfloat16"] as const).find((name) => DTYPE_CODE[name] === head.dtype);
  const { D } = head;
  eachRow((n, { ids, args }) => {
    const part = {
      gradHidden: outputs.gradHidden && like(outputs.gradHidden, D),
      gradWeight: gradWeight && like(gradWeight, ids.length * D),
      gradBias: gradBias && like(gradBias, ids.length),
    };
    ops.linearBackward({
      ...args,
      ...part,
      maxLogits: sums.maxLogits.subarray(n, n + 1),
      log1pSums: sums.log1pSums.subarray(n, n + 1),
      meanGaps: null,
      gradLogProbs: gradLogProbs.subarray(n, n + 1),
      gradEntropies: null,
      vocabStart: 0,
      vocabSize: ids.length,
      accumulate: 0,
    });
    if (part.gradHidden) addTo(outputs.gradHidden!, n * D, part.gradHidden, half);
    ids.forEach((id, k) => {
      if (part.gradWeight) addTo(gradWeight!, id * D, part.gradWeight.subarray(k * D, (k + 1) * D), undefined);
      if (part.gradBias) gradBias![id]! += part.gradBias[k]!;
    });
  });
  return result as LinearLogprobGradients<HeadViewOf<H>>;
}

// Rollouts as tensors, for safetensors and npz: what is numbers lies one rollout after the other; the rest is JSON.
//
//   offsets int32 [B+1]         rollout b has the tokens offsets[b] … offsets[b+1]
//   token_ids int32 [n], mask uint8 [n], sampler_logprobs … float64 [n]
//   prompt_offsets int32 [B+1], prompt_ids int32 [..]
//   reward, advantage float64 [B]
//   topk_offsets int32 [n+1], topk_logprobs float64 [..], topk_ids int32 [..]
//   rollouts uint8 [..]         JSON Lines: {"rollout": the other fields, "fields": which of the above this one has}
import { valueError } from "../core/errors";
import { joinRows, offsetsOf } from "../core/packed-rows";
import { JSON_NAMES, PER_TOKEN, type Rollout, TOKEN_FIELDS, tokenCount, type TopK, wrongLength } from "./record";
import { refusalOf } from "./rollout-columns";
import { rolloutText } from "./record-json";
import type { FileTensor } from "./tensor-types";

/** Fields with a number per token that a tensor holds. */
export const TENSOR_TOKEN_FIELDS = ["tokenIds", "mask", ...TOKEN_FIELDS] as const;
/** Fields with a number per rollout. */
export const PER_ROLLOUT = ["reward", "advantage"] as const;

const INT32_MAX = 2 ** 31 - 1;

/** Running sums of lengths, from 0; refuses what one file cannot number. */
function needOffsets(op: string, name: string, lengths: readonly number[]): Int32Array {
  const sum = lengths.reduce((total, length) => total + length, 0);
  if (sum > INT32_MAX) throw valueError(op, name, sum, `at most ${INT32_MAX} in one file`, "write several files");
  return offsetsOf(lengths);
}

const vector = (dtype: FileTensor["dtype"], data: FileTensor["data"]): FileTensor => ({
  dtype,
  shape: [data.length],
  data,
});

function topKTensors(op: string, rollouts: readonly Rollout[], offsets: Int32Array): Record<string, FileTensor> {
  const all = rollouts.map(({ topK }) => topK);
  if (all.every((topK) => topK === undefined)) return {};
  const lengths = all.flatMap((topK, b) =>
    Array.from({ length: offsets[b + 1]! - offsets[b]! }, (_, t) =>
      topK ? topK.offsets[t + 1]! - topK.offsets[t]! : 0,
    ),
  );
  const starts = needOffsets(op, "the number of alternatives", lengths);
  // Where each rollout's alternatives begin.
  const begins = offsets.map((token) => starts[token]!);
  const count = starts.at(-1)!;
  const tensors: Record<string, FileTensor> = {
    topk_offsets: vector("int32", starts),
    topk_logprobs: vector(
      "float64",
      joinRows(
        all.map((topK) => topK?.logProbs),
        begins,
        new Float64Array(count),
        NaN,
      ),
    ),
  };
  const ids = all.map((topK) => topK?.ids);
  if (ids.some((own) => own)) tensors["topk_ids"] = vector("int32", joinRows(ids, begins, new Int32Array(count), 0));
  return tensors;
}

/** What no tensor holds, as a line of JSON. */
function restText(op: string, rollout: Rollout, index: number): string {
  const { topK, promptIds, ...others } = rollout;
  const rest: Record<string, unknown> = others;
  const fields: string[] = [];
  for (const name of [...TENSOR_TOKEN_FIELDS, ...PER_ROLLOUT]) {
    if (rollout[name] === undefined) continue;
    fields.push(JSON_NAMES[name]);
    Reflect.deleteProperty(rest, name);
  }
  if (promptIds) fields.push("prompt_ids");
  if (topK) fields.push("topk");
  if (topK?.ids) fields.push("topk_ids");
  const tokens = topK?.tokens ? `,"topk_tokens":${JSON.stringify(topK.tokens)}` : "";
  return `{"rollout":${rolloutText(op, rest, index)},"fields":${JSON.stringify(fields)}${tokens}}\n`;
}

/** Refuses arrays that do not fit each other: they would shift everything behind them. */
function needLengths(op: string, rollout: Rollout, index: number): number {
  const T = tokenCount(rollout) ?? 0;
  const refuse = (field: string, length: number): never => {
    throw refusalOf(op)({ row: index, field, what: `has ${length} entries, expected ${T}, one per token` });
  };
  const wrong = wrongLength(rollout, PER_TOKEN, T);
  if (wrong) refuse(wrong.field, wrong.length);
  const { topK } = rollout;
  if (!topK) return T;
  if (topK.offsets.length - 1 !== T) refuse("topK.offsets", topK.offsets.length - 1);
  const count = topK.offsets[T]!;
  for (const name of ["logProbs", "ids", "tokens"] as const)
    if (topK[name] && topK[name].length !== count) refuse(`topK.${name}`, topK[name].length);
  return T;
}

/** All rollouts as tensors. */
export function tensorsOf(op: string, rollouts: readonly Rollout[]): Record<string, FileTensor> {
  const lengths = rollouts.map((rollout, i) => needLengths(op, rollout, i));
  const offsets = needOffsets(op, "the number of tokens", lengths);
  const n = offsets.at(-1)!;
  const tensors: Record<string, FileTensor> = { offsets: vector("int32", offsets) };
  for (const name of TENSOR_TOKEN_FIELDS) {
    const arrays = rollouts.map((rollout) => rollout[name]);
    if (arrays.every((array) => array === undefined)) continue;
    if (name === "tokenIds")
      tensors[JSON_NAMES[name]] = vector("int32", joinRows(arrays, offsets, new Int32Array(n), 0));
    else if (name === "mask")
      tensors[JSON_NAMES[name]] = vector("uint8", joinRows(arrays, offsets, new Uint8Array(n), 1));
    else tensors[JSON_NAMES[name]] = vector("float64", joinRows(arrays, offsets, new Float64Array(n), NaN));
  }
  for (const name of PER_ROLLOUT)
    if (rollouts.some((rollout) => rollout[name] !== undefined))
      tensors[JSON_NAMES[name]] = vector(
        "float64",
        Float64Array.from(rollouts, (rollout) => rollout[name] ?? NaN),
      );
  if (rollouts.some(({ promptIds }) => promptIds)) {
    const prompts = needOffsets(
      op,
      "the number of prompt tokens",
      rollouts.map(({ promptIds }) => promptIds?.length ?? 0),
    );
    tensors["prompt_offsets"] = vector("int32", prompts);
    tensors["prompt_ids"] = vector(
      "int32",
      joinRows(
        rollouts.map(({ promptIds }) => promptIds),
        prompts,
        new Int32Array(prompts.at(-1)!),
        0,
      ),
    );
  }
  Object.assign(tensors, topKTensors(op, rollouts, offsets));
  const text = rollouts.map((rollout, i) => restText(op, rollout, i)).join("");
  return { ...tensors, rollouts: vector("uint8", Uint8Array.from(Buffer.from(text, "utf8"))) };
}

/** The alternatives of the tokens begin … end of a file's arrays. */
export function topKSlice(
  offsets: Int32Array,
  logProbs: Float64Array,
  ids: Int32Array | undefined,
  tokens: readonly string[] | undefined,
  begin: number,
  end: number,
): TopK {
  const from = offsets[begin]!;
  const to = offsets[end]!;
  return {
    offsets: offsets.slice(begin, end + 1).map((offset) => offset - from),
    logProbs: logProbs.slice(from, to),
    ids: ids && ids.slice(from, to),
    tokens,
  };
}

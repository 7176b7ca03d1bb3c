// Rollouts from tensors: those that columns.ts makes, and plain ones, packed with offsets or padded [B,T].
import { fromHalfBits } from "../core/half";
import { PER_ROLLOUT, TENSOR_TOKEN_FIELDS, topKSlice } from "./tensors-of-rollouts";
import { readOwnFields } from "./dialects/surprisal";
import { idsOf, isObject, type JsonObject, stringsOf } from "./fields";
import { parseJson } from "./json-text";
import { malformed, type Place, unreadable } from "./place";
import { JSON_NAMES, type Rollout, TOKEN_FIELDS } from "./record";
import type { FileTensor } from "./tensor-types";

type Tensors = Readonly<Record<string, FileTensor>>;
type PerTokenName = (typeof TENSOR_TOKEN_FIELDS)[number];

function floatsOf(at: Place, name: string, { dtype, data }: FileTensor): Float64Array {
  if (dtype === "float64") return data as Float64Array;
  if (dtype === "float32") return Float64Array.from(data as Float32Array);
  if (dtype === "float16" || dtype === "bfloat16") return Float64Array.from(fromHalfBits(data as Uint16Array, dtype));
  throw malformed(at, `${name}.dtype`, dtype, "float64, float32, float16 or bfloat16");
}

function integersOf(at: Place, name: string, { dtype, data }: FileTensor): Int32Array {
  if (/^(?:u?int\d+|bool)$/.test(dtype)) return idsOf(at, name, data);
  throw malformed(at, `${name}.dtype`, dtype, "a type of integers");
}

/** 0 and 1, whatever type says it. */
function flagsOf(at: Place, name: string, { data }: FileTensor): Uint8Array {
  return Uint8Array.from({ length: data.length }, (_, i) => {
    const flag = Number(data[i]);
    if (flag !== 0 && flag !== 1) throw malformed(at, `${name}[${i}]`, data[i], "0 or 1");
    return flag;
  });
}

function fieldOf(at: Place, name: PerTokenName, tensor: FileTensor): Int32Array | Uint8Array | Float64Array {
  const jsonName = JSON_NAMES[name];
  if (name === "tokenIds") return integersOf(at, jsonName, tensor);
  return name === "mask" ? flagsOf(at, jsonName, tensor) : floatsOf(at, jsonName, tensor);
}

/** Integers from 0 to `end`, never down. */
function needOffsets(at: Place, name: string, tensor: FileTensor, end: number): Int32Array {
  const offsets = integersOf(at, name, tensor);
  const broken = offsets.findIndex((offset, i) => (i === 0 ? offset !== 0 : offset < offsets[i - 1]!));
  if (offsets.length === 0 || broken >= 0 || offsets.at(-1) !== end)
    throw malformed(at, name, Array.from(offsets.slice(0, 4)), `offsets that go up from 0 to ${end}`);
  return offsets;
}

/** Where the tokens of each rollout lie in the per-token arrays. */
interface Layout {
  readonly begin: (row: number) => number;
  readonly end: (row: number) => number;
  readonly B: number;
  /** Entries of a per-token array. */
  readonly n: number;
}

const TOKEN_NAMES = new Map<string, PerTokenName>(TENSOR_TOKEN_FIELDS.map((name) => [JSON_NAMES[name], name]));

function layoutOf(at: Place, tensors: Tensors): Layout {
  const given = Object.entries(tensors).filter(([name]) => TOKEN_NAMES.has(name));
  const first = given[0];
  const n = first?.[1].data.length ?? 0;
  const odd = given.find(([, { shape }]) => shape.join() !== first![1].shape.join());
  if (odd)
    throw malformed(
      at,
      `${odd[0]}.shape`,
      [...odd[1].shape],
      `[${first![1].shape.join(", ")}], as that of ${first![0]}`,
    );
  const { offsets, lengths } = tensors;
  if (offsets) {
    // Rollouts that have no arrays at all still have lengths.
    const end = first ? n : Number(offsets.data.at(-1) ?? 0);
    const checked = needOffsets(at, "offsets", offsets, end);
    return { begin: (row) => checked[row]!, end: (row) => checked[row + 1]!, B: checked.length - 1, n: end };
  }
  const [B, T, ...more] = first?.[1].shape ?? [];
  if (B === undefined || T === undefined || more.length > 0)
    throw unreadable(
      at,
      "has neither a tensor named offsets nor a padded one [rows, tokens] of a name of the record (token_ids, sampler_logprobs, …)",
    );
  const kept = lengths && integersOf(at, "lengths", lengths);
  if (kept && (kept.length !== B || kept.some((length) => length < 0 || length > T)))
    throw malformed(at, "lengths", Array.from(kept.slice(0, 4)), `${B} integers in [0, ${T}]`);
  return { begin: (row) => row * T, end: (row) => row * T + (kept ? kept[row]! : T), B, n: B * T };
}

/** What columns.ts keeps as JSON, a line a rollout. */
interface Rest {
  readonly rollout: JsonObject;
  readonly has: (field: string) => boolean;
  readonly topKTokens: readonly string[] | undefined;
}

function restsOf(at: Place, { data }: FileTensor, B: number): Rest[] {
  const lines = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("utf8").split("\n").slice(0, -1);
  if (lines.length !== B) throw malformed(at, "rollouts", lines.length, `${B} lines, one per rollout`);
  return lines.map((line, i) => {
    const here = `rollouts[${i}]`;
    let value: unknown;
    try {
      value = parseJson(line);
    } catch (error) {
      throw unreadable(at, `${here} is no JSON (${(error as Error).message})`, error);
    }
    if (!isObject(value) || !isObject(value["rollout"]))
      throw malformed(at, here, value, "an object with rollout and fields");
    const fields = stringsOf(at, `${here}.fields`, value["fields"]);
    const tokens: unknown = value["topk_tokens"];
    return {
      rollout: value["rollout"],
      has: (field) => fields.includes(field),
      topKTokens: tokens === undefined ? undefined : stringsOf(at, `${here}.topk_tokens`, tokens),
    };
  });
}

/** Numbers per rollout. */
function perRow<T extends ArrayLike<unknown>>(
  at: Place,
  name: string,
  tensor: FileTensor | undefined,
  B: number,
  read: (at: Place, name: string, tensor: FileTensor) => T,
): T | undefined {
  if (!tensor) return undefined;
  const values = read(at, name, tensor);
  if (values.length !== B) throw malformed(at, `${name}.length`, values.length, `${B}, one per rollout`);
  return values;
}

/** The rollouts that tensors hold, one after the other. `place` gives the place of a row. */
export function* rolloutsOfTensors(tensors: Tensors, place: (row: number) => Place): Generator<Rollout> {
  const at = place(0);
  const layout = layoutOf(at, tensors);
  const { B, n } = layout;
  const rests = tensors["rollouts"] && restsOf(at, tensors["rollouts"], B);
  const tokenFields = [...TOKEN_NAMES].flatMap(([jsonName, name]) =>
    tensors[jsonName] ? [{ jsonName, name, array: fieldOf(at, name, tensors[jsonName]) }] : [],
  );
  const rowFields = PER_ROLLOUT.flatMap((name) => {
    // Plain files also say it in the plural; "advantages" are per token.
    const array = perRow(
      at,
      name,
      tensors[name] ?? (name === "reward" && !rests ? tensors["rewards"] : undefined),
      B,
      floatsOf,
    );
    return array ? [{ name, array }] : [];
  });
  const groups = perRow(at, "group", tensors["group"] ?? tensors["groups"], B, integersOf);
  const {
    prompt_ids: promptTensor,
    prompt_offsets: promptOffsets,
    topk_offsets: topKOffsets,
    topk_logprobs: topKLogProbs,
    topk_ids: topKIds,
  } = tensors;
  const prompts = promptTensor &&
    promptOffsets && {
      ids: integersOf(at, "prompt_ids", promptTensor),
      offsets: needOffsets(at, "prompt_offsets", promptOffsets, promptTensor.data.length),
    };
  if (prompts && prompts.offsets.length !== B + 1)
    throw malformed(at, "prompt_offsets.length", prompts.offsets.length, `${B + 1}`);
  const topK = topKOffsets &&
    topKLogProbs && {
      offsets: needOffsets(at, "topk_offsets", topKOffsets, topKLogProbs.data.length),
      logProbs: floatsOf(at, "topk_logprobs", topKLogProbs),
      ids: topKIds && integersOf(at, "topk_ids", topKIds),
    };
  if (topK && (topK.offsets.length !== n + 1 || (topK.ids && topK.ids.length !== topK.logProbs.length)))
    throw malformed(at, "topk_offsets.length", topK.offsets.length, `${n + 1}, and as many topk_ids as topk_logprobs`);

  for (let b = 0; b < B; ++b) {
    const rest = rests?.[b];
    const has = rest?.has ?? ((): boolean => true);
    const begin = layout.begin(b);
    const end = layout.end(b);
    const own: Record<string, unknown> = {};
    for (const { jsonName, name, array } of tokenFields) if (has(jsonName)) own[name] = array.slice(begin, end);
    for (const { name, array } of rowFields) if (has(name)) own[name] = array[b];
    if (groups) own["group"] = groups[b];
    if (prompts && has("prompt_ids")) own["promptIds"] = prompts.ids.slice(prompts.offsets[b], prompts.offsets[b + 1]);
    if (topK && has("topk")) {
      const count = topK.offsets[end]! - topK.offsets[begin]!;
      if (rest?.topKTokens && rest.topKTokens.length !== count)
        throw malformed(at, `rollouts[${b}].topk_tokens.length`, rest.topKTokens.length, `${count}`);
      own["topK"] = topKSlice(
        topK.offsets,
        topK.logProbs,
        has("topk_ids") ? topK.ids : undefined,
        rest?.topKTokens,
        begin,
        end,
      );
    }
    const fields = rest ? readOwnFields(place(b + 1), rest.rollout) : {};
    yield { ...fields, ...own };
  }
}

/** The names that a rollout is read from: the others, such as logits, are left where they are. */
export const ROLLOUT_TENSORS: readonly string[] = [
  "offsets",
  "lengths",
  "group",
  "groups",
  "rollouts",
  "prompt_ids",
  "prompt_offsets",
  "topk_offsets",
  "topk_logprobs",
  "topk_ids",
  ...PER_ROLLOUT,
  "rewards",
  "token_ids",
  "mask",
  ...TOKEN_FIELDS.map((name) => JSON_NAMES[name]),
];

// Our own records: schema/rollout.schema.json.
import {
  countOf,
  type JsonObject,
  idsOf,
  listOf,
  numberOf,
  numbersOf,
  objectOf,
  optional,
  present,
  restOf,
  sameLength,
  stringOf,
  stringsOf,
} from "../fields";
import { parseJson } from "../json-text";
import { malformed, type Place } from "../place";
import { JSON_NAMES, type Rollout, TOKEN_FIELDS, tokenCount, type TopK } from "../record";
import type { DialectReader } from "./dialect";

const KNOWN: readonly string[] = [...Object.values(JSON_NAMES), "topk_logprobs", "topk_ids", "topk_tokens"];

/** Fields that no other dialect has in this form. */
const TELLING = [
  "token_ids",
  "tokens",
  "sampler_logprobs",
  "text",
  "reward",
  "rewards",
  "group",
  "advantages",
  "mask",
  "entropies",
];

function groupOf(at: Place, field: string, value: unknown): string | number {
  if (typeof value === "string" || (typeof value === "number" && Number.isFinite(value))) return value;
  if (typeof value === "bigint" && Number.isSafeInteger(Number(value))) return Number(value);
  throw malformed(at, field, value, "a string or a number");
}

function maskOf(at: Place, field: string, value: unknown): Uint8Array {
  const list = listOf(at, field, value);
  const mask = new Uint8Array(list.length);
  for (let i = 0; i < mask.length; ++i) {
    const item = list[i];
    if (item !== 0 && item !== 1 && item !== true && item !== false)
      throw malformed(at, `${field}[${i}]`, item, "0 or 1");
    mask[i] = Number(item);
  }
  return mask;
}

function rewardsOf(at: Place, field: string, value: unknown): Record<string, number> {
  const entries = Object.entries(objectOf(at, field, value));
  return Object.fromEntries(entries.map(([name, item]) => [name, numberOf(at, `${field}.${name}`, item)]));
}

/** Arrays of arrays, one after the other; every inner length is that of `offsets`, which the first call fills. */
function flatten<T>(
  at: Place,
  field: string,
  value: unknown,
  offsets: Int32Array,
  inner: (field: string, value: unknown) => ArrayLike<T>,
): T[] {
  const outer = listOf(at, field, value);
  sameLength(at, field, outer.length, offsets.length - 1, "topk.logprobs");
  const flat: T[] = [];
  for (let t = 0; t < outer.length; ++t) {
    const list = inner(`${field}[${t}]`, outer[t]);
    sameLength(at, `${field}[${t}]`, list.length, offsets[t + 1]! - offsets[t]!, `topk.logprobs[${t}]`);
    for (let i = 0; i < list.length; ++i) flat.push(list[i]!);
  }
  return flat;
}

const TOP_K_COLUMNS = ["logprobs", "ids", "tokens"];

/** A row of a table as a record: topk in three columns, rewards and meta as JSON text. */
function ofColumns(at: Place, record: JsonObject): JsonObject {
  const objects = ["rewards", "meta"].flatMap((field) => {
    const text = record[field];
    if (typeof text !== "string") return [];
    try {
      return [[field, parseJson(text)] as const];
    } catch {
      throw malformed(at, field, text, "an object");
    }
  });
  const result: Record<string, unknown> = { ...record, ...Object.fromEntries(objects) };
  if (record["topk_logprobs"] != null)
    result["topk"] = Object.fromEntries(TOP_K_COLUMNS.map((name) => [name, record[`topk_${name}`]]));
  return result;
}

function topKOfRecord(at: Place, field: string, value: unknown): TopK {
  const record = objectOf(at, field, value);
  const lists = listOf(at, `${field}.logprobs`, record["logprobs"]);
  const offsets = new Int32Array(lists.length + 1);
  for (let t = 0; t < lists.length; ++t)
    offsets[t + 1] = offsets[t]! + listOf(at, `${field}.logprobs[${t}]`, lists[t]).length;
  const logProbs = Float64Array.from(
    flatten(at, `${field}.logprobs`, lists, offsets, (name, list) => numbersOf(at, name, list)),
  );
  const ids = optional(at, record, "ids", (_, name, list) =>
    flatten(at, `${field}.${name}`, list, offsets, (n, v) => idsOf(at, n, v)),
  );
  const tokens = optional(at, record, "tokens", (_, name, list) =>
    flatten(at, `${field}.${name}`, list, offsets, (n, v) => stringsOf(at, n, v)),
  );
  return { offsets, logProbs, ids: ids && Int32Array.from(ids), tokens };
}

/** Refuses arrays of different lengths. */
function checkLengths(at: Place, rollout: Rollout): void {
  const T = tokenCount(rollout);
  if (T === undefined) return;
  const { tokenIds, tokens, mask, topK } = rollout;
  const arrays = {
    tokenIds,
    tokens,
    mask,
    ...Object.fromEntries(TOKEN_FIELDS.map((field) => [field, rollout[field]])),
  };
  const first = Object.entries(arrays).find(([, array]) => array !== undefined)?.[0] ?? "topK";
  for (const [field, array] of Object.entries(arrays))
    sameLength(at, JSON_NAMES[field as keyof Rollout], array?.length, T, JSON_NAMES[first as keyof Rollout]);
  sameLength(at, "topk.logprobs", topK && topK.offsets.length - 1, T, JSON_NAMES[first as keyof Rollout]);
}

/** The fields of our own spelling, without those that are not ours. */
export function readOwnFields(at: Place, record: JsonObject): Rollout {
  const field = <T>(name: keyof Rollout, read: (at: Place, field: string, value: unknown) => T): T | undefined =>
    optional(at, record, JSON_NAMES[name], read);
  const numbers = (name: keyof Rollout): Float64Array | undefined => field(name, numbersOf);
  const rollout = present<Rollout>({
    group: field("group", groupOf),
    id: field("id", stringOf),
    step: field("step", countOf),
    prompt: field("prompt", stringOf),
    text: field("text", stringOf),
    promptIds: field("promptIds", idsOf),
    tokenIds: field("tokenIds", idsOf),
    tokens: field("tokens", stringsOf),
    samplerLogProbs: numbers("samplerLogProbs"),
    recomputedLogProbs: numbers("recomputedLogProbs"),
    oldLogProbs: numbers("oldLogProbs"),
    referenceLogProbs: numbers("referenceLogProbs"),
    entropies: numbers("entropies"),
    topK: field("topK", topKOfRecord),
    values: numbers("values"),
    mask: field("mask", maskOf),
    reward: field("reward", numberOf),
    rewards: field("rewards", rewardsOf),
    tokenRewards: numbers("tokenRewards"),
    advantage: field("advantage", numberOf),
    advantages: numbers("advantages"),
    finishReason: field("finishReason", stringOf),
    meta: field("meta", objectOf),
  });
  checkLengths(at, rollout);
  return rollout;
}

export const surprisal: DialectReader = {
  name: "surprisal",
  matches: (record) => TELLING.some((field) => Object.hasOwn(record, field)),
  read(at, record) {
    const rollout = readOwnFields(at, ofColumns(at, record));
    const rest = restOf(record, KNOWN);
    if (!rest) return [rollout];
    for (const name of Object.keys(rest)) at.warn("note", name, "is not a field of the record; it is kept in meta");
    return [{ ...rollout, meta: { ...rollout.meta, ...rest } }];
  },
};

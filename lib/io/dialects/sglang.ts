// SGLang's native answer: text, output_ids, and in meta_info log-probs as [logprob, id, text | null].
import {
  countOf,
  idOf,
  idsOf,
  isObject,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  optional,
  present,
  restOf,
  sameLength,
  stringOf,
} from "../fields";
import { malformed, type Place } from "../place";
import type { Rollout } from "../record";
import type { DialectReader } from "./dialect";
import { promptGroup } from "./prompt-group";
import { type Alternative, topKOf } from "./top-k";

const KNOWN_INFO = [
  "id",
  "finish_reason",
  "output_token_logprobs",
  "output_top_logprobs",
  "input_token_logprobs",
  "input_top_logprobs",
];

/** [logprob, id, text | null]; the log-prob of the first token of a prompt is null. */
function tripleOf(at: Place, field: string, value: unknown): Alternative {
  const triple = listOf(at, field, value);
  const id = idOf(at, `${field}[1]`, triple[1]);
  const token = triple[2] == null ? undefined : stringOf(at, `${field}[2]`, triple[2]);
  return { logProb: triple[0] === null ? NaN : numberOf(at, `${field}[0]`, triple[0]), id, token };
}

function triplesOf(at: Place, field: string, value: unknown): Alternative[] {
  const list = listOf(at, field, value);
  return Array.from({ length: list.length }, (_, t) => tripleOf(at, `${field}[${t}]`, list[t]));
}

/** The name of a finish reason: a string, or {"type": "stop", …}. */
function finishReasonOf(at: Place, field: string, value: unknown): string {
  return isObject(value) ? stringOf(at, `${field}.type`, value["type"]) : stringOf(at, field, value);
}

/** Ids of the prompt, where the answer has all of them. */
function promptIdsOf(at: Place, info: JsonObject): Int32Array | undefined {
  const triples = optional(at, info, "input_token_logprobs", triplesOf);
  const count = optional(at, info, "prompt_tokens", countOf);
  return triples !== undefined && triples.length > 0 && triples.length === count
    ? Int32Array.from(triples, ({ id }) => id!)
    : undefined;
}

function read(at: Place, record: JsonObject): Rollout[] {
  const info = objectOf(at, "meta_info", record["meta_info"]);
  const triples = optional(at, info, "output_token_logprobs", (_, field, value) =>
    triplesOf(at, `meta_info.${field}`, value),
  );
  const outputIds = optional(at, record, "output_ids", idsOf);
  sameLength(
    at,
    "meta_info.output_token_logprobs",
    triples?.length,
    outputIds?.length ?? triples?.length ?? 0,
    "output_ids",
  );
  triples?.forEach(({ id }, t) => {
    if (outputIds && outputIds[t] !== id)
      throw malformed(at, `meta_info.output_token_logprobs[${t}][1]`, id, `${outputIds[t]}, as output_ids says`);
  });
  const tokenIds = outputIds ?? (triples && Int32Array.from(triples, ({ id }) => id!));
  const lists = optional(at, info, "output_top_logprobs", (_, field, value) => {
    const name = `meta_info.${field}`;
    const rows = listOf(at, name, value);
    sameLength(at, name, rows.length, tokenIds?.length ?? rows.length, "output_ids");
    return Array.from({ length: rows.length }, (_, t) =>
      rows[t] == null ? [] : triplesOf(at, `${name}[${t}]`, rows[t]),
    );
  });
  if (!tokenIds)
    at.warn("no-token-ids", "output_ids", "the answer has no ids and no log-probs (ask with return_logprob)");
  const promptIds = promptIdsOf(at, info);
  const tokens = triples?.every(({ token }) => token !== undefined) ? triples.map(({ token }) => token!) : undefined;
  const meta = { ...restOf(record, ["text", "output_ids", "meta_info"]), ...restOf(info, KNOWN_INFO) };
  return [
    present<Rollout>({
      group: promptIds && promptGroup(promptIds),
      id: optional(at, info, "id", stringOf),
      text: optional(at, record, "text", stringOf),
      promptIds,
      tokenIds,
      tokens: tokens && tokens.length > 0 ? tokens : undefined,
      samplerLogProbs: triples && Float64Array.from(triples, ({ logProb }) => logProb),
      topK: lists && topKOf(lists),
      finishReason: optional(at, info, "finish_reason", finishReasonOf),
      meta: Object.keys(meta).length > 0 ? meta : undefined,
    }),
  ];
}

export const sglang: DialectReader = { name: "sglang", matches: (record) => isObject(record["meta_info"]), read };

// The log-probs of one choice, in the two forms of the OpenAI interface and with vLLM's ids.
import {
  idsOf,
  isObject,
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  optional,
  sameLength,
  stringOf,
} from "../fields";
import { malformed, type Place } from "../place";
import type { Rollout } from "../record";
import { type Alternative, topKOf } from "./top-k";

/** vLLM's return_tokens_as_token_ids: the id in place of the text. */
const TOKEN_ID = /^token_id:(\d{1,10})$/;

/** A token as the server names it: its text, or its id. */
function alternativeOf(at: Place, field: string, token: unknown, logProb: unknown): Alternative {
  const text = stringOf(at, `${field}.token`, token);
  const id = TOKEN_ID.exec(text)?.[1];
  const number = logProb === null ? NaN : numberOf(at, `${field}.logprob`, logProb);
  return id === undefined ? { logProb: number, token: text } : { logProb: number, id: Number(id) };
}

/** An entry of a list, with llama.cpp's `id` beside the text. */
function entryOf(at: Place, field: string, entry: JsonObject): Alternative {
  const { token, logprob, id } = entry;
  const named = alternativeOf(at, field, token, logprob);
  return typeof id === "number" ? { ...named, id: idsOf(at, `${field}.id`, [id])[0] } : named;
}

/** The bytes of a token, where the server lists them; undefined where it has none, as for special tokens. */
function bytesOf(at: Place, field: string, entry: JsonObject): Uint8Array | undefined {
  const list = optional(at, entry, "bytes", (_, name, value) => idsOf(at, `${field}.${name}`, value));
  return list === undefined || list.length === 0 ? undefined : Uint8Array.from(list);
}

/**
 * Texts of tokens whose bytes are known. A character that is split over tokens belongs to the one that ends it; the server writes U+FFFD
 * for each piece.
 */
function joinedTexts(
  tokens: readonly { readonly token: string | undefined; readonly bytes: Uint8Array | undefined }[],
): (string | undefined)[] {
  let decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return tokens.map(({ token, bytes }, t) => {
    if (bytes === undefined || token === undefined) {
      decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      return token;
    }
    const last = t + 1 === tokens.length || tokens[t + 1]!.bytes === undefined;
    return decoder.decode(bytes, { stream: !last });
  });
}

interface Tokens {
  readonly field: string;
  readonly sampled: readonly Alternative[];
  readonly listed: readonly (readonly Alternative[])[];
}

/** Chat: logprobs.content[] = {token, logprob, top_logprobs[]}; of llama.cpp with an id, and its completions have the same. */
function chatTokens(at: Place, field: string, content: unknown): Tokens {
  const entries = listOf(at, field, content);
  const sampled: Alternative[] = [];
  const bytes: (Uint8Array | undefined)[] = [];
  const listed: Alternative[][] = [];
  for (let t = 0; t < entries.length; ++t) {
    const here = `${field}[${t}]`;
    const entry = objectOf(at, here, entries[t]);
    sampled.push(entryOf(at, here, entry));
    bytes.push(bytesOf(at, here, entry));
    const top = optional(at, entry, "top_logprobs", (_, name, value) => listOf(at, `${here}.${name}`, value)) ?? [];
    listed.push(
      Array.from({ length: top.length }, (_, k) => {
        const name = `${here}.top_logprobs[${k}]`;
        return entryOf(at, name, objectOf(at, name, top[k]));
      }),
    );
  }
  const texts = joinedTexts(sampled.map(({ token }, t) => ({ token, bytes: bytes[t] })));
  return { field, sampled: sampled.map((token, t) => ({ ...token, token: texts[t] })), listed };
}

/** Completions: logprobs.tokens[], token_logprobs[], top_logprobs[] = {token: logprob}. */
function completionTokens(at: Place, field: string, logprobs: JsonObject): Tokens {
  const names = listOf(at, `${field}.tokens`, logprobs["tokens"]);
  const numbers = listOf(at, `${field}.token_logprobs`, logprobs["token_logprobs"]);
  sameLength(at, `${field}.token_logprobs`, numbers.length, names.length, `${field}.tokens`);
  const sampled = Array.from({ length: names.length }, (_, t) =>
    alternativeOf(at, `${field}.tokens[${t}]`, names[t], numbers[t] ?? null),
  );
  const top = optional(at, logprobs, "top_logprobs", (_, name, value) => listOf(at, `${field}.${name}`, value));
  sameLength(at, `${field}.top_logprobs`, top?.length, names.length, `${field}.tokens`);
  const listed = Array.from({ length: names.length }, (_, t) => {
    if (top?.[t] == null) return [];
    const name = `${field}.top_logprobs[${t}]`;
    return Object.entries(objectOf(at, name, top[t])).map(([token, logprob]) =>
      alternativeOf(at, name, token, logprob),
    );
  });
  return { field, sampled, listed };
}

function tokensOf(at: Place, field: string, choice: JsonObject): Tokens | undefined {
  const logprobs = choice["logprobs"];
  if (logprobs == null) return undefined;
  const record = objectOf(at, `${field}.logprobs`, logprobs);
  if (record["content"] != null) return chatTokens(at, `${field}.logprobs.content`, record["content"]);
  return isObject(record) && record["tokens"] != null ? completionTokens(at, `${field}.logprobs`, record) : undefined;
}

/** Ids, texts, log-probs and alternatives of a choice. */
export function readTokens(at: Place, field: string, choice: JsonObject): Rollout {
  const found = tokensOf(at, field, choice);
  const given = optional(at, choice, "token_ids", (_, name, value) => idsOf(at, `${field}.${name}`, value));
  if (!found) return given ? { tokenIds: given } : {};
  const { sampled, listed } = found;
  const named =
    sampled.length > 0 && sampled.every(({ id }) => id !== undefined)
      ? Int32Array.from(sampled, ({ id }) => id!)
      : undefined;
  if (given && given.length !== sampled.length)
    throw malformed(
      at,
      `${found.field}.length`,
      sampled.length,
      `${given.length}, the length of ${field}.token_ids`,
      "some versions of the server leave the end token out of one of the two",
    );
  named?.forEach((id, t) => {
    if (given && given[t] !== id)
      throw malformed(at, `${found.field}[${t}]`, id, `${given[t]}, as ${field}.token_ids says`);
  });
  const tokenIds = given ?? named;
  const topK = topKOf(listed);
  const texts = sampled.every(({ token }) => token !== undefined);
  return {
    tokenIds,
    tokens: texts ? sampled.map(({ token }) => token!) : undefined,
    samplerLogProbs: Float64Array.from(sampled, ({ logProb }) => logProb),
    topK,
  };
}

/** Whether the answer carries ids, which only vLLM adds. */
export function hasIds(record: JsonObject, choices: readonly unknown[]): boolean {
  if (record["prompt_token_ids"] !== undefined) return true;
  const [first] = choices;
  if (!isObject(first)) return false;
  if (first["token_ids"] !== undefined || first["prompt_token_ids"] !== undefined) return true;
  const logprobs = first["logprobs"];
  if (!isObject(logprobs)) return false;
  const { content, tokens } = logprobs;
  const token: unknown =
    Array.isArray(content) && isObject(content[0])
      ? content[0]["token"]
      : Array.isArray(tokens)
        ? tokens[0]
        : undefined;
  return typeof token === "string" && TOKEN_ID.test(token);
}

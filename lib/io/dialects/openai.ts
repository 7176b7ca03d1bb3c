// Answers of the OpenAI interface, chat and completions, one rollout per choice; and the same with vLLM's ids.
import {
  countOf,
  idsOf,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  optional,
  present,
  restOf,
  stringOf,
} from "../fields";
import { malformed, type Place } from "../place";
import type { Rollout } from "../record";
import { completionRewards, REWARD_FIELDS } from "./completion-rewards";
import type { DialectReader } from "./dialect";
import { hasIds, readTokens } from "./openai-tokens";
import { promptGroup } from "./prompt-group";

const KNOWN = ["id", "object", "choices", "prompt_token_ids", ...REWARD_FIELDS];
const KNOWN_CHOICE = [
  "index",
  "message",
  "text",
  "logprobs",
  "finish_reason",
  "token_ids",
  "prompt_token_ids",
  "prompt_logprobs",
  ...REWARD_FIELDS,
];

interface Prompt {
  readonly text?: string;
  readonly ids?: Int32Array;
  /** What to take the label from. */
  readonly key?: string | Int32Array;
}

/** The prompt of one choice in the request: its text, its ids, or the JSON of its messages. */
function requested(at: Place, request: JsonObject | undefined, index: number, choices: number): Prompt {
  const { messages, prompt } = request ?? {};
  if (Array.isArray(messages)) return { text: JSON.stringify(messages), key: JSON.stringify(messages) };
  if (typeof prompt === "string") return { text: prompt, key: prompt };
  if (!Array.isArray(prompt) || prompt.length === 0) return {};
  if (typeof prompt[0] === "number") return idsPrompt(idsOf(at, "request.prompt", prompt));
  // Several prompts in one request: n choices each, prompt after prompt.
  const each = request && optional(at, request, "n", (_, name, value) => countOf(at, `request.${name}`, value));
  const p = Math.floor(index / Math.max(1, each ?? choices / prompt.length));
  if (p >= prompt.length)
    throw malformed(at, "choices.index", index, `one of ${prompt.length} prompts with ${each ?? 1} choices each`);
  const one: unknown = prompt[p];
  return typeof one === "string" ? { text: one, key: one } : idsPrompt(idsOf(at, `request.prompt[${p}]`, one));
}

const idsPrompt = (ids: Int32Array): Prompt => ({ ids, key: ids });

function textOf(at: Place, field: string, choice: JsonObject): string | undefined {
  const message = choice["message"];
  if (message == null) return optional(at, choice, "text", stringOf);
  return optional(at, objectOf(at, `${field}.message`, message), "content", (_, name, value) =>
    stringOf(at, `${field}.message.${name}`, value),
  );
}

/** Says where the server counts other tokens than it lists: of all choices, or of the first one alone, as llama.cpp does. */
function compareUsage(at: Place, record: JsonObject, rollouts: readonly Rollout[]): void {
  const usage = record["usage"];
  if (!isObject(usage)) return;
  const said = optional(at, usage, "completion_tokens", (_, name, value) => countOf(at, `usage.${name}`, value));
  const lengths = rollouts.map(({ tokenIds, samplerLogProbs }) => (tokenIds ?? samplerLogProbs)?.length);
  const listed = lengths.reduce<number>((sum, length) => sum + (length ?? NaN), 0);
  if (said !== undefined && !Number.isNaN(listed) && said !== listed && said !== lengths[0])
    at.warn(
      "lengths",
      "usage.completion_tokens",
      `says ${said}, and ${listed} tokens are listed: the end token may be missing`,
    );
}

function read(at: Place, record: JsonObject, request?: JsonObject): Rollout[] {
  const choices = listOf(at, "choices", record["choices"]);
  const id = optional(at, record, "id", stringOf);
  const shared = optional(at, record, "prompt_token_ids", idsOf);
  const rest = restOf(record, KNOWN);
  const rollouts = Array.from({ length: choices.length }, (_, i): Rollout => {
    const field = `choices[${i}]`;
    const choice = objectOf(at, field, choices[i]);
    const index = optional(at, choice, "index", (_at, name, value) => countOf(at, `${field}.${name}`, value)) ?? i;
    const own =
      optional(at, choice, "prompt_token_ids", (_at, name, value) => idsOf(at, `${field}.${name}`, value)) ?? shared;
    const prompt = requested(at, request, index, choices.length);
    const key = own ?? prompt.key;
    const tokens = readTokens(at, field, choice);
    if (!tokens.tokenIds)
      at.warn(
        "no-token-ids",
        `${field}.token_ids`,
        "the answer has no ids: per-token statistics by id would need a tokenizer",
      );
    const message = isObject(choice["message"]) ? restOf(choice["message"], ["content"]) : undefined;
    return present<Rollout>({
      group: key !== undefined ? promptGroup(key) : id,
      id: id !== undefined && (choices.length > 1 || index > 0) ? `${id}#${index}` : id,
      prompt: prompt.text,
      text: textOf(at, field, choice),
      promptIds: own ?? prompt.ids,
      ...tokens,
      ...completionRewards(at, choice, 1)[0],
      finishReason: optional(at, choice, "finish_reason", stringOf),
      meta: present<Record<string, unknown>>({ ...rest, ...restOf(choice, KNOWN_CHOICE), message }),
    });
  });
  compareUsage(at, record, rollouts);
  return rollouts;
}

const choicesOf = (record: JsonObject): readonly unknown[] | undefined =>
  Array.isArray(record["choices"]) ? record["choices"] : undefined;

/** Whether the answer is one of the chat interface. */
function isChat(record: JsonObject, [first]: readonly unknown[]): boolean {
  return record["object"] === "chat.completion" || (isObject(first) && isObject(first["message"]));
}

export const vllm: DialectReader = {
  name: "vllm",
  matches: (record) => hasIds(record, choicesOf(record) ?? []) && choicesOf(record) !== undefined,
  read,
};

export const openaiChat: DialectReader = {
  name: "openai-chat",
  matches: (record) => choicesOf(record) !== undefined && isChat(record, choicesOf(record)!),
  read,
};

export const openaiCompletions: DialectReader = {
  name: "openai-completions",
  matches: (record) => choicesOf(record) !== undefined && !isChat(record, choicesOf(record)!),
  read,
};

// Which dialect a record is in, and what wraps it: a log may keep the answer beside the request and fields of ours.
import { isObject, type JsonObject, optional } from "../fields";
import type { Dialect, ReadOptions } from "../read-options";
import { malformed, type Place, unreadable } from "../place";
import { JSON_NAMES, type Rollout } from "../record";
import { completionRewards, REWARD_FIELDS } from "./completion-rewards";
import type { DialectReader } from "./dialect";
import { FieldMap } from "./field-map";
import { openaiChat, openaiCompletions, vllm } from "./openai";
import { promptGroup } from "./prompt-group";
import { sglang } from "./sglang";
import { readOwnFields, surprisal } from "./surprisal";
import { trl } from "./trl";
import { trlServer } from "./trl-server";
import { verl } from "./verl";

/** In the order of detection: the more telling spelling first. */
const READERS: readonly DialectReader[] = [
  vllm,
  openaiChat,
  openaiCompletions,
  sglang,
  trlServer,
  verl,
  trl,
  surprisal,
];

export const DIALECTS: readonly Dialect[] = READERS.map(({ name }) => name);

/** An answer in a log line: `{"response": …}` or, in a batch's output file, `{"response": {"body": …}}`. */
interface Envelope {
  readonly answers: readonly unknown[];
  readonly request: JsonObject | undefined;
  readonly outer: JsonObject;
}

const bodyOf = (value: unknown): unknown => (isObject(value) && isObject(value["body"]) ? value["body"] : value);

function envelopeOf(record: JsonObject): Envelope | undefined {
  const inner = bodyOf(record["response"] ?? (isObject(record["body"]) ? record : undefined));
  if (!isObject(inner) && !Array.isArray(inner)) return undefined;
  const request = bodyOf(record["request"]);
  return {
    answers: Array.isArray(inner) ? inner : [inner],
    request: isObject(request) ? request : undefined,
    outer: record,
  };
}

const LEFT_OUT = 'malformed: "skip" (--skip-malformed) leaves such records out and counts them';

/**
 * Refuses what a server writes in place of an answer: an error, as batches do for a request that failed, or a piece of a stream, of which
 * `pieces` has the ids so far.
 */
function refuseFailure(at: Place, record: JsonObject, pieces: Set<unknown>): void {
  const body = bodyOf(record["response"] ?? record);
  const error = record["error"] ?? (isObject(body) ? body["error"] : undefined);
  if (error != null && !(isObject(body) && body["choices"] !== undefined)) {
    const said: unknown = isObject(error) ? (error["message"] ?? error["code"]) : error;
    const text = typeof said === "string" ? `: ${said.slice(0, 200)}` : "";
    throw unreadable(at, `the record is an error, not an answer${text}; ${LEFT_OUT}`);
  }
  if (!isObject(body)) return;
  if (isPiece(body)) pieces.add(body["id"]);
  else if (body["id"] === undefined || !pieces.has(body["id"])) return;
  throw unreadable(
    at,
    `the record is a piece of a streamed answer, which lacks the others; log whole answers, or put the pieces together first; ${LEFT_OUT}`,
  );
}

/** Pieces of completions have the fields of an answer, and no reason to have ended; the last one has, and the same id. */
function isPiece({ object, choices }: JsonObject): boolean {
  if (object === "chat.completion.chunk") return true;
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return (
    isObject(first) &&
    (first["delta"] !== undefined || (object === "text_completion" && first["finish_reason"] === null))
  );
}

/** Fields of ours that a log keeps beside the answer: a step, a group. Rewards are read by themselves. */
function besides(at: Place, { outer, request }: Envelope): Rollout {
  const own = Object.fromEntries(
    Object.values(JSON_NAMES)
      .filter((name) => Object.hasOwn(outer, name) && !REWARD_FIELDS.includes(name))
      .map((name) => [name, outer[name]]),
  );
  const rollout = readOwnFields(at, own);
  if (rollout.group !== undefined) return rollout;
  const text =
    request && optional(at, request, "text", (_, __, value) => (typeof value === "string" ? value : undefined));
  if (text !== undefined) return { ...rollout, prompt: text, group: promptGroup(text) };
  const custom = outer["custom_id"];
  return typeof custom === "string" ? { ...rollout, meta: { custom_id: custom, ...rollout.meta } } : rollout;
}

/** A record that only the caller's map understands. */
const MAPPED: DialectReader = {
  name: "surprisal",
  matches: () => true,
  read: (_, record) => [{ meta: record }],
};

/** The records that one JSON value holds, each with its reader. */
export class DialectDetector {
  /** The dialect of the first record. */
  first: Dialect | undefined;
  readonly fields: FieldMap;
  readonly #forced: DialectReader | undefined;
  /** Ids of streamed answers of which a piece was met. */
  readonly #pieces = new Set<unknown>();

  constructor(op: string, options: ReadOptions) {
    this.#forced = READERS.find(({ name }) => name === options.from);
    this.fields = new FieldMap(op, options);
  }

  /** The rollouts of one line: of a record, of a list of records, or of a log entry around either. */
  read(at: Place, value: unknown): Rollout[] {
    if (Array.isArray(value)) return value.flatMap((item: unknown) => this.#one(at, item));
    return this.#one(at, value);
  }

  #one(at: Place, value: unknown): Rollout[] {
    if (!isObject(value)) throw malformed(at, "the record", value, "an object");
    refuseFailure(at, value, this.#pieces);
    const envelope = envelopeOf(value);
    const outer = envelope ? besides(at, envelope) : {};
    let rewardField: string | null = null;
    const rollouts = (envelope?.answers ?? [value]).flatMap((answer) => {
      if (!isObject(answer)) throw malformed(at, "response", answer, "an object");
      const reader = this.#readerOf(at, answer);
      if (reader.name !== "surprisal") rewardField = reader.rewardField?.(answer) ?? "reward";
      return reader.read(at, answer, envelope?.request);
    });
    const beside = envelope !== undefined || Array.isArray(value["choices"]);
    const rewards = beside ? completionRewards(at, value, rollouts.length) : [];
    const whole = rollouts.map((rollout, i) => merged(rollout, { ...outer, ...rewards[i] }));
    return this.fields.apply(at, value, whole, rewardField);
  }

  #readerOf(at: Place, record: JsonObject): DialectReader {
    const reader = this.#forced ?? this.#detect(at, record);
    if (this.first === undefined) this.first = reader.name;
    else if (reader.name !== this.first)
      at.warn("mixed-dialects", "the record", `is in dialect "${reader.name}", the first one was in "${this.first}"`);
    return reader;
  }

  #detect(at: Place, record: JsonObject): DialectReader {
    const found = READERS.find((reader) => reader.matches(record));
    if (found) return found;
    if (this.fields.namesCompletion) return MAPPED;
    const fields = Object.keys(record)
      .slice(0, 8)
      .map((name) => name.slice(0, 40));
    throw unreadable(
      at,
      `no known dialect has the fields ${JSON.stringify(fields)} (${DIALECTS.join(", ")}); the option from names one, ` +
        "and map says which field is which: { text: NAME, reward: NAME } (--map text=NAME)",
    );
  }
}

/** What the log says beside an answer goes before what the answer says. */
function merged(rollout: Rollout, outer: Rollout): Rollout {
  const meta = { ...rollout.meta, ...outer.meta };
  const both = { ...rollout, ...outer };
  return Object.keys(meta).length > 0 ? { ...both, meta } : both;
}

// Which dialect a record is in, and what wraps it: a log may keep the answer beside the request and fields of ours.
import { isObject, type JsonObject, optional } from "../fields";
import type { Dialect } from "../read-options";
import { malformed, type Place, unreadable } from "../place";
import { JSON_NAMES, type Rollout } from "../record";
import type { DialectReader } from "./dialect";
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

/** Fields of ours that a log keeps beside the answer: a reward, a step, a group. */
function besides(at: Place, { outer, request }: Envelope): Rollout {
  const own = Object.fromEntries(
    Object.values(JSON_NAMES)
      .filter((name) => Object.hasOwn(outer, name))
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

/** The records that one JSON value holds, each with its reader. */
export class DialectDetector {
  /** The dialect of the first record. */
  first: Dialect | undefined;
  readonly #forced: DialectReader | undefined;

  constructor(from: Dialect | undefined) {
    this.#forced = READERS.find(({ name }) => name === from);
  }

  /** The rollouts of one line: of a record, of a list of records, or of a log entry around either. */
  read(at: Place, value: unknown): Rollout[] {
    if (Array.isArray(value)) return value.flatMap((item: unknown) => this.#one(at, item));
    return this.#one(at, value);
  }

  #one(at: Place, value: unknown): Rollout[] {
    if (!isObject(value)) throw malformed(at, "the record", value, "an object");
    const envelope = envelopeOf(value);
    if (!envelope) return this.#record(at, value, undefined);
    const outer = besides(at, envelope);
    return envelope.answers.flatMap((answer) => {
      if (!isObject(answer)) throw malformed(at, "response", answer, "an object");
      return this.#record(at, answer, envelope.request).map((rollout) => merged(rollout, outer));
    });
  }

  #record(at: Place, record: JsonObject, request: JsonObject | undefined): Rollout[] {
    const reader = this.#forced ?? this.#detect(at, record);
    if (this.first === undefined) this.first = reader.name;
    else if (reader.name !== this.first)
      at.warn("mixed-dialects", "the record", `is in dialect "${reader.name}", the first one was in "${this.first}"`);
    return reader.read(at, record, request);
  }

  #detect(at: Place, record: JsonObject): DialectReader {
    const found = READERS.find((reader) => reader.matches(record));
    if (found) return found;
    const fields = Object.keys(record)
      .slice(0, 8)
      .map((name) => name.slice(0, 40));
    throw unreadable(
      at,
      `no known dialect has the fields ${JSON.stringify(fields)} (${DIALECTS.join(", ")}); the option from names one`,
    );
  }
}

/** What the log says beside an answer goes before what the answer says. */
function merged(rollout: Rollout, outer: Rollout): Rollout {
  const meta = { ...rollout.meta, ...outer.meta };
  const both = { ...rollout, ...outer };
  return Object.keys(meta).length > 0 ? { ...both, meta } : both;
}

// TRL's logged completions, completions_%05d.parquet: step, prompt, completion, a column per reward function, advantage.
import { countOf, isObject, type JsonObject, numberOf, optional, present, restOf } from "../fields";
import { malformed, type Place } from "../place";
import type { Rollout } from "../record";
import type { DialectReader } from "./dialect";
import { promptGroup } from "./prompt-group";

const KNOWN = ["step", "prompt", "completion", "advantage"];

/** Text as it is; a conversation as the JSON of its messages. */
function textOf(at: Place, field: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every(isObject)) {
    at.warn("note", field, "is a conversation; it is kept as the JSON of its messages");
    return JSON.stringify(value);
  }
  throw malformed(at, field, value, "a string or a list of messages");
}

/** Numeric columns are reward functions; a function that did not apply to a row gives null there. */
function rewardColumns(record: JsonObject): Record<string, number> {
  const columns = Object.entries(restOf(record, KNOWN) ?? {});
  return Object.fromEntries(columns.filter((column): column is [string, number] => typeof column[1] === "number"));
}

/** The other columns; a null says that there is nothing. */
function extrasOf(record: JsonObject, rewards: Readonly<Record<string, number>>): Record<string, unknown> | undefined {
  const rest = Object.entries(restOf(record, [...KNOWN, ...Object.keys(rewards)]) ?? {}).filter(
    ([, value]) => value !== null,
  );
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

export const trl: DialectReader = {
  name: "trl",
  matches: (record) => Object.hasOwn(record, "prompt") && Object.hasOwn(record, "completion"),
  read(at, record) {
    const prompt = textOf(at, "prompt", record["prompt"]);
    const rewards = rewardColumns(record);
    at.warn(
      "no-token-ids",
      "completion",
      "text without ids: per-token statistics would need a tokenizer, and be of re-tokenised text",
    );
    return [
      present<Rollout>({
        group: promptGroup(prompt),
        step: optional(at, record, "step", countOf),
        prompt,
        text: textOf(at, "completion", record["completion"]),
        rewards: Object.keys(rewards).length > 0 ? rewards : undefined,
        advantage: optional(at, record, "advantage", numberOf),
        meta: extrasOf(record, rewards),
      }),
    ];
  },
};

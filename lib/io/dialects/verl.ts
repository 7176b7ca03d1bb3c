// verl's rollout dump, <step>.jsonl: decoded text, the score, and extras of the reward function; OpenRLHF's samples, which have
// `reward` in place of `score`, are read alike. No ids, no log-probs, and special tokens were skipped: the end of a completion cannot
// be seen.
import { countOf, type JsonObject, numberOf, optional, present, restOf, stringOf } from "../fields";
import type { Rollout } from "../record";
import type { DialectReader } from "./dialect";
import { promptGroup } from "./prompt-group";

const KNOWN = ["input", "output", "score", "reward", "step", "request_id"];
/** What a reward function calls a part of the score: overlong_reward, reward_format. */
const PART = /(^|_)rewards?(_|$)/;

const totalOf = (record: JsonObject): "score" | "reward" => (record["score"] == null ? "reward" : "score");

/** Columns of numbers that say of themselves that they are rewards. */
function partsOf(record: JsonObject): Record<string, number> {
  const numbers = Object.entries(record).filter((entry): entry is [string, number] => typeof entry[1] === "number");
  return Object.fromEntries(numbers.filter(([name]) => PART.test(name) && !KNOWN.includes(name)));
}

export const verl: DialectReader = {
  name: "verl",
  matches: (record) => typeof record["input"] === "string" && typeof record["output"] === "string",
  rewardField: totalOf,
  read(at, record) {
    const parts = partsOf(record);
    const prompt = stringOf(at, "input", record["input"]);
    at.warn(
      "no-token-ids",
      "output",
      "decoded text without ids: per-token statistics would need a tokenizer, and be of re-tokenised text",
    );
    return [
      present<Rollout>({
        group: promptGroup(prompt),
        id: optional(at, record, "request_id", stringOf),
        step: optional(at, record, "step", countOf),
        prompt,
        text: stringOf(at, "output", record["output"]),
        reward: optional(at, record, totalOf(record), numberOf),
        rewards: Object.keys(parts).length > 0 ? parts : undefined,
        meta: restOf(record, [...KNOWN, ...Object.keys(parts)]),
      }),
    ];
  },
};

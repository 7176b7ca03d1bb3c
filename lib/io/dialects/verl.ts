// verl's rollout dump, <step>.jsonl: decoded text, the score, and extras of the reward function. No ids, no log-probs, and special
// tokens were skipped: the end of a completion cannot be seen.
import { countOf, numberOf, optional, present, restOf, stringOf } from "../fields";
import type { Rollout } from "../record";
import type { DialectReader } from "./dialect";
import { promptGroup } from "./prompt-group";

const KNOWN = ["input", "output", "score", "step", "request_id"];

export const verl: DialectReader = {
  name: "verl",
  matches: (record) => typeof record["input"] === "string" && typeof record["output"] === "string",
  read(at, record) {
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
        reward: optional(at, record, "score", numberOf),
        meta: restOf(record, KNOWN),
      }),
    ];
  },
};

// Rewards that stand beside the completions of one record: one number, or a list with one for each completion.
import { isObject, type JsonObject } from "../fields";
import { malformed, type Place } from "../place";
import type { Rollout } from "../record";
import { readOwnFields } from "./surprisal";

export const REWARD_FIELDS: readonly string[] = ["reward", "rewards", "advantage"];

/** What a value says of one completion: the entry of a list, or the value itself. */
function entryOf(at: Place, field: string, value: unknown, index: number, count: number): unknown {
  if (!Array.isArray(value)) return value;
  if (value.length !== count)
    throw malformed(at, `${field}.length`, value.length, `${count}, the number of completions of the record`);
  return value[index];
}

/**
 * The rewards of each of `count` completions. A list has one entry for each; `rewards` may be an object of numbers or of lists, and a
 * list of numbers under it are the rewards themselves.
 */
export function completionRewards(at: Place, record: JsonObject, count: number): Rollout[] {
  const given = REWARD_FIELDS.filter((name) => Object.hasOwn(record, name));
  return Array.from({ length: count }, (_, index) => {
    const fields: Record<string, unknown> = {};
    for (const name of given) {
      const value = entryOf(at, name, record[name], index, count);
      if (name !== "rewards") fields[name] = value;
      else if (!isObject(value)) fields["reward"] ??= value;
      else
        fields["rewards"] = Object.fromEntries(
          Object.entries(value).map(([key, reward]) => [key, entryOf(at, `rewards.${key}`, reward, index, count)]),
        );
    }
    return readOwnFields(at, fields);
  });
}

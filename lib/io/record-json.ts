// A rollout as one line of JSON, in the order of JSON_NAMES. Reading it back gives the same bits.
import { SurprisalError } from "../core/errors";
import { numbersText, numberText, valueText } from "./json-text";
import { JSON_NAMES, type Rollout, TOKEN_FIELDS, type TopK } from "./record";

const FLOATS: readonly string[] = TOKEN_FIELDS;

/** Entries of a flat array as one list per token. */
function listsText(offsets: Int32Array, entry: (index: number) => string): string {
  const lists = Array.from({ length: offsets.length - 1 }, (_, t) => {
    const entries = Array.from({ length: offsets[t + 1]! - offsets[t]! }, (__, i) => entry(offsets[t]! + i));
    return `[${entries.join(",")}]`;
  });
  return `[${lists.join(",")}]`;
}

function topKText({ offsets, logProbs, ids, tokens }: TopK): string {
  const parts = [`"logprobs":${listsText(offsets, (i) => numberText(logProbs[i]!))}`];
  if (ids) parts.push(`"ids":${listsText(offsets, (i) => String(ids[i]!))}`);
  if (tokens) parts.push(`"tokens":${listsText(offsets, (i) => JSON.stringify(tokens[i]!))}`);
  return `{${parts.join(",")}}`;
}

export function rewardsText(rewards: Readonly<Record<string, number>>): string {
  return `{${Object.entries(rewards)
    .map(([key, number]) => `${JSON.stringify(key)}:${numberText(number)}`)
    .join(",")}}`;
}

function fieldText(name: keyof Rollout, value: unknown): string {
  if (name === "topK") return topKText(value as TopK);
  if (name === "promptIds" || name === "tokenIds" || name === "mask")
    return `[${(value as Int32Array | Uint8Array).join(",")}]`;
  if (FLOATS.includes(name)) return numbersText(value as Float64Array);
  if (name === "reward" || name === "advantage") return numberText(value as number);
  if (name === "rewards") return rewardsText(value as Record<string, number>);
  return valueText(value);
}

/** One line, without its newline. `index` is for the message of an error. */
export function rolloutText(op: string, rollout: Rollout, index: number): string {
  const parts: string[] = [];
  for (const [name, jsonName] of Object.entries(JSON_NAMES)) {
    const value = rollout[name as keyof Rollout];
    if (value === undefined) continue;
    try {
      parts.push(`"${jsonName}":${fieldText(name as keyof Rollout, value)}`);
    } catch (error) {
      // Nested too deep, or with a cycle.
      throw new SurprisalError(
        "ERR_SURPRISAL_VALUE",
        `${op}: rollouts[${index}].${name} cannot be written as JSON (${(error as Error).message})`,
        { op, name: `rollouts[${index}].${name}`, want: "JSON values" },
        { cause: error },
      );
    }
  }
  return `{${parts.join(",")}}`;
}

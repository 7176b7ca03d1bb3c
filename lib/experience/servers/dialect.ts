// What servers have in common: bodies of requests, and readers of answers that may be damaged.
import type { Completion, Prompt } from "../completion";
import type { CompletionEntry } from "../completion-info";
import { badAnswer } from "../request";
import { meantBy } from "../../io/minus-infinity";

/** How tokens are drawn. What is absent is left to the server. */
export interface Sampling {
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly minP?: number;
  /** Texts that end a response. */
  readonly stop?: readonly string[];
  readonly stopTokenIds?: readonly number[];
  readonly seed?: number;
}

export interface Dialect {
  /** Below the server's URL. */
  readonly path: string;
  generation(prompt: Prompt, count: number, model: string | undefined, sampling: Sampling): Record<string, unknown>;
  completions(answer: unknown): Completion[];
  scoring(ids: readonly number[], promptLength: number, model: string | undefined): Record<string, unknown>;
  /** Log-probs of the tokens behind the prompt. */
  scores(answer: unknown, ids: readonly number[], promptLength: number): number[];
}

export function entryOf(value: unknown, name: string): CompletionEntry {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw badAnswer(`${name} is no object`);
  return value as CompletionEntry;
}

export function listOf(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw badAnswer(`${name} is no list`);
  return value;
}

export function idsOf(value: unknown, name: string): number[] {
  return listOf(value, name).map((id, i) => {
    if (typeof id !== "number" || !Number.isInteger(id) || id < 0)
      throw badAnswer(`${name}[${i}] is ${JSON.stringify(id)}, expected a token id`);
    return id;
  });
}

/** Log-probs, as many as tokens; what servers write for −∞ is that. */
export function numbersOf(value: unknown, count: number, name: string): number[] {
  const list = listOf(value, name);
  if (list.length !== count) throw badAnswer(`${name} has ${list.length} entries for ${count} tokens`);
  return list.map((x, i) => {
    if (typeof x !== "number" || !Number.isFinite(x))
      throw badAnswer(`${name}[${i}] is ${JSON.stringify(x)}, expected a log-prob`);
    return meantBy(x);
  });
}

/** The settings that vLLM and SGLang have under the same names. */
export function sharedSampling({
  temperature,
  topP,
  topK,
  minP,
  stop,
  stopTokenIds,
}: Sampling): Record<string, unknown> {
  return { temperature, top_p: topP, top_k: topK, min_p: minP, stop, stop_token_ids: stopTokenIds };
}

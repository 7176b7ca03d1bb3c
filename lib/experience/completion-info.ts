// What inference servers and logs say about a completion, under the names that they use.

/** One completion as JSON: of vLLM, TRL or MaxEnt-GRPO's logs. Unknown names are ignored. */
export type CompletionEntry = Readonly<Record<string, unknown>>;

/** null = not known. */
export interface CompletionInfo {
  readonly tokenIds: readonly number[] | null;
  readonly tokenCount: number | null;
  readonly finishReason: string | null;
  readonly stopReason: string | null;
  /** true where the finish reason is "length"; never false, since a completion may be cut for other reasons. */
  readonly truncated: true | null;
}

const NOTHING: CompletionInfo = {
  tokenIds: null,
  tokenCount: null,
  finishReason: null,
  stopReason: null,
  truncated: null,
};

/** The first value that `read` understands, under the names in their order. */
function first<T>(entry: CompletionEntry, names: readonly string[], read: (value: unknown) => T | null): T | null {
  for (const name of names) {
    const value = read(entry[name]);
    if (value !== null) return value;
  }
  return null;
}

/** A list of ids, or the first of several lists; null for anything else and for an empty list. */
function idsOf(value: unknown): readonly number[] | null {
  if (!Array.isArray(value)) return null;
  const given: readonly unknown[] = value;
  const ids: readonly unknown[] = Array.isArray(given[0]) ? given[0] : given;
  return ids.length > 0 && ids.every((id): id is number => Number.isSafeInteger(id)) ? ids : null;
}

const numberOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

/** Servers name a stop token by its text or by its id. */
const wordOf = (value: unknown): string | null =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : null;

function recordOf(value: unknown): CompletionEntry {
  return typeof value === "object" && value !== null ? (value as CompletionEntry) : {};
}

/**
 * Ids, their number and why generation ended, from `token_ids`, `token_count`, `finish_reason`, `stop_reason` of an entry; what
 * is missing or unreadable there is taken from its `raw_output` (also `output_token_ids`, `num_tokens`, `finishReason`,
 * `stopReason`).
 */
export function completionInfo(entry: CompletionEntry | null | undefined): CompletionInfo {
  if (!entry) return NOTHING;
  const raw = recordOf(entry["raw_output"]);
  const tokenIds = first(entry, ["token_ids"], idsOf) ?? first(raw, ["token_ids", "output_token_ids"], idsOf);
  const count = first(entry, ["token_count"], numberOf) ?? first(raw, ["token_count", "num_tokens"], numberOf);
  const finishReason = first(entry, ["finish_reason"], wordOf) ?? first(raw, ["finish_reason", "finishReason"], wordOf);
  const stopReason = first(entry, ["stop_reason"], wordOf) ?? first(raw, ["stop_reason", "stopReason"], wordOf);
  return {
    tokenIds,
    tokenCount: count ?? tokenIds?.length ?? null,
    finishReason,
    stopReason,
    truncated: finishReason?.trim().toLowerCase() === "length" ? true : null,
  };
}

/** null = not known. */
export interface LogProbTotals {
  /** Sum over the tokens, nats. */
  readonly logProbSum: number | null;
  readonly tokenCount: number | null;
}

/**
 * Summed log-prob and token count of an entry: `logprob_sum`, else `cumulative_logprob`, else Σ of `token_logprobs` (or
 * `logprobs`); `token_count`, else `num_tokens`, else how many token log-probs there are.
 */
export function logProbTotals(entry: CompletionEntry | null | undefined): LogProbTotals {
  if (!entry) return { logProbSum: null, tokenCount: null };
  const tokens = first(entry, ["token_logprobs", "logprobs"], (value) =>
    Array.isArray(value) && value.every((x): x is number => typeof x === "number") ? value : null,
  );
  return {
    logProbSum:
      first(entry, ["logprob_sum", "cumulative_logprob"], numberOf) ?? tokens?.reduce((sum, x) => sum + x, 0) ?? null,
    tokenCount: first(entry, ["token_count", "num_tokens"], numberOf) ?? tokens?.length ?? null,
  };
}

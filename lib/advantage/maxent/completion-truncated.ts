// Whether a completion was cut off, from what the generator says about it.

/** What is known of one completion. */
export interface CompletionRecord {
  /** Decides, either way. */
  readonly truncated?: boolean | null;
  /** `"length"` is the word for a completion that was cut; case and spaces around it do not matter. */
  readonly finishReason?: string | null;
  readonly tokenCount?: number | null;
  /** Stands for `tokenCount` where that is not known. */
  readonly tokenIds?: ArrayLike<number> | null;
}

/**
 * True where `truncated` says so; else where `finishReason` is `"length"`; else where the completion has `maxLength` tokens or
 * more. A completion that ended by itself exactly at the limit counts as cut. Nothing known: false.
 *
 * @param maxLength tokens; absent or 0 = no limit
 */
export function completionTruncated(record: CompletionRecord | null | undefined, maxLength?: number | null): boolean {
  if (!record) return false;
  if (record.truncated != null) return record.truncated;
  if (record.finishReason?.trim().toLowerCase() === "length") return true;
  const tokens = record.tokenCount ?? record.tokenIds?.length;
  return maxLength != null && maxLength > 0 && tokens !== undefined && tokens >= maxLength;
}

// A response taken apart at its thinking tags.

export interface SplitThinking {
  /** What stands between the tags, or behind an opening tag that is never closed; null without a tag. */
  readonly thinking: string | null;
  /** What follows the closing tag; all of it where there is no tag; null where thinking never ends. */
  readonly answer: string | null;
}

/**
 * Takes a response apart at the first closing tag. The opening tag may be absent: chat templates often put it into the prompt.
 *
 * @param tags default `<think>`, `</think>`
 */
export function splitThinking(
  text: string,
  tags: readonly [open: string, close: string] = ["<think>", "</think>"],
): SplitThinking {
  const [open, close] = tags;
  const begin = text.indexOf(open);
  const end = text.indexOf(close);
  const start = begin >= 0 && (end < 0 || begin < end) ? begin + open.length : 0;
  if (end >= 0) return { thinking: text.slice(start, end).trim(), answer: text.slice(end + close.length).trim() };
  return begin >= 0 ? { thinking: text.slice(start).trim(), answer: null } : { thinking: null, answer: text.trim() };
}

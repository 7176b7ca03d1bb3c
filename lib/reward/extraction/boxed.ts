// What stands in \boxed{…} and \fbox{…}, and between <answer> tags.

const COMMAND = /\\(?:boxed|fbox)(?![a-zA-Z])\s*/g;
const ANSWER_TAG = /<answer>([\s\S]*?)<\/answer>/gi;

/** Where the brace that opens at `start` is closed; −1 if never. An escaped brace counts as a character. */
function closingBrace(text: string, start: number): number {
  let depth = 0;
  for (let i = start; i < text.length; ++i) {
    if (text[i] === "\\") ++i;
    else if (text[i] === "{") ++depth;
    else if (text[i] === "}" && --depth === 0) return i;
  }
  return -1;
}

/** The payloads of all boxes in their order, trimmed. A box that is never closed is none. */
export function boxes(text: string): string[] {
  const found: string[] = [];
  COMMAND.lastIndex = 0;
  for (let match = COMMAND.exec(text); match; match = COMMAND.exec(text)) {
    const start = COMMAND.lastIndex;
    if (text[start] === "{") {
      const end = closingBrace(text, start);
      COMMAND.lastIndex = end < 0 ? start + 1 : end + 1;
      if (end >= 0) found.push(text.slice(start + 1, end).trim());
      continue;
    }
    const bare = /^[^\s,;.!?]*/.exec(text.slice(start))![0];
    COMMAND.lastIndex = start + bare.length;
    found.push(bare);
  }
  return found;
}

/** What stands between `<answer>` and `</answer>`, trimmed, in order. Tags in any case. */
export function answerTags(text: string): string[] {
  return Array.from(text.matchAll(ANSWER_TAG), ([, payload]) => payload!.trim());
}

/**
 * The answer by which SEED-GRPO compares the completions of a prompt: the last box that is not empty, else the first
 * `<answer>…</answer>`; trimmed. Braces inside a box are balanced; a box without braces ends at a blank or one of `, ; . ! ?`.
 *
 * @returns null where there is none
 * @see Chen et al. 2025, SEED-GRPO: Semantic Entropy Enhanced GRPO for Uncertainty-Aware Policy Optimization
 */
export function boxedAnswer(text: string): string | null {
  const box = boxes(text).findLast((payload) => payload !== "");
  return box ?? (answerTags(text)[0] || null);
}

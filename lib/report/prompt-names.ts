// What prompts are called: their first words, from where they begin to differ. A system message or a template that all of them begin
// with tells none of them apart.
import { readable } from "./conversation";
import { clipped } from "./visible";

/** Characters of a name. */
const LONGEST = 72;
/** A beginning in common that is shorter than this stays. */
const WORTH_LEAVING_OUT = 24;

/** The beginning that all of the texts have in common. */
function commonBeginning(texts: Iterable<string>): string {
  let common: string | undefined;
  for (const text of texts) {
    if (common === undefined) common = text;
    if (text.startsWith(common)) continue;
    let end = 0;
    while (end < text.length && text[end] === common[end]) ++end;
    common = common.slice(0, end);
  }
  return common ?? "";
}

/** How much of the common beginning names leave out: whole lines of it, then whole words. */
function leftOut(common: string): number {
  const line = common.lastIndexOf("\n") + 1;
  const begin = line >= WORTH_LEAVING_OUT ? line : 0;
  return common.length - begin < WORTH_LEAVING_OUT ? begin : common.lastIndexOf(" ") + 1;
}

/** The words of a text on one line, and no more than a name may have. */
function firstWords(text: string): string {
  const words = text
    .slice(0, 4 * LONGEST)
    .replace(/\s+/g, " ")
    .trim();
  const { text: kept, left } = clipped(words, LONGEST);
  return left > 0 ? `${kept}…` : kept;
}

/**
 * A name on one line for each prompt, its first words; from where they differ, after "…", where several prompts have more than a few words
 * in common. Conversations are named by what is said in them. undefined for what is not known or has no words.
 */
export function promptNames(prompts: readonly (string | undefined)[]): (string | undefined)[] {
  const shown = prompts.map((prompt) => prompt && readable(prompt));
  const distinct = new Set(shown.filter((prompt) => prompt !== undefined));
  const begin = distinct.size > 1 ? leftOut(commonBeginning(distinct)) : 0;
  return shown.map((prompt = "") => {
    const own = begin > 0 ? firstWords(prompt.slice(begin)) : "";
    // One of the prompts may be what the others begin with.
    return own === "" ? firstWords(prompt) || undefined : `… ${own}`;
  });
}

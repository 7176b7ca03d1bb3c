// The final answer of a mathematical response.
import { needWord } from "../../core/option-checks";
import { answerTags, boxes } from "../extraction/boxed";
import { splitThinking } from "../extraction/thinking";

const SOURCES = ["box", "tag", "marker", "phrase"] as const;

/** `"box"`: `\boxed{…}` or `\fbox{…}`; `"tag"`: `<answer>…</answer>`; `"marker"`: behind `####`; `"phrase"`: behind “answer is” or “answer:”. */
export type AnswerSource = (typeof SOURCES)[number];

export interface FinalAnswerOptions {
  /** Where to look, in order; of several of a kind the last one counts. Default: box, tag, marker, phrase. */
  readonly sources?: readonly AnswerSource[];
}

const lastOf = (found: readonly string[]): string | undefined => found.findLast((text) => text !== "");

function behindMarker(text: string): string | undefined {
  return lastOf(Array.from(text.matchAll(/####\s*([^\n]*)/g), ([, rest]) => rest!.trim()));
}

/** Up to the end of the sentence: a point that ends it is followed by a blank or nothing. */
function behindPhrase(text: string): string | undefined {
  const found = text.matchAll(
    /\banswer\b(?:\s+(?:is|are|equals)\b|\s*[:=])[\s*:]*([^\n]*?)(?=\.\s|\.?\s*\**$|\.?\s*\n)/gim,
  );
  return lastOf(Array.from(found, ([, rest]) => rest!.replaceAll("**", "").trim()));
}

const FINDERS: Readonly<Record<AnswerSource, (text: string) => string | undefined>> = {
  box: (text) => lastOf(boxes(text)),
  tag: (text) => lastOf(answerTags(text)),
  marker: behindMarker,
  phrase: behindPhrase,
};

/**
 * The final answer of a response, as it stands there; behind the thinking, where there is some.
 *
 * @returns null where there is none, or thinking never ends
 * @throws SurprisalError ERR_SURPRISAL_OPTION for another source
 */
export function finalAnswer(text: string, options: FinalAnswerOptions = {}): string | null {
  const sources = options.sources ?? SOURCES;
  sources.forEach((source, i) => needWord("finalAnswer", `sources[${i}]`, source, SOURCES));
  const { answer } = splitThinking(text);
  if (answer === null) return null;
  for (const source of sources) {
    const found = FINDERS[source](answer);
    if (found !== undefined) return found;
  }
  return null;
}

// Text from models and files, made safe to look at: every character shows, none acts. Control characters, reordering marks,
// zero-width characters and halves of surrogate pairs become signs or code points in brackets.

const NEWLINE = "↵";
const TAB = "⇥";

/** Controls, format characters (also bidirectional ones), lone surrogates, separators of lines, unassigned and private characters. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0]/gu;
/** Marks without a letter before them, or more of them than a script stacks. */
const LEADING_MARK = /^\p{M}/u;
const STACKED_MARKS = /(?<=\p{M}{4})\p{M}/gu;

const codePoint = (character: string): string =>
  `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`;

function sign(character: string): string {
  const code = character.codePointAt(0)!;
  if (character === "\n") return NEWLINE;
  if (character === "\t") return TAB;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? "␡" : codePoint(character);
}

/** `text` with a sign for each character that could not be seen, or that changes how others are. */
export function visible(text: string): string {
  const shown = text.replace(STACKED_MARKS, codePoint).replace(UNSEEN, sign);
  return LEADING_MARK.test(shown) ? `◌${shown}` : shown;
}

/** Text of several lines, each of them visible. */
export const visibleLines = (text: string): string => text.split("\n").map(visible).join("\n");

/** At most `limit` characters of it (code points), and whether that was not all. */
export function clipped(text: string, limit: number): { readonly text: string; readonly left: number } {
  if (text.length <= limit) return { text, left: 0 };
  const characters = Array.from(text);
  return { text: characters.slice(0, limit).join(""), left: Math.max(characters.length - limit, 0) };
}

/** A label on one line: visible, and not longer than `limit` characters. */
export function label(text: string, limit = 80): string {
  const { text: kept, left } = clipped(text, limit);
  return left > 0 ? `${visible(kept)}…` : visible(kept);
}

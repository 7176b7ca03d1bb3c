// Text in columns: what a terminal needs to know about widths and colours.

const ESCAPE = "\u001b[";
const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;
type Style = keyof typeof CODES;

/** Puts text in a style, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string;

export const painter =
  (colour: boolean): Paint =>
  (style, text) =>
    colour && text !== "" ? `${ESCAPE}${CODES[style]}m${text}${ESCAPE}0m` : text;

const WIDE =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}|[\u{20000}-\u{3FFFD}]/u;
const ZERO = /\p{M}/u;

const columnsOf = (character: string): number => (ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1);

/** Columns that a text without escape sequences takes. */
export const columns = (text: string): number =>
  Array.from(text).reduce((sum, character) => sum + columnsOf(character), 0);

/** The text in exactly `width` columns: filled up with spaces, or cut with "…". */
export function fit(text: string, width: number, side: "left" | "right" = "left"): string {
  let kept = text;
  if (columns(text) > width) {
    kept = "";
    for (const character of text) {
      if (columns(kept) + columnsOf(character) > width - 1) break;
      kept += character;
    }
    kept += "…";
  }
  const space = " ".repeat(Math.max(width - columns(kept), 0));
  return side === "left" ? kept + space : space + kept;
}

/** Words on lines of at most `width` columns, each line after `indent` spaces and the first after `start` instead. */
export function wrap(start: string, text: string, width: number, indent: number): string[] {
  const lines: string[] = [];
  let line = start;
  let empty = true;
  for (const word of text.split(" ")) {
    const longer = empty ? line + word : `${line} ${word}`;
    if (empty || columns(longer) <= width) line = longer;
    else {
      lines.push(line);
      line = " ".repeat(indent) + word;
    }
    empty = false;
  }
  return [...lines, line];
}

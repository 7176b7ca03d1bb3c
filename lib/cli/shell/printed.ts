// Everything that the command line prints goes through here. Names, fields and texts come from files, and no character of them acts
// on a terminal: what would is shown as a sign.
import { visibleLines } from "../../report/visible";
import type { Sink } from "./host";

/** Text with colours of ours, whose data are visible already. */
export class Drawn {
  constructor(readonly text: string) {}
}

export type Text = string | readonly (string | Drawn)[];

/** What is written for a text of several lines. */
export function printed(text: Text): string {
  const parts = typeof text === "string" ? [text] : text;
  return parts.map((part) => (part instanceof Drawn ? part.text : visibleLines(part))).join("");
}

/** Where texts are made visible as they are written. */
export const visibleSink = (sink: Sink): Pick<Sink, "write"> => ({ write: (text) => sink.write(visibleLines(text)) });

/** What acts on a terminal, or on the order of characters, and stands in JSON as it is. */
const ACTING = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The same document with NaN and the infinities as null, as JSON.stringify has them, and typed arrays as arrays. */
export function printedJson(document: unknown): string {
  const plain = (_: string, value: unknown): unknown =>
    ArrayBuffer.isView(value) && !(value instanceof DataView) ? Array.from(value as Float64Array) : value;
  const text = JSON.stringify(document, plain, 2);
  return `${text.replace(ACTING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
}

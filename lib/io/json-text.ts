// JSON as trainers write it, and as we do.

/** End of the string that begins at `start` (a quotation mark): the position behind the closing mark. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; ++at) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") ++slashes;
    if (slashes % 2 === 0) return at + 1;
  }
}

/** Quotes the bare NaN, Infinity and -Infinity of Python's json module, outside of strings. */
function quoteConstants(text: string): string {
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const mark = text.indexOf('"', at);
    const until = mark < 0 ? text.length : mark;
    parts.push(text.slice(at, until).replace(/-?\b(?:NaN|Infinity)\b/g, '"$&"'));
    if (mark < 0) break;
    at = endOfString(text, mark);
    parts.push(text.slice(mark, at));
  }
  return parts.join("");
}

/**
 * The value of a JSON text. NaN, Infinity and -Infinity, which Python writes and JSON does not know, come as those strings.
 *
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!/NaN|Infinity/.test(text)) throw error;
    return JSON.parse(quoteConstants(text));
  }
}

/** A float64 as text that gives the same bits when read (of NaN: a NaN). */
export function numberText(x: number): string {
  if (Number.isFinite(x)) return Object.is(x, -0) ? "-0" : String(x);
  return `"${x}"`;
}

export function numbersText(numbers: ArrayLike<number>): string {
  let text = "[";
  for (let i = 0; i < numbers.length; ++i) text += i === 0 ? numberText(numbers[i]!) : `,${numberText(numbers[i]!)}`;
  return `${text}]`;
}

/** Any JSON value; numbers that JSON cannot spell as in `numberText`, int64 beyond 2^53 as strings. */
export function valueText(value: unknown): string {
  const text = JSON.stringify(value, (_, item: unknown) => {
    if (typeof item === "number" && !Number.isFinite(item)) return String(item);
    if (typeof item === "bigint") return Number.isSafeInteger(Number(item)) ? Number(item) : String(item);
    return item;
  }) as string | undefined;
  return text ?? "null";
}

// Small changes of a file: of bytes, and of the values of a JSON text.
import type { Draw } from "../draw";

/** Words that readers know, and words that JavaScript knows. */
const KEYS = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "length",
  "text",
  "prompt",
  "completion",
  "choices",
  "logprobs",
  "content",
  "token_ids",
  "prompt_token_ids",
  "top_logprobs",
  "meta_info",
  "output_ids",
  "output_token_logprobs",
  "reward",
  "rewards",
  "step",
  "group",
  "meta",
  "usage",
  "response",
  "body",
  "error",
  "finish_reason",
  "shape",
  "dtype",
  "data_offsets",
];
const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  0.5,
  1e308,
  -9999,
  2 ** 31,
  2 ** 53,
  "",
  "a",
  "NaN",
  "token_id:99999999999",
  "token_id:3",
  "__proto__",
  [],
  [[]],
  [null],
  [0, 1],
  ["a"],
  {},
  [{}],
  { polluted: 1 },
  { __proto__: null, constructor: { prototype: { polluted: 1 } } },
];
const WORDS = [
  "NaN",
  "Infinity",
  "-Infinity",
  "1e999",
  "-0",
  "\\u0000",
  "\\ud800",
  "\u00ef\u00bb\u00bf",
  "\n",
  "\r\n",
  "{}",
  "[",
  "]",
  '"',
  "null",
  "F32",
  "BF16",
  "'descr': '<f8'",
  "(3,)",
  "PAR1",
];

type Json = unknown;

/** As JSON; what has none (a line that was no JSON) as null. */
const textOf = (value: Json): string => (value === undefined ? "null" : JSON.stringify(value));

/** The value with one of its inner values changed, wherever the draw leads. */
function changed(d: Draw, value: Json, other: Json): Json {
  const inner = typeof value === "object" && value !== null ? Object.keys(value) : [];
  if (inner.length === 0 || d.unit() < 0.15) {
    const way = d.int(0, 5);
    if (way === 0) return [value];
    if (way === 1) return { [d.pick(KEYS)]: value };
    if (way === 2) return other;
    return d.pick(VALUES);
  }
  const key = d.pick(inner);
  const entries = Object.entries(value as object) as [string, Json][];
  const way = d.int(0, 9);
  const next = entries.flatMap(([name, item]): [string, Json][] => {
    if (name !== key) return [[name, item]];
    if (way === 0) return [];
    if (way === 1)
      return [
        [name, item],
        [`${name}2`, item],
      ];
    if (way === 2) return [[d.pick(KEYS), item]];
    if (way === 3)
      return [
        [name, item],
        [d.pick(KEYS), d.pick(VALUES)],
      ];
    return [[name, changed(d, item, other)]];
  });
  if (Array.isArray(value)) return next.map(([, item]) => item);
  // As a text: "__proto__" is a field like any other there.
  return JSON.parse(`{${next.map(([name, item]) => `${JSON.stringify(name)}:${textOf(item)}`).join()}}`);
}

function valueOf(line: string): Json {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** One line of a text of JSON lines, or all of a JSON text, with a value changed; undefined where it is none. */
function mutateJson(d: Draw, part: Buffer, other: Buffer): Buffer | undefined {
  const lines = part.toString("utf8").split("\n");
  const at = d.int(0, lines.length - 1);
  const value = valueOf(lines[at]!);
  if (value === undefined) return undefined;
  const foreign = valueOf(d.pick(other.toString("utf8").split("\n")));
  lines[at] = textOf(changed(d, value, foreign));
  return Buffer.from(lines.join("\n"));
}

function mutateBytes(d: Draw, part: Buffer, other: Buffer): Buffer {
  const at = d.int(0, part.length);
  const end = Math.min(part.length, at + d.int(0, d.pick([1, 4, 32])));
  const splice = (middle: Buffer): Buffer => Buffer.concat([part.subarray(0, at), middle, part.subarray(end)]);
  const way = d.int(0, 6);
  if (way === 0) return part.subarray(0, at);
  if (way === 1) return splice(Buffer.from(d.pick(WORDS), "latin1"));
  if (way === 2) return splice(other.subarray(d.int(0, other.length)));
  if (way === 3) return splice(Buffer.concat([part.subarray(at, end), part.subarray(at, end)]));
  if (way === 4) return splice(Buffer.alloc(end - at, d.pick([0, 255, 127, 32])));
  return splice(Buffer.from(Array.from({ length: end - at || 1 }, () => d.int(0, 255))));
}

/** A part of a file with one to four changes. */
export function mutate(d: Draw, part: Buffer, other: Buffer): Buffer {
  let now = part;
  for (let edits = d.int(1, 4); edits > 0; --edits)
    now = (d.unit() < 0.6 ? mutateJson(d, now, other) : undefined) ?? mutateBytes(d, now, other);
  return now;
}

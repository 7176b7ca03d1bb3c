// An answer as parts: sets, intervals, tuples, matrices and lists, down to expressions.
import { assignment, matching, plainNotation } from "./notation";

export type Structure =
  | { readonly kind: "leaf"; readonly text: string }
  /** Brackets with two parts or more: tuples, points, intervals. Order counts, and so do the brackets. */
  | { readonly kind: "group"; readonly open: string; readonly close: string; readonly items: readonly Structure[] }
  /** Braces, lists without brackets, unions: in any order. */
  | { readonly kind: "set"; readonly items: readonly Structure[] }
  | { readonly kind: "matrix"; readonly rows: readonly (readonly Structure[])[] };

/** Parts between separators that stand outside of all brackets. */
function split(text: string, separator: RegExp): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; ++i) {
    if ("([{".includes(text[i]!)) ++depth;
    else if (")]}".includes(text[i]!)) --depth;
    else if (depth === 0) {
      separator.lastIndex = i;
      const match = separator.exec(text);
      if (match && match[0] !== "") {
        parts.push(text.slice(start, i));
        i += match[0].length - 1;
        start = i + 1;
      }
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim());
}

function readMatrix(text: string): Structure | null {
  const latex = /^\\begin\{([pbvBV]?matrix|array)\}(?:\{[^{}]*\})?([\s\S]*)\\end\{\1\}$/.exec(text);
  if (latex) {
    const rows = split(latex[2]!, /\\\\/y).filter((row) => row !== "");
    return { kind: "matrix", rows: rows.map((row) => split(row, /&/y).map(read)) };
  }
  if (!/^\[\s*\[/.test(text) || matching(text, 0) !== text.length - 1) return null;
  const rows = split(text.slice(1, -1), /,/y);
  if (!rows.every((row) => row.startsWith("[") && matching(row, 0) === row.length - 1)) return null;
  return { kind: "matrix", rows: rows.map((row) => split(row.slice(1, -1), /,/y).map(read)) };
}

function readGroup(text: string): Structure | null {
  const braces = /^\\\{([\s\S]*)\\\}$/.exec(text) ?? /^\{([\s\S]*)\}$/.exec(text);
  if (braces) {
    const inner = braces[1]!.trim();
    return { kind: "set", items: inner === "" ? [] : split(inner, /,/y).map(read) };
  }
  if (!/^[([]/.test(text) || matching(text, 0) !== text.length - 1) return null;
  const items = split(text.slice(1, -1), /,/y);
  if (items.length < 2) return text.startsWith("(") ? read(text.slice(1, -1)) : null;
  return { kind: "group", open: text[0]!, close: text.at(-1)!, items: items.map(read) };
}

function read(given: string): Structure {
  const text = plainNotation(given);
  const matrix = readMatrix(text);
  if (matrix) return matrix;
  if (/^(?:\\emptyset|\\varnothing|∅)$/.test(text)) return { kind: "set", items: [] };
  for (const separator of [/\\cup(?![a-zA-Z])/y, /,|;|\band\b|\bor\b/y]) {
    const parts = split(text, separator).filter((part) => part !== "");
    if (parts.length > 1) return { kind: "set", items: unnamed(parts).map(read) };
  }
  const group = readGroup(text);
  if (group) return group;
  const both = /^(.*?)\\pm\s*(.+)$/s.exec(text);
  if (both)
    return {
      kind: "set",
      items: [read(`${both[1]!}${both[1]!.trim() === "" ? "" : "+"}${both[2]!}`), read(`${both[1]!}-${both[2]!}`)],
    };
  return { kind: "leaf", text };
}

/** `x = 1 or x = 2` gives two values of one unknown; `x = 1, y = 2` two equations. */
function unnamed(parts: readonly string[]): readonly string[] {
  const assigned = parts.map((part) => assignment(plainNotation(part)));
  const [first] = assigned;
  if (!first || !assigned.every((each) => each === null || each.name === first.name)) return parts;
  return parts.map((part, i) => assigned[i]?.value ?? part);
}

/**
 * Two answers, LaTeX or plain. `x = 5` answers 5, where the other says 5 or names the same unknown; two other equations stay equations.
 */
export function readStructures(first: string, second: string): readonly [Structure, Structure] {
  const [a, b] = [plainNotation(first), plainNotation(second)];
  const [x, y] = [assignment(a), assignment(b)];
  if (x && y) return x.name === y.name ? [read(x.value), read(y.value)] : [read(a), read(b)];
  return [read(x && !b.includes("=") ? x.value : a), read(y && !a.includes("=") ? y.value : b)];
}

// Columns of text: the first to the left, numbers to the right. A cell is one line, whatever is in it.
import { visible } from "../../report/visible";

/** Lines of at most what their cells need; the last one ends with a newline. */
export function table(head: readonly string[], cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(visible));
  const widths = head.map((title, c) => rows.reduce((width, row) => Math.max(width, row[c]!.length), title.length));
  const line = (row: readonly string[]): string =>
    `${row
      .map((cell, c) => (c === 0 ? cell.padEnd(widths[c]!) : cell.padStart(widths[c]!)))
      .join("  ")
      .trimEnd()}\n`;
  return [head, widths.map((width) => "-".repeat(width)), ...rows].map(line).join("");
}

/** A number in few characters; four digits that count. */
export function brief(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e6 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
}

export const percent = (share: number): string => `${Number((100 * share).toFixed(1))} %`;

/** A line for each file that was written. */
export const wrote = (files: readonly string[]): string => files.map((file) => `wrote ${visible(file)}\n`).join("");

/** `name  value` lines, indented. */
export function facts(entries: Readonly<Record<string, number | string>>, indent = "  "): string {
  const lines = Object.entries(entries).map(([name, value]) => [
    visible(name),
    typeof value === "number" ? brief(value) : visible(value),
  ]);
  const width = Math.max(0, ...lines.map(([name]) => name!.length));
  return lines.map(([name, value]) => `${indent}${name!.padEnd(width)}  ${value!}\n`).join("");
}

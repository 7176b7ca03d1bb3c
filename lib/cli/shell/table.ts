// Columns of text: the first to the left, numbers to the right.

/** Lines of at most what their cells need; the last one ends with a newline. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, c) => Math.max(title.length, ...rows.map((row) => row[c]!.length)));
  const line = (cells: readonly string[]): string =>
    `${cells
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

/** `name  value` lines, indented. */
export function facts(entries: Readonly<Record<string, number | string>>, indent = "  "): string {
  const names = Object.keys(entries);
  const width = Math.max(0, ...names.map((name) => name.length));
  return names
    .map(
      (name) =>
        `${indent}${name.padEnd(width)}  ${typeof entries[name] === "number" ? brief(entries[name]) : entries[name]!}\n`,
    )
    .join("");
}

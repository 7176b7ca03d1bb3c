// Whether a program printed what it should have.

export const OUTPUT_COMPARISONS = ["lines", "exact", "tokens"] as const;

/**
 * `"lines"`: equal but for blanks at the ends of lines and empty lines at the end. `"exact"`: every character. `"tokens"`: the same
 * words between blanks, where words that are both numbers may differ by `tolerance`.
 */
export type OutputComparison = (typeof OUTPUT_COMPARISONS)[number];

const lines = (text: string): string => text.replaceAll(/[ \t\r]+$/gm, "").replace(/\n+$/, "");
const tokens = (text: string): string[] => text.split(/\s+/).filter((token) => token !== "");

function sameToken(got: string, want: string, tolerance: number): boolean {
  if (got === want) return true;
  const [a, b] = [Number(got), Number(want)];
  return Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b));
}

export function sameOutput(got: string, want: string, comparison: OutputComparison, tolerance: number): boolean {
  if (comparison === "exact") return got === want;
  if (comparison === "lines") return lines(got) === lines(want);
  const [a, b] = [tokens(got), tokens(want)];
  return a.length === b.length && a.every((token, i) => sameToken(token, b[i]!, tolerance));
}

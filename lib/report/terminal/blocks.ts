// Pictures in block characters.

const HEIGHTS = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const WIDTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];

/** One character a count, as high as its share of the largest; what is not zero shows. */
export function bars(counts: readonly number[]): string {
  const most = Math.max(...counts, 1);
  return counts.map((count) => HEIGHTS[count === 0 ? 0 : Math.max(1, Math.round((count / most) * 8))]!).join("");
}

/** Counts for `width` columns: several columns each where there is room, else added up in heaps of neighbours. */
export function heaped(counts: readonly number[], width: number): number[] {
  const room = Math.floor(width / counts.length);
  if (room > 0) return counts.flatMap((count) => new Array<number>(Math.min(room, 8)).fill(count));
  const size = Math.ceil(counts.length / width);
  return Array.from({ length: Math.ceil(counts.length / size) }, (_, heap) =>
    counts.slice(heap * size, (heap + 1) * size).reduce((sum, count) => sum + count, 0),
  );
}

/** One character a value, between the smallest and the largest of them. Missing values leave a gap. */
export function sparkline(values: readonly (number | null)[]): string {
  const known = values.flatMap((value) => value ?? []);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const height = (value: number): number => (most > least ? 1 + Math.round(((value - least) / (most - least)) * 7) : 4);
  return values.map((value) => (value === null ? " " : HEIGHTS[height(value)]!)).join("");
}

/** A bar of `width` columns that is filled up to `share`, in eighths of a column. */
export function meter(share: number, width: number): string {
  const eighths = Math.round(Math.max(0, Math.min(1, share)) * width * 8);
  return "█".repeat(eighths >> 3) + WIDTHS[eighths & 7]!;
}

// Checked rows as options of the ops underneath.
import type { RowLayout, Rows } from "../core/rows";

/** The layout that needRows() checked. */
export function layoutOfRows({ offsets, B, T }: Rows): RowLayout {
  return offsets ? { offsets } : { shape: [B, T] };
}

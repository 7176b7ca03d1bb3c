// Rows of span operations: as everywhere, and one flat array alone is one row.
import { shapeError } from "../../core/errors";
import { needRows, type RowLayout, type Rows } from "../../core/row-layout";

/** Rows and tokens of a row are numbered in int32. */
const LIMIT = 2 ** 31 - 1;

/** `shape` or `offsets` as given, else all `length` elements as one row. */
export function needSpanRows(op: string, layout: RowLayout, length?: number): Rows {
  const oneRow = length !== undefined && layout.shape === undefined && layout.offsets === undefined;
  const rows: Rows = oneRow ? { n: length, B: 1, T: length, offsets: null, meaning: "one row" } : needRows(op, layout);
  if (rows.B > LIMIT || rows.T > LIMIT)
    throw shapeError(op, "shape", layout.shape, `at most ${LIMIT} rows and tokens per row`);
  return rows;
}

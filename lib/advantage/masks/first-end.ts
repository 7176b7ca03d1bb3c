// The first end token of each row, for the masks that stop there.
import type { BackendOption } from "../../backend/select";
import { needIds, type TokenIds } from "../../core/arrays";
import { shapeError } from "../../core/errors";
import { layoutOf, rowBegin, rowEnd, type RowLayout, type Rows } from "../../core/row-layout";
import { findSpans, spanMask } from "../../ops/delim";

/** One id or several, each of which ends a row by itself. */
export type EndIds = number | TokenIds;

export function needEndIds(op: string, name: string, value: EndIds): Int32Array {
  const ids = needIds(op, name, typeof value === "number" ? [value] : value);
  if (ids.length === 0) throw shapeError(op, name, value, "one id at least");
  return ids;
}

export interface FirstEnds {
  /** 1 up to and including the first end token of the row, 0 behind it; all 1 without one. */
  readonly mask: Uint8Array;
  /** Where that token stands in its row; the row's length without one. */
  readonly positions: Int32Array;
}

/** An end token closes a span that is open from the row's first token. */
export function firstEnds(
  tokens: Int32Array,
  ends: Int32Array,
  rows: Rows,
  layout: RowLayout,
  backend: BackendOption,
): FirstEnds {
  const end = Array.from(ends, (id) => [id]);
  // A start delimiter must be named; spans that it opens behind the first end are passed over.
  const found = findSpans(tokens, {
    ...layoutOf(layout),
    start: end,
    end,
    startsOpen: true,
    unterminated: "keep",
    ...backend,
  });
  const positions = Int32Array.from({ length: rows.B }, (_, b) => rowEnd(rows, b) - rowBegin(rows, b));
  const opening: number[] = [];
  for (let s = 0; s < found.count; ++s) {
    if (found.startAlternatives[s] !== -1) continue;
    const [row, finish] = [found.rows[s]!, found.finishes[s]!];
    opening.push(row, 0, finish);
    if (found.endAlternatives[s] !== -1) positions[row] = finish - 1;
  }
  return { mask: spanMask(Int32Array.from(opening), { ...layoutOf(layout), ...backend }), positions };
}

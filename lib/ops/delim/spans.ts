// A list of spans, as findSpans answers it.

/** Spans by row, then in the order in which they open (a head first). */
export interface Spans {
  readonly count: number;
  /** [count,3]: row, begin, finish. Begin and finish count from the row's first token; finish is exclusive. */
  readonly spans: Int32Array;
  /** The columns of `spans`, [count] each. */
  readonly rows: Int32Array;
  readonly begins: Int32Array;
  readonly finishes: Int32Array;
  /** Which alternative of `start` opened the span; −1: the row started open, −2: it is the head. */
  readonly startAlternatives: Int32Array;
  /** Which alternative of `end` closed the span; −1: none did. Of a head: which alternative of `head` it is. */
  readonly endAlternatives: Int32Array;
}

/** Column k of a [count, width] array. */
function column(table: Int32Array, width: number, k: number): Int32Array {
  const out = new Int32Array(table.length / width);
  for (let i = 0; i < out.length; ++i) out[i] = table[i * width + k]!;
  return out;
}

/** The first `count` of what a backend wrote. */
export function listSpans(count: number, written: Int32Array, alternatives: Int32Array): Spans {
  const spans = written.slice(0, 3 * count);
  const which = alternatives.subarray(0, 2 * count);
  return {
    count,
    spans,
    rows: column(spans, 3, 0),
    begins: column(spans, 3, 1),
    finishes: column(spans, 3, 2),
    startAlternatives: column(which, 2, 0),
    endAlternatives: column(which, 2, 1),
  };
}

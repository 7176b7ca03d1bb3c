// A list of spans, as findSpans returns it.

/** Spans by row, then in the order in which they open (a head first). */
export interface Spans {
  readonly count: number;
  /** [count,3]: row, begin, finish. Begin and finish count from the row's first token; finish is exclusive. */
  readonly spans: Int32Array;
  /** The columns of `spans`, [count] each. With more than 512 spans each is made when it is first read. */
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
  for (let i = 0, at = k; i < out.length; ++i, at += width) out[i] = table[at]!;
  return out;
}

/** Beyond so many spans a column is made when it is read: making all of them costs as much as finding the spans. */
const MOST_AT_ONCE = 512;

/** As they are read: each once, from the columns of `spans` and `which`. */
function columnsWhenRead(count: number, spans: Int32Array, which: Int32Array): Spans {
  const known: (Int32Array | undefined)[] = [];
  return {
    count,
    spans,
    get rows() {
      return (known[0] ??= column(spans, 3, 0));
    },
    get begins() {
      return (known[1] ??= column(spans, 3, 1));
    },
    get finishes() {
      return (known[2] ??= column(spans, 3, 2));
    },
    get startAlternatives() {
      return (known[3] ??= column(which, 2, 0));
    },
    get endAlternatives() {
      return (known[4] ??= column(which, 2, 1));
    },
  };
}

/** The first `count` of what a backend wrote, into arrays that no one else holds unless they are `kept` for other calls. */
export function listSpans(count: number, written: Int32Array, alternatives: Int32Array, kept = false): Spans {
  const whole = !kept && written.length === 3 * count;
  const spans = whole ? written : written.slice(0, 3 * count);
  const which = whole ? alternatives : alternatives.slice(0, 2 * count);
  if (count > MOST_AT_ONCE) return columnsWhenRead(count, spans, which);
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

// Tokens on lines. Lines have one height, so that the place of each is known without drawing it: that is what lets
// 100,000 tokens scroll.

const ROW_HEIGHT = 34;
/** Beside its text a token takes padding (2 × 3 px) and a margin (2 × 1 px). */
const TOKEN_SPACE = 8;
/** Spans are indented by their frame. */
const FRAME_SPACE = 24;

/**
 * A line of tokens from … to - 1 within span number `span` (-1: none), or with from = to the heading of that span.
 * @typedef {{ from: number, to: number, span: number, end: boolean }} Row
 */

/** Widths of the distinct texts, measured once per font. */
class Widths {
  /** @param {HTMLElement} where an element that has the font of the tokens */
  constructor(where) {
    // Not the shorthand: it is empty where ligatures are off.
    const { fontStyle, fontWeight, fontSize, fontFamily } = getComputedStyle(where);
    this.context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    this.context.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
    /** @type {Float64Array} */
    this.known = new Float64Array(pageData.pieces.length).fill(-1);
  }

  /** @param {number} piece */
  of(piece) {
    if (this.known[piece] < 0)
      this.known[piece] = Math.ceil(this.context.measureText(pageData.pieces[piece]).width) + TOKEN_SPACE;
    return this.known[piece];
  }
}

/**
 * A span begins and ends with a line of its own; a piece that ends a line ends it.
 * @param {PageRollout} rollout @param {Widths} widths @param {number} room in CSS pixels
 * @returns {Row[]}
 */
function layOut({ pieces, spans }, widths, room) {
  /** @type {Row[]} */
  const rows = [];
  const lineUp = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ span) => {
    const wide = room - FRAME_SPACE;
    let first = from;
    let taken = 0;
    for (let token = from; token < to; ++token) {
      const width = Math.min(widths.of(pieces[token]), wide);
      if (taken + width > wide && token > first) {
        rows.push({ from: first, to: token, span, end: false });
        first = token;
        taken = 0;
      }
      taken += width;
      // A line that is nothing but its end goes on with what follows.
      if (pageData.breaks[pieces[token]] && token > first && token + 1 < to) {
        rows.push({ from: first, to: token + 1, span, end: false });
        first = token + 1;
        taken = 0;
      }
    }
    if (first < to) rows.push({ from: first, to, span, end: span >= 0 });
  };
  let token = 0;
  spans.forEach(({ begin, finish }, span) => {
    lineUp(token, begin, -1);
    rows.push({ from: begin, to: begin, span, end: false });
    lineUp(begin, finish, span);
    token = finish;
  });
  lineUp(token, pieces.length, -1);
  return rows;
}

/** The line of a token, by bisection. @param {Row[]} rows @param {number} token */
function rowOf(rows, token) {
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].to <= token) low = middle + 1;
    else high = middle;
  }
  return low;
}

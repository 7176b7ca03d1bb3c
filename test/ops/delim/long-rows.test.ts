// Rows of more tokens than a device walks as one: cut into tiles, of which many make a group.
import { findSpans } from "surprisal";
import { type SpanRules, spansOracle } from "../../oracle/delim";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import { listed } from "./cases";

const TILE = 1024;
/** More than 512 tiles, and a last one that is not whole. */
const LONG = 513 * TILE + 77;

/** Delimiters [7, 8] and [5] here and there, one after the other or not; never across a tile's end. */
function scattered(seed: number): Int32Array {
  const r = rng(seed);
  const tokens = r.i32(LONG, 100, 1000);
  for (let at = 3; at + 2 < LONG; at += 20 + Math.floor(r.uniform() * 4000)) {
    if (at % TILE > TILE - 3) continue;
    if (r.uniform() < 0.5) tokens.set([7, 8], at);
    else tokens[at] = 5;
  }
  return tokens;
}

eachBackend((backend) => {
  const RULES: SpanRules = { start: [[7, 8]], end: [[5]], unterminated: "keep" };

  const agree = (tokens: Int32Array, rules: SpanRules, least: number) => {
    const wanted = spansOracle([Array.from(tokens)], rules);
    expect(wanted.length).toBeGreaterThanOrEqual(least);
    expect(listed(findSpans(tokens, { shape: [1, LONG], ...rules, backend }))).toEqual(wanted);
  };

  test("a row of 513 tiles", () => agree(scattered(1), RULES, 100));

  test("with a head, from inside of a span, by several alternatives", () =>
    agree(
      scattered(2),
      { start: [[7, 8], [5]], end: [[7, 8, 9], [5], [8]], head: [[5]], startsOpen: true, unterminated: "drop" },
      100,
    ));

  test("where matches reach across the ends of tiles, and what lies under them could match too", () => {
    const tokens = scattered(3);
    for (const tile of [1, 2, 200, 511, 512, 513]) tokens.set([7, 7, 7, 7, 7], tile * TILE - 2);
    agree(
      tokens,
      {
        start: [
          [7, 7],
          [7, 8],
        ],
        end: [[7, 7], [5]],
      },
      100,
    );
  });

  test("one delimiter in all, far from either end", () => {
    const tokens = new Int32Array(LONG).fill(3);
    tokens.set([7, 8], 300 * TILE);
    agree(tokens, RULES, 1);
  });
});

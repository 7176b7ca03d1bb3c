// Rows of more tokens than a device walks as one: cut into tiles, of which many make a group.
import { findSpans } from "surprisal";
import { type SpanRules, spansOracle } from "../../oracle/delim";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import { listed } from "./cases";

const TILE = 1024;
/** More than 256 tiles, and a last one that is not whole. */
const LONG = 257 * TILE + 77;

/** Delimiters [7, 8] and [5] here and there, one after the other or not; never across a tile's end. */
function scattered(seed: number): Int32Array {
  const r = rng(seed);
  const tokens = r.i32(LONG, 100, 1000);
  for (let at = 3; at + 2 < LONG; at += 20 + Math.floor(r.uniform() * 700)) {
    if (at % TILE > TILE - 3) continue;
    if (r.uniform() < 0.5) tokens.set([7, 8], at);
    else tokens[at] = 5;
  }
  return tokens;
}

interface LongCase {
  readonly tokens: Int32Array;
  readonly rules: SpanRules;
  readonly least: number;
}

function reaching(): Int32Array {
  const tokens = scattered(3);
  for (const tile of [1, 2, 200, 255, 256, 257]) tokens.set([7, 7, 7, 7, 7], tile * TILE - 2);
  return tokens;
}

function alone(): Int32Array {
  const tokens = new Int32Array(LONG).fill(3);
  tokens.set([7, 8], 130 * TILE);
  return tokens;
}

/** Spans of nothing, whose start ends at the end of a tile or one token behind it. */
function empty(): Int32Array {
  const tokens = scattered(4);
  for (const tile of [1, 100, 256]) tokens.set([7, 8, 5], tile * TILE - 2);
  for (const tile of [2, 200, 257]) tokens.set([7, 8, 5], tile * TILE - 1);
  return tokens;
}

/** The last token has a tile to itself, and closes a span. */
function oneMore(): Int32Array {
  const tokens = scattered(5).slice(0, 20 * TILE + 1);
  tokens.set([7, 8, 3, 3, 5], tokens.length - 5);
  return tokens;
}

const RULES: SpanRules = { start: [[7, 8]], end: [[5]], unterminated: "keep" };
const CASES: Readonly<Record<string, LongCase>> = {
  "a row of 257 tiles": { tokens: scattered(1), rules: RULES, least: 100 },
  "with a head, from inside of a span, by several alternatives": {
    tokens: scattered(2),
    rules: { start: [[7, 8], [5]], end: [[7, 8, 9], [5], [8]], head: [[5]], startsOpen: true, unterminated: "drop" },
    least: 100,
  },
  "where matches reach across the ends of tiles, and what lies under them could match too": {
    tokens: reaching(),
    rules: {
      start: [
        [7, 7],
        [7, 8],
      ],
      end: [[7, 7], [5]],
    },
    least: 100,
  },
  "where nothing lies between a start at the end of a tile and an end in the next": {
    tokens: empty(),
    rules: { ...RULES, includeEnd: "none" },
    least: 100,
  },
  "a last tile of one token, which is a delimiter": { tokens: oneMore(), rules: RULES, least: 10 },
  "one delimiter in all, far from either end": { tokens: alone(), rules: RULES, least: 1 },
};
// Once for all backends.
const WANTED = new Map(
  Object.entries(CASES).map(([name, { tokens, rules }]) => [name, spansOracle([Array.from(tokens)], rules)]),
);

eachBackend((backend) => {
  test.each(Object.entries(CASES))("%s", (name, { tokens, rules, least }) => {
    const wanted = WANTED.get(name)!;
    expect(wanted.length).toBeGreaterThanOrEqual(least);
    expect(listed(findSpans(tokens, { shape: [1, tokens.length], ...rules, backend }))).toEqual(wanted);
  });
});

import { readFileSync } from "node:fs";
import * as path from "node:path";

import { type FindSpansOptions, findSpans } from "surprisal";
import { spansOracle } from "../../oracle/delim";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import { listed, randomCase, ranges } from "./cases";

interface GoldenInputs {
  tokens: { data: number[] };
  start: number[];
  end: number[];
  head?: number[] | null;
  starts_open?: boolean;
  overlapping?: boolean;
  include_end?: "all" | "first" | "none";
  unterminated?: "drop" | "keep";
}

interface GoldenCase {
  name: string;
  inputs: GoldenInputs;
  outputs: { segments?: { data: number[] }; throws?: string };
}

function golden(name: string): GoldenCase[] {
  const file = path.join(__dirname, "..", "..", "golden", "empg", `${name}.json`);
  return (JSON.parse(readFileSync(file, "utf8")) as { cases: GoldenCase[] }).cases;
}

/** Every start opens, the first token of the end is part of the span, a head counts. */
const LITERAL = { overlapping: true, includeEnd: "first" } as const;

eachBackend((backend) => {
  const onRow = (tokens: readonly number[], options: Omit<FindSpansOptions, "backend">) =>
    findSpans(tokens, { ...options, backend });

  describe("numbers made elsewhere", () => {
    test.each(golden("find_delimited_segments").map((c) => [c.name, c] as const))("%s", (_, { inputs, outputs }) => {
      const { tokens, start, end, head = null } = inputs;
      const run = () => onRow(tokens.data, { ...LITERAL, start, end, head });
      if (outputs.throws) expect(run).toThrow(expect.objectContaining({ code: "ERR_SURPRISAL_SHAPE" }));
      else expect(ranges(run()).flat()).toEqual(outputs.segments!.data);
    });

    test.each(golden("find_delimited_segments_options").map((c) => [c.name, c] as const))(
      "%s",
      (_, { inputs, outputs }) => {
        const { tokens, start, end, starts_open: startsOpen = false, overlapping = false } = inputs;
        const { include_end: includeEnd = "all", unterminated = "drop" } = inputs;
        const found = onRow(tokens.data, { start, end, startsOpen, overlapping, includeEnd, unterminated });
        expect(ranges(found).flat()).toEqual(outputs.segments!.data);
      },
    );
  });

  // Rows up to 20 tokens show every collision of rules; up to 100 they pass several windows of 32, which the kernels use.
  // The emulated machine is some hundred times slower, and the same kernel text runs whatever the seed.
  const slow = backend === "emulated";
  test.each([
    [20, slow ? 250 : 4000],
    [100, slow ? 40 : 500],
  ])("random batches of rows up to %i tokens equal the definition", (longest, cases) => {
    for (let seed = 0; seed < cases; ++seed) {
      const { rows, rules, tokens, layout } = randomCase(seed, longest);
      const got = listed(findSpans(tokens, { ...layout, ...rules, backend }));
      const want = spansOracle(rows, rules);
      if (JSON.stringify(got) !== JSON.stringify(want))
        expect({ seed, rows, rules, spans: got }).toEqual({ seed, rows, rules, spans: want });
    }
  });

  test("a row alone gives what it gives in a batch", () => {
    for (let seed = 0; seed < 20; ++seed) {
      const { rows, rules, tokens, layout } = randomCase(seed + 10_000, 40);
      const alone = rows.flatMap((row, b) => listed(onRow(row, rules)).map((span) => ({ ...span, row: b })));
      expect(listed(findSpans(tokens, { ...layout, ...rules, backend }))).toEqual(alone);
    }
  });

  test("more rows than a block holds come out in order", () => {
    const B = 300;
    const rows = Array.from({ length: B }, (_, b) => Array.from({ length: (b * 7) % 11 }, (__, t) => (b + t) % 3));
    const offsets = Int32Array.from([0, ...rows.map((row) => row.length)]);
    for (let b = 0; b < B; ++b) offsets[b + 1]! += offsets[b]!;
    const rules = { start: [[0]], end: [[2]], overlapping: true };
    const found = findSpans(Int32Array.from(rows.flat()), { offsets, ...rules, backend });
    expect(listed(found)).toEqual(spansOracle(rows, rules));
  });

  test("the longest alternative wins wherever it is listed, of equal ones the first", () => {
    const found = onRow([7, 1, 2, 9, 4, 5, 1, 9, 4], { start: [[1], [1, 2], [1, 2]], end: [[4], [4, 5]] });
    expect(listed(found)).toEqual([
      { row: 0, begin: 3, finish: 6, startAlternative: 1, endAlternative: 1 },
      { row: 0, begin: 7, finish: 9, startAlternative: 0, endAlternative: 0 },
    ]);
  });

  test("hundreds of alternatives are told apart", () => {
    const r = rng(5);
    const delimiter = (count: number) =>
      Array.from({ length: count }, () => Array.from(r.i32(1 + Math.floor(3 * r.uniform()), -300, 300)));
    const rules = { start: delimiter(100), end: delimiter(300), overlapping: true };
    const row = Array.from(r.i32(700, -300, 300));
    for (let k = 0; k < 40; ++k) row.splice(17 * k, 0, ...rules.start[k]!, ...rules.end[7 * k]!);
    expect(listed(onRow(row, rules))).toEqual(spansOracle([row], rules));
    expect(onRow(row, rules).count).toBeGreaterThanOrEqual(40); // what was put in
  });

  test("an end that overlaps the tail of its start is not seen", () => {
    expect(ranges(onRow([12, 28, 34, 5, 28, 34], { start: [12, 28], end: [28, 34] }))).toEqual([[2, 6]]);
  });

  test("a short start behind a long one still sees the end between them", () => {
    // At 0 the long alternative opens a span at 5, whose end is at 7; at 1 the short one opens a span at 2, closed at 3.
    const tokens = [1, 1, 2, 9, 1, 3, 3, 9];
    const rules = { start: [[1, 1, 2, 9, 1], [1]], end: [[9]], overlapping: true };
    expect(ranges(onRow(tokens, rules))).toEqual([
      [5, 8],
      [2, 4],
      [5, 8],
    ]);
    expect(listed(onRow(tokens, rules))).toEqual(spansOracle([tokens], rules));
  });

  test("an empty span counts with its terminator and is not listed without", () => {
    const tokens = [1, 2, 1, 2];
    expect(ranges(onRow(tokens, { start: [1], end: [2] }))).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(onRow(tokens, { start: [1], end: [2], includeEnd: "none" }).count).toBe(0);
  });

  test("an unclosed span ends the search, or reaches to the end of the row where it is kept", () => {
    const tokens = [1, 5, 1, 6];
    expect(onRow(tokens, { start: [1], end: [2] }).count).toBe(0);
    const kept = onRow(tokens, { start: [1], end: [2], unterminated: "keep" });
    expect(listed(kept)).toEqual([{ row: 0, begin: 1, finish: 4, startAlternative: 0, endAlternative: -1 }]);
    expect(ranges(onRow(tokens, { start: [1], end: [2], unterminated: "keep", overlapping: true }))).toEqual([
      [1, 4],
      [3, 4],
    ]);
    // A start at the very end of the row opens nothing.
    expect(onRow([6, 1], { start: [1], end: [2], unterminated: "keep" }).count).toBe(0);
  });

  test("a row that starts open needs no start delimiter", () => {
    const found = onRow([5, 6, 2, 1, 7, 2], { start: [1], end: [2], startsOpen: true });
    expect(listed(found)).toEqual([
      { row: 0, begin: 0, finish: 3, startAlternative: -1, endAlternative: 0 },
      { row: 0, begin: 4, finish: 6, startAlternative: 0, endAlternative: 0 },
    ]);
  });

  test("a head comes first in its row, whatever lies inside it", () => {
    const rules = { start: [1], end: [2], head: [[8], [2, 8]], startsOpen: true };
    const row = [1, 5, 2, 8, 1, 6, 2];
    const found = findSpans([...row, ...row], { shape: [2, 7], ...rules, backend });
    const once = [
      [0, 4],
      [0, 3],
      [5, 7],
    ];
    expect(ranges(found)).toEqual([...once, ...once]);
    expect(Array.from(found.startAlternatives)).toEqual([-2, -1, 0, -2, -1, 0]);
    expect(Array.from(found.endAlternatives)).toEqual([1, 0, 0, 1, 0, 0]);
    expect(onRow([1, 5, 2], { ...rules, startsOpen: false }).count).toBe(1);
  });

  test("padding behind a row's length never matches, nor do tokens of the next row", () => {
    const padded = [1, 5, 0, 0, 1, 6, 2, 0];
    const rules = { start: [1], end: [[2], [0, 0]], unterminated: "keep" as const };
    const found = findSpans(padded, { shape: [2, 4], lengths: [2, 3], ...rules, backend });
    expect(Array.from(found.spans)).toEqual([0, 1, 2, 1, 1, 3]);
    expect(Array.from(found.endAlternatives)).toEqual([-1, 0]);
    // A delimiter of two tokens, one in each row, is none.
    expect(findSpans([3, 1, 1, 4], { shape: [2, 2], start: [1, 1], end: [4], backend }).count).toBe(0);
    expect(findSpans([3, 1, 1, 4], { offsets: Int32Array.of(0, 2, 4), start: [1, 1], end: [4], backend }).count).toBe(
      0,
    );
  });

  test("no tokens, no rows and rows without tokens have no spans", () => {
    const rules = { start: [1], end: [2], startsOpen: true, unterminated: "keep", backend } as const;
    expect(findSpans([], rules).count).toBe(0);
    expect(findSpans([], { ...rules, shape: [0, 7] }).count).toBe(0);
    expect(findSpans([], { ...rules, shape: [3, 0] }).count).toBe(0);
    expect(findSpans([], { ...rules, offsets: Int32Array.of(0) }).count).toBe(0);
    expect(findSpans([4], { ...rules, offsets: Int32Array.of(0, 0, 1, 1) }).spans).toEqual(Int32Array.of(1, 0, 1));
    expect(findSpans([4, 4], { ...rules, shape: [2, 1], lengths: [0, 1] }).spans).toEqual(Int32Array.of(1, 0, 1));
  });

  test("whatever the room at the first attempt, all spans come back", () => {
    const { rows, rules, tokens, layout } = randomCase(77, 60);
    const want = spansOracle(rows, { ...rules, overlapping: true });
    expect(want.length).toBeGreaterThan(10);
    for (const capacity of [0, 1, want.length - 1, want.length, want.length + 1, 2 ** 40]) {
      const found = findSpans(tokens, { ...layout, ...rules, overlapping: true, capacity, backend });
      expect(listed(found)).toEqual(want);
      expect(found.spans).toHaveLength(3 * found.count);
    }
    // The default room for 1000 tokens is 126 spans.
    expect(onRow(new Array<number>(1000).fill(1), { start: [1], end: [1], overlapping: true }).count).toBe(999);
  });

  test.each([[1300], [2000]])("columns of many spans are those of the list, with room for %i", (capacity) => {
    const tokens = rng(21)
      .i32(2600, 0, 9)
      .map((id, i) => (i % 2 === 0 ? 1 : 2 + (id % 2)));
    const found = findSpans(tokens, { start: [1], end: [[2], [3]], capacity, backend });
    expect(found.count).toBe(1300);
    expect(found.spans).toHaveLength(3 * 1300);
    expect(Array.from(found.rows)).toEqual(new Array(1300).fill(0));
    expect(Array.from(found.begins)).toEqual(Array.from({ length: 1300 }, (_, s) => 2 * s + 1));
    expect(Array.from(found.finishes)).toEqual(Array.from({ length: 1300 }, (_, s) => 2 * s + 2));
    expect(Array.from(found.startAlternatives)).toEqual(new Array(1300).fill(0));
    expect(Array.from(found.endAlternatives)).toEqual(Array.from({ length: 1300 }, (_, s) => tokens[2 * s + 1]! - 2));
    expect(found.begins).toBe(found.begins);
    expect({ ...found }.finishes).toBe(found.finishes);
  });

  test("int64 tokens give what the same int32 tokens give", () => {
    for (let seed = 0; seed < 60; ++seed) {
      const { rules, tokens, layout } = randomCase(500 + seed, 300);
      const wide = BigInt64Array.from(tokens, BigInt);
      expect(findSpans(wide, { ...layout, ...rules, backend })).toEqual(
        findSpans(tokens, { ...layout, ...rules, backend }),
      );
    }
  });

  test("ids arrive as Int32Array, BigInt64Array or a plain array, over the whole range of int32", () => {
    const ids = [-(2 ** 31) + 1, 2 ** 31 - 1, 0, 7];
    const rules = {
      start: { ids: [-(2 ** 31) + 1, 2 ** 31 - 1] },
      end: [Int32Array.of(7), BigInt64Array.of(99n)],
      backend,
    };
    for (const tokens of [ids, Int32Array.from(ids), BigInt64Array.from(ids.map(BigInt))])
      expect(ranges(findSpans(tokens, rules))).toEqual([[2, 4]]);
  });

  describe("delimiters that change from call to call", () => {
    const tokens = [1, 7, 3, 2, 7, 4];
    const begins = (start: number[] | number[][], end: number[]): number[] => [
      ...findSpans(tokens, { start, end, backend }).begins,
    ];

    test("an id that was written into one", () => {
      const start = [1];
      expect(begins(start, [3])).toEqual([1]);
      start[0] = 2;
      expect(begins(start, [4])).toEqual([4]);
    });

    test.each([
      ["one more alternative", [[1], [2]], [1, 4]],
      ["another alternative", [[1], [3]], [1]],
      ["the ids of two as one", [1, 2], []],
      ["a longer one", [[1, 7]], [2]],
    ])("%s", (_, start, found) => {
      expect(begins([[1]], [3])).toEqual([1]);
      expect([...findSpans(tokens, { start, end: [[3], [4]], backend }).begins]).toEqual(found);
    });
  });
});

// Quadratic work would be 1e12 steps here: hours, far past the limit of a test.
eachBackend(
  (backend) => {
    const n = 1_000_000;
    const far = new Int32Array(n).fill(5);
    far[n - 1] = 2;

    test.each([
      ["no delimiter at all", { start: [1], end: [3] }, 0],
      ["a start at every token and one end, far away", { start: [5], end: [2], overlapping: true }, n - 1],
      [
        "a start at every token and no end",
        { start: [5], end: [3], overlapping: true, unterminated: "keep" as const },
        n - 1,
      ],
      ["starts of two lengths", { start: [[5, 5, 5, 5], [5]], end: [2], overlapping: true }, n - 1],
      [
        "hundreds of alternatives",
        { start: [5], end: Array.from({ length: 800 }, (__, k) => [7 * k + 6, k]), overlapping: true },
        0,
      ],
      ["every token a start and an end", { start: [5], end: [5] }, n / 2],
    ])("a row of a million tokens is read in linear time: %s", (_, rules, count) => {
      const found = findSpans(far, { ...rules, backend });
      expect(Math.abs(found.count - count)).toBeLessThanOrEqual(1);
    });
  },
  ["js", "cpu"],
);

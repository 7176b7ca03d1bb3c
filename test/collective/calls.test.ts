// The four calls and sub-groups, between threads and alone.
import { openCollective } from "../../lib/collective";
import { errorCode as code } from "../support/error-code";
import { valuesOfRanks } from "../support/run-ranks";

const RANKS = [0, 1, 2];

test.each([1, 2, 3, 9, 1000])(
  "three ranks reduce, gather and broadcast arrays of %i in chunks of 16 bytes",
  async (length) => {
    const inputs = RANKS.map((rank) => ({
      floats: Float64Array.from({ length }, (_, i) => Math.sin(i + 10 * rank) * 1e3),
      integers: Int32Array.from({ length }, (_, i) => (i + 1) * (rank - 1)),
    }));
    const got = await valuesOfRanks(
      inputs,
      (c, _, { floats, integers }) => ({
        sum: c.allReduce(floats, "sum"),
        min: c.allReduce(floats, "min"),
        max: c.allReduce(integers, "max"),
        counts: c.allReduce(integers, "sum"),
        gathered: c.allGather(floats),
        integersOfAll: c.allGather(integers),
        sent: c.broadcast(floats, 2),
        sentIntegers: c.broadcast(integers, 0),
        own: [floats, integers] as const,
      }),
      { chunkBytes: 16 },
    );
    const [a, b, d] = inputs as [(typeof inputs)[0], (typeof inputs)[0], (typeof inputs)[0]];
    got.forEach((result, rank) => {
      expect(result.sum).toEqual(a.floats.map((x, i) => x + b.floats[i]! + d.floats[i]!));
      expect(result.min).toEqual(a.floats.map((x, i) => Math.min(x, b.floats[i]!, d.floats[i]!)));
      expect(result.max).toEqual(a.integers.map((x, i) => Math.max(x, b.integers[i]!, d.integers[i]!)));
      expect(result.counts).toEqual(new Int32Array(length));
      expect(result.gathered).toEqual(inputs.map(({ floats }) => floats));
      expect(result.integersOfAll).toEqual(inputs.map(({ integers }) => integers));
      expect(result.sent).toEqual(d.floats);
      expect(result.sentIntegers).toEqual(a.integers);
      expect(result.own).toEqual([inputs[rank]!.floats, inputs[rank]!.integers]);
    });
  },
);

test("no number is a message too, and NaN, infinities and -0 arrive as they are", async () => {
  const numbers = Float64Array.of(NaN, -Infinity, -0, 5e-324);
  const got = await valuesOfRanks([numbers, new Float64Array(4)], (c, _, input) => ({
    none: c.allGather(new Float64Array(0)),
    gathered: c.allGather(input)[0]!,
    max: c.allReduce(input, "max"),
  }));
  for (const { none, gathered, max } of got) {
    expect(none).toEqual([new Float64Array(0), new Float64Array(0)]);
    expect(gathered).toEqual(numbers);
    expect(max).toEqual(Float64Array.of(NaN, 0, 0, 5e-324));
  }
});

test("a barrier holds everybody until the last one is there", async () => {
  const log = new Int32Array(new SharedArrayBuffer(4 * 64));
  const got = await valuesOfRanks(
    RANKS.map(() => log),
    (c, _, shared) => {
      const seen: number[] = [];
      for (let round = 0; round < 20; ++round) {
        // The rank whose turn it is comes last.
        if (round % c.size === c.rank) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
        Atomics.add(shared, round, 1);
        c.barrier();
        seen.push(Atomics.load(shared, round));
      }
      return seen;
    },
  );
  for (const seen of got) expect(seen).toEqual(Array(20).fill(3));
});

test("sub-groups are numbered as listed, nest, overlap, and need no call of the others", async () => {
  const got = await valuesOfRanks([0, 1, 2, 3], (c, _, input) => {
    const values = Float64Array.of(input);
    const ends = c.rank === 0 || c.rank === 3 ? c.subgroup([3, 0]) : undefined;
    const last = c.rank > 0 ? c.subgroup([1, 2, 3]) : undefined;
    const inner = last && c.rank > 1 ? last.subgroup([2, 1]) : undefined;
    return {
      ends: ends && [ends.rank, ends.size, ...ends.allGather(values).map((part) => part[0])],
      last: last && [last.rank, last.size, last.allReduce(values, "sum")[0]],
      inner: inner && [inner.rank, inner.size, inner.broadcast(values, 0)[0]],
      alone: c.subgroup([c.rank]).allReduce(values, "sum")[0],
      all: c.allReduce(values, "sum")[0],
    };
  });
  expect(got).toEqual([
    { ends: [1, 2, 3, 0], last: undefined, inner: undefined, alone: 0, all: 6 },
    { ends: undefined, last: [0, 3, 6], inner: undefined, alone: 1, all: 6 },
    { ends: undefined, last: [1, 3, 6], inner: [1, 2, 3], alone: 2, all: 6 },
    { ends: [0, 2, 3, 0], last: [2, 3, 6], inner: [0, 2, 3], alone: 3, all: 6 },
  ]);
});

test("one rank waits while the others make many calls of their own", async () => {
  const got = await valuesOfRanks([0, 1, 2], (c) => {
    let sum = 0;
    if (c.rank > 0) {
      const two = c.subgroup([1, 2]);
      for (let i = 0; i < 500; ++i) sum += two.allReduce(Int32Array.of(i), "sum")[0]!;
    }
    return c.allReduce(Int32Array.of(sum), "max")[0];
  });
  expect(got).toEqual([249_500, 249_500, 249_500]);
});

test("alone everything is a copy of what was given", () => {
  const c = openCollective("single");
  const values = Float64Array.of(1, NaN, -0);
  expect([c.rank, c.size]).toEqual([0, 1]);
  expect(c.allReduce(values, "sum")).toEqual(values);
  expect(c.allGather(values)).toEqual([values]);
  expect(c.broadcast(values, 0)).toEqual(values);
  expect(c.broadcast(values, 0)).not.toBe(values);
  expect(c.subgroup([0]).size).toBe(1);
  c.barrier();
  expect(code(() => c.allReduce([1] as never, "sum"))).toBe("ERR_SURPRISAL_DTYPE");
  expect(code(() => c.allReduce(values, "mean" as never))).toBe("ERR_SURPRISAL_OPTION");
  expect(code(() => c.broadcast(values, 1))).toBe("ERR_SURPRISAL_OPTION");
  expect(code(() => c.subgroup([1]))).toBe("ERR_SURPRISAL_OPTION");
  expect(code(() => c.subgroup([0, 0]))).toBe("ERR_SURPRISAL_OPTION");
  expect(code(() => c.subgroup([]))).toBe("ERR_SURPRISAL_OPTION");
});

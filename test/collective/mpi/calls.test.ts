// The four calls, sub-groups and the asynchronous forms between processes.
import { eachMpi, valuesOfProcesses } from "../../support/mpi";

const RANKS = [0, 1, 2];

type Numbers = Float64Array | Int32Array;
const bytes = ({ buffer, byteOffset, byteLength }: Numbers): Buffer => Buffer.from(buffer, byteOffset, byteLength);

eachMpi((mpi) => {
  test.each([true, false])(
    "three ranks reduce, gather and broadcast short and long arrays; checked: %s",
    async (checked) => {
      // Nothing; a number; what travels with the fingerprint, and one more; more than one piece of a MiB.
      const lengths = [0, 1, 4, 5, 131_073];
      const inputs = RANKS.map((rank) =>
        lengths.map((length) => ({
          floats: Float64Array.from({ length }, (_, i) => (i === 0 ? -0 : Math.sin(i + 10 * rank) * 1e3)),
          integers: Int32Array.from({ length }, (_, i) => (i + 1) * (rank - 1)),
        })),
      );
      const got = await valuesOfProcesses(
        mpi,
        inputs,
        async (c, _, arrays) => {
          const results = [];
          for (const { floats, integers } of arrays) {
            results.push({
              sum: c.allReduce(floats, "sum"),
              min: await c.allReduceAsync(floats, "min"),
              counts: c.allReduce(integers, "sum"),
              gathered: c.allGather(floats),
              integersOfAll: await c.allGatherAsync(integers),
              sent: c.broadcast(floats, 2),
              sentIntegers: await c.broadcastAsync(integers, 0),
            });
            c.barrier();
            await c.barrierAsync();
          }
          return results;
        },
        { checked },
      );
      for (const results of got)
        results.forEach((result, i) => {
          const [a, b, d] = inputs.map((one) => one[i]!) as [
            (typeof inputs)[0][0],
            (typeof inputs)[0][0],
            (typeof inputs)[0][0],
          ];
          const same: [string, Numbers, Numbers][] = [
            ["sum", result.sum, a.floats.map((x, j) => x + b.floats[j]! + d.floats[j]!)],
            ["min", result.min, a.floats.map((x, j) => Math.min(x, b.floats[j]!, d.floats[j]!))],
            ["counts", result.counts, new Int32Array(a.integers.length)],
            ["sent", result.sent, d.floats],
            ["integers sent", result.sentIntegers, a.integers],
            ...[a, b, d].flatMap(({ floats, integers }, r): [string, Numbers, Numbers][] => [
              [`gathered from ${r}`, result.gathered[r]!, floats],
              [`integers from ${r}`, result.integersOfAll[r]!, integers],
            ]),
          ];
          for (const [name, found, want] of same)
            expect({ name, equal: bytes(found).equals(bytes(want)) }).toEqual({ name, equal: true });
        });
    },
  );

  test("sub-groups are numbered as listed, nest and overlap", async () => {
    const got = await valuesOfProcesses(mpi, [0, 1, 2, 3], async (c, _, input) => {
      const values = Float64Array.of(input);
      const ends = c.rank === 0 || c.rank === 3 ? c.subgroup([3, 0]) : undefined;
      const last = c.rank > 0 ? c.subgroup([1, 2, 3]) : undefined;
      const inner = last && c.rank > 1 ? last.subgroup([2, 1]) : undefined;
      return {
        kind: c.kind,
        ends: ends && [ends.rank, ends.size, ...ends.allGather(values).map((part) => part[0])],
        last: last && [last.rank, last.size, last.allReduce(values, "sum")[0]],
        inner: inner && [inner.rank, inner.size, (await inner.broadcastAsync(values, 0))[0]],
        alone: c.subgroup([c.rank]).allReduce(values, "sum")[0],
      };
    });
    const rest = { kind: "mpi" };
    expect(got).toEqual([
      { ends: [1, 2, 3, 0], last: undefined, inner: undefined, alone: 0, ...rest },
      { ends: undefined, last: [0, 3, 6], inner: undefined, alone: 1, ...rest },
      { ends: undefined, last: [1, 3, 6], inner: [1, 2, 3], alone: 2, ...rest },
      { ends: [0, 2, 3, 0], last: [2, 3, 6], inner: [0, 2, 3], alone: 3, ...rest },
    ]);
  });

  test("ten thousand small calls", async () => {
    const got = await valuesOfProcesses(mpi, [0, 1], async (c) => {
      let sum = 0;
      for (let i = 0; i < 5000; ++i) sum += c.allReduce(Int32Array.of(i + c.rank), "max")[0]!;
      const later: Promise<Int32Array>[] = [];
      for (let i = 0; i < 5000; ++i) later.push(c.allReduceAsync(Int32Array.of(i + c.rank), "max"));
      for (const one of await Promise.all(later)) sum += one[0]!;
      return sum;
    });
    expect(got).toEqual(Array(2).fill(2 * ((4999 * 5000) / 2 + 5000)));
  });

  test("a process started by itself is one rank, and says what library it runs on", async () => {
    const program = (c: {
      size: number;
      library: string | undefined;
      allReduce(v: Float64Array, r: "sum"): Float64Array;
    }) => [c.size, c.library, c.allReduce(Float64Array.of(2, 3), "sum")];
    const [one] = await valuesOfProcesses(mpi, [0], program, { alone: true });
    expect(one).toEqual([1, expect.stringContaining(mpi.name), Float64Array.of(2, 3)]);
  });
});

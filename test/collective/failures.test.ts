// Ranks that are lost, late, or call something else. Nobody waits for ever, and messages name the ranks.
import { createCollective, openCollective } from "../../lib/collective";
import { errorCode as code } from "../support/error-code";
import { type Outcome, runRanks, valuesOfRanks } from "../support/run-ranks";

const LOST = "ERR_SURPRISAL_COLLECTIVE_LOST";
const errorsOf = (outcomes: readonly Outcome<unknown>[]) => outcomes.map(({ error }) => error);

test("a worker that exits while the others wait ends their call, also for those who wait for each other", async () => {
  const outcomes = await runRanks([0, 1, 2, 3], (c) => {
    c.barrier();
    if (c.rank === 2) process.exit(7);
    return c.rank < 2
      ? c.allReduce(Float64Array.of(1), "sum")
      : c.subgroup([3, 0]).allReduce(Float64Array.of(1), "sum");
  });
  expect(outcomes[2]).toEqual({ exitCode: 7 });
  for (const rank of [0, 1])
    expect(outcomes[rank]!.error).toEqual({
      code: LOST,
      message: "allReduce: rank 2 has ended (exit code 7); open a new collective to go on",
    });
  // Rank 3 does not wait for rank 2, and learns from rank 0, which does.
  expect(outcomes[3]!.error).toEqual(outcomes[0]!.error);
});

test("a worker that throws ends the call of the others", async () => {
  const outcomes = await runRanks([0, 1, 2], (c) => {
    if (c.rank === 1) throw new TypeError("out of luck");
    return c.allGather(new Float64Array(5));
  });
  expect(outcomes[1]!.uncaught).toBe("out of luck");
  const message = "allGather: rank 1 threw an error that nothing caught; open a new collective to go on";
  for (const rank of [0, 2]) expect(outcomes[rank]!.error).toEqual({ code: LOST, message });
});

test("a worker that is terminated in the middle ends the call of the others", async () => {
  const go = new Int32Array(new SharedArrayBuffer(4));
  const outcomes = await runRanks(
    [go, go],
    (c, _, shared) => {
      c.barrier();
      Atomics.add(shared, 0, 1);
      Atomics.notify(shared, 0);
      if (c.rank === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      return c.allReduce(new Float64Array(1), "sum");
    },
    {
      started: ([first]) => {
        const poll = (): void => {
          if (Atomics.load(go, 0) === 2) void first!.terminate();
          else setTimeout(poll, 1);
        };
        poll();
      },
    },
  );
  expect(outcomes[1]!.error).toMatchObject({
    code: LOST,
    message: expect.stringContaining("rank 0 has ended") as string,
  });
});

test("a worker that ends after its last call takes nothing from the others", async () => {
  for (let round = 0; round < 5; ++round) {
    const outcomes = await runRanks([0, 1, 2], (c) => {
      const sum = c.allReduce(Float64Array.of(c.rank), "sum")[0];
      if (c.rank === 0) process.exit(0);
      const rest = c.subgroup([1, 2]);
      for (let i = 0; i < 50; ++i) rest.barrier();
      return sum;
    });
    expect(outcomes.map(({ value }) => value)).toEqual([undefined, 3, 3]);
  }
});

test("once a rank is lost every call of the others is refused, with the same reason", async () => {
  const got = await valuesOfRanks([0, 1], (c) => {
    if (c.rank === 0) {
      c.close();
      return [];
    }
    const messages: string[] = [];
    for (let i = 0; i < 2; ++i)
      try {
        c.barrier();
      } catch (error) {
        messages.push((error as Error).message);
      }
    return messages;
  });
  expect(got[1]).toEqual(Array(2).fill("barrier: rank 0 has closed its end; open a new collective to go on"));
});

test("a rank that comes too late is named, and the others learn that the waiting ended", async () => {
  const counts = new Int32Array(new SharedArrayBuffer(8));
  const outcomes = await runRanks(
    [counts, counts, counts],
    (c, _, shared) => {
      const count = (i: number): void => {
        Atomics.add(shared, i, 1);
        Atomics.notify(shared, i);
      };
      const until = (i: number, most: number): void => {
        for (let seen = Atomics.load(shared, i); seen < most; seen = Atomics.load(shared, i))
          Atomics.wait(shared, i, seen);
      };
      // Threads start at their leisure; the clock runs from when all have. Too late is when the others have given up.
      count(0);
      until(0, 3);
      if (c.rank === 2) until(1, 2);
      try {
        return c.allReduce(Float64Array.of(1), "sum");
      } finally {
        count(1);
      }
    },
    { timeout: 200 },
  );
  const messages = outcomes.map(({ error }) => error?.message ?? "none");
  const [first, second, late] = errorsOf(outcomes).map((error) => error?.code);
  expect([first, second]).toContain("ERR_SURPRISAL_COLLECTIVE_TIMEOUT");
  expect(late).toBe(LOST);
  expect(messages.slice(0, 2).some((message) => message.startsWith("allReduce: waited 200 ms for rank 2; "))).toBe(
    true,
  );
  expect(messages[2]).toMatch(/^allReduce: rank [01] waited too long for another and gave up/);
});

test("arrays of different lengths are an error on all ranks that names them, and the collective goes on", async () => {
  const got = await valuesOfRanks([4, 4, 5], (c, s, length) => {
    let refused: unknown;
    try {
      c.allReduce(new Float64Array(length), "sum");
    } catch (error) {
      refused = error instanceof s.SurprisalError ? [error.code, error.message] : error;
    }
    return { refused, sum: c.allReduce(Float64Array.of(length), "sum")[0] };
  });
  const message =
    'allReduce: the call is allReduce(Float64Array of 4, "sum") on rank 0, allReduce(Float64Array of 5, "sum") on rank 2, ' +
    "expected the same on all ranks";
  for (const { refused, sum } of got) {
    expect(refused).toEqual(["ERR_SURPRISAL_COLLECTIVE_MISMATCH", message]);
    expect(sum).toBe(13);
  }
});

test("different calls, types, reductions and roots are an error on all ranks, and the collective goes on", async () => {
  const got = await valuesOfRanks([0, 1], (c) => {
    const floats = new Float64Array(3);
    const differing: (() => unknown)[] = [
      () => (c.rank === 0 ? c.barrier() : c.allGather(floats)),
      () => c.allGather(c.rank === 0 ? floats : new Int32Array(3)),
      () => c.allReduce(floats, c.rank === 0 ? "min" : "max"),
      () => c.broadcast(floats, c.rank),
    ];
    const refusals = differing.map((call) => {
      try {
        return call();
      } catch (error) {
        return (error as Error).message.replace(/^\w+: /, "");
      }
    });
    c.barrier();
    return refusals;
  });
  const expected = [
    "barrier() on rank 0, allGather(Float64Array of 3) on rank 1",
    "allGather(Float64Array of 3) on rank 0, allGather(Int32Array of 3) on rank 1",
    'allReduce(Float64Array of 3, "min") on rank 0, allReduce(Float64Array of 3, "max") on rank 1',
    "broadcast(Float64Array of 3, from rank 0) on rank 0, broadcast(Float64Array of 3, from rank 1) on rank 1",
  ];
  for (const refusals of got)
    expect(refusals).toEqual(expected.map((text) => `the call is ${text}, expected the same on all ranks`));
});

test("a sum past int32 is refused on all ranks, and the collective goes on", async () => {
  const got = await valuesOfRanks([2 ** 30, 2 ** 30], (c, _, input) => {
    let refused = "";
    try {
      c.allReduce(Int32Array.of(1, input), "sum");
    } catch (error) {
      refused = (error as { code: string }).code;
    }
    return [refused, c.allReduce(Float64Array.of(input), "sum")[0]];
  });
  expect(got).toEqual(Array(2).fill(["ERR_SURPRISAL_RANGE", 2 ** 31]));
});

test("wrong arguments are refused by name", () => {
  expect(code(() => createCollective(0))).toBe("ERR_SURPRISAL_OPTION");
  expect(code(() => createCollective(1.5))).toBe("ERR_SURPRISAL_OPTION");
  expect(code(() => createCollective(2, { timeout: 0 }))).toBe("ERR_SURPRISAL_OPTION");
  expect(code(() => createCollective(2, { chunkBytes: 12 }))).toBe("ERR_SURPRISAL_OPTION");
  expect(code(() => openCollective("workers", { handle: {} as never }))).toBe("ERR_SURPRISAL_OPTION");
  const [handle] = createCollective(1);
  const own = openCollective("workers", { handle: handle! });
  expect(() => openCollective("workers", { handle: handle! })).toThrow(
    "openCollective: handle.rank is 0, expected a rank that nobody has taken as yet",
  );
  expect(own.allReduce(Float64Array.of(2), "sum")).toEqual(Float64Array.of(2));
  own.close();
  expect(code(() => own.barrier())).toBe(LOST);
});

// The asynchronous forms: the same results, one call after the other, with the event loop free.
import { openCollective } from "../../lib/collective";
import { errorCode } from "../support/error-code";
import { runRanks, valuesOfRanks } from "../support/run-ranks";

test("calls made at once run one after the other, and give what the synchronous forms give", async () => {
  const got = await valuesOfRanks(
    [1, 2, 3],
    async (c, _, input) => {
      const values = Float64Array.from({ length: 9 }, (__, i) => input * i);
      const calls = [
        c.allReduceAsync(values, "sum"),
        c.allGatherAsync(values),
        c.broadcastAsync(values, 2),
        c.subgroup([2, 1, 0]).allGatherAsync(Int32Array.of(input)),
        c.barrierAsync(),
      ];
      values.fill(NaN); // the calls have their numbers
      const later = await Promise.all(calls);
      values.forEach((__, i) => (values[i] = input * i));
      const group = c.subgroup([2, 1, 0]);
      const now = [
        c.allReduce(values, "sum"),
        c.allGather(values),
        c.broadcast(values, 2),
        group.allGather(Int32Array.of(input)),
      ];
      c.barrier();
      return { later, now };
    },
    { chunkBytes: 16 },
  );
  for (const { later, now } of got) expect(later).toEqual([...now, undefined]);
  expect(got[0]!.now[0]).toEqual(Float64Array.from({ length: 9 }, (_, i) => 6 * i));
});

test("the event loop turns while a rank waits", async () => {
  const turns = new Int32Array(new SharedArrayBuffer(4));
  const got = await valuesOfRanks([turns, turns], async (c, _, shared) => {
    if (c.rank === 1) {
      // Comes when the other one's loop has turned three times.
      for (let seen = 0; seen < 3; seen = Atomics.load(shared, 0)) Atomics.wait(shared, 0, seen, 1000);
      c.barrier();
      return 0;
    }
    const timer = setInterval(() => {
      Atomics.add(shared, 0, 1);
      Atomics.notify(shared, 0);
    }, 1);
    await c.barrierAsync();
    clearInterval(timer);
    return Atomics.load(shared, 0);
  });
  expect(got[0]).toBeGreaterThanOrEqual(3);
});

test("a synchronous call between asynchronous ones is refused, and closing rejects what waits", async () => {
  const closed = new Int32Array(new SharedArrayBuffer(4));
  const outcomes = await runRanks([closed, closed], async (c, _, shared) => {
    const codes: unknown[] = [];
    const attempt = (call: () => void): void => {
      try {
        call();
      } catch (error) {
        codes.push((error as { code: string }).code);
      }
    };
    if (c.rank === 1) {
      Atomics.wait(shared, 0, 0); // comes when the other one has closed
      attempt(() => c.barrier());
      return codes;
    }
    const waiting = c.barrierAsync().catch((error: unknown) => (error as { code: string }).code);
    attempt(() => c.barrier());
    await new Promise((done) => setImmediate(done));
    c.close();
    codes.push(await waiting);
    Atomics.store(shared, 0, 1);
    Atomics.notify(shared, 0);
    return codes;
  });
  expect(outcomes.map(({ value }) => value)).toEqual([
    ["ERR_SURPRISAL_COLLECTIVE_MISMATCH", "ERR_SURPRISAL_COLLECTIVE_LOST"],
    ["ERR_SURPRISAL_COLLECTIVE_LOST"],
  ]);
});

test("alone the asynchronous forms resolve with copies, and a wrong argument rejects", async () => {
  const alone = openCollective("single");
  const values = Float64Array.of(1, NaN);
  expect(await alone.allReduceAsync(values, "max")).toEqual(values);
  expect(await alone.allGatherAsync(values)).toEqual([values]);
  expect(await alone.subgroup([0]).broadcastAsync(values, 0)).not.toBe(values);
  expect(await alone.allGatherAsync([1] as never).catch(errorCodeOf)).toBe("ERR_SURPRISAL_DTYPE");
  expect(await alone.broadcastAsync(values, 1).catch(errorCodeOf)).toBe("ERR_SURPRISAL_OPTION");
  alone.close();
  expect(errorCode(() => alone.barrier())).toBe("ERR_SURPRISAL_COLLECTIVE_LOST");
});

const errorCodeOf = (error: unknown): string => (error as { code: string }).code;

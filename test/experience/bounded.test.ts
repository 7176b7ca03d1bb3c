// Calls side by side: what a failure and an abort leave undone.
import { runBounded } from "../../lib/experience/bounded";

const OP = "generate";

/** Tasks that end when they are told to; `begun` has the numbers of those that were started. */
function heldTasks(count: number) {
  const begun: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const tasks = Array.from({ length: count }, (_, i) => (): Promise<number> => {
    begun.push(i);
    return new Promise((resolve, reject) => {
      ends[i] = (error) => (error ? reject(error) : resolve(10 * i));
    });
  });
  return { begun, ends, tasks };
}

test("results come in the order of the tasks, whichever ends first", async () => {
  const { begun, ends, tasks } = heldTasks(4);
  const all = runBounded(OP, tasks, 2, undefined);
  for (const [i, now] of [
    [1, [0, 1]],
    [2, [0, 1, 2]],
    [3, [0, 1, 2, 3]],
    [0, [0, 1, 2, 3]],
  ] as const) {
    // oxfmt-ignore
    expect(begun).toEqual(now);
    ends[i]!();
    await Promise.resolve();
    await Promise.resolve();
  }
  expect(await all).toEqual([0, 10, 20, 30]);
});

test("after a failure no task is begun, though others end well", async () => {
  const { begun, ends, tasks } = heldTasks(4);
  const all = runBounded(OP, tasks, 2, undefined);
  ends[0]!(new Error("first"));
  await expect(all).rejects.toThrow("first");
  ends[1]!();
  await new Promise(setImmediate);
  expect(begun).toEqual([0, 1]);
});

test("after an abort no task is begun, and the tasks' signal has its reason", async () => {
  const caller = new AbortController();
  const { begun, ends, tasks } = heldTasks(3);
  let seen: AbortSignal | undefined;
  const watched = tasks.map((task) => (signal: AbortSignal) => {
    seen = signal;
    return task();
  });
  const all = runBounded(OP, watched, 1, caller.signal);
  caller.abort(new Error("enough"));
  await expect(all).rejects.toThrow("enough");
  expect((seen!.reason as Error).message).toBe("enough");
  ends[0]!();
  await new Promise(setImmediate);
  expect(begun).toEqual([0]);
});

test("without tasks there are no results, and a limit below 1 is refused", async () => {
  expect(await runBounded(OP, [], 3, undefined)).toEqual([]);
  expect(() => runBounded(OP, [], 0, undefined)).toThrow(/^generate: concurrency is 0, expected/);
});

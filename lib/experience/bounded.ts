// Calls that run side by side, a few at a time. The first failure, or the caller's signal, ends all of them.
import { needNumber } from "../core/option-checks";

export type Task<T> = (signal: AbortSignal) => T | Promise<T>;

/**
 * Runs tasks in order, at most `limit` at a time. The first that fails aborts the signal of the others and starts no more; what
 * those still answer is not waited for.
 *
 * @returns the results, in the order of the tasks
 * @throws what the first failing task threw; the reason of `signal` where that aborts
 */
export function runBounded<T>(
  op: string,
  tasks: readonly Task<T>[],
  limit: number,
  signal: AbortSignal | undefined,
): Promise<T[]> {
  needNumber(op, "concurrency", limit, { min: 1, integer: true });
  const controller = new AbortController();
  return new Promise((resolve, reject) => {
    const results: T[] = [];
    let next = 0;
    let finished = 0;
    let over = false;
    const end = (): void => {
      over = true;
      signal?.removeEventListener("abort", stop);
    };
    const fail = (reason: Error): void => {
      if (over) return;
      end();
      // Whatever was thrown goes on as it is; a caller may abort with anything.
      reject(reason);
      controller.abort(reason);
    };
    const stop = (): void => fail(signal?.reason as Error);
    const work = async (): Promise<void> => {
      while (!over && next < tasks.length) {
        const index = next++;
        try {
          results[index] = await tasks[index]!(controller.signal);
        } catch (error) {
          fail(error as Error);
          return;
        }
        ++finished;
      }
      if (!over && finished === tasks.length) {
        end();
        resolve(results);
      }
    };
    if (signal?.aborted) return stop();
    signal?.addEventListener("abort", stop);
    for (let i = 0; i < Math.max(1, Math.min(limit, tasks.length)); ++i) void work();
  });
}

/** Waits; ends early, with its reason, where the signal aborts. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** Rows 0 … count − 1 in pieces of at most `size`. */
export function pieces(count: number, size: number): { readonly begin: number; readonly end: number }[] {
  return Array.from({ length: Math.ceil(count / size) }, (_, i) => ({
    begin: i * size,
    end: Math.min((i + 1) * size, count),
  }));
}

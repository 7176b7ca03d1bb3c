// A call of a collective is written once, as steps with waits between them. The synchronous form sleeps in each wait, the
// asynchronous one awaits it and leaves the event loop free.
import { SurprisalError } from "../core/errors";

/** Something that is waited for. */
export interface Wait<T = unknown> {
  sync(): T;
  async(): T | Promise<T>;
}

/** Yields what it waits for, and is resumed with what came of it. */
export type Steps<T> = Generator<Wait, T, unknown>;

/** One wait, with the type of its result. */
export function* waited<T>(wait: Wait<T>): Steps<T> {
  return (yield wait) as T;
}

/** Milliseconds in which the others are told. */
const FAREWELL = 20;

/** The calls of one rank, which are made one after the other. */
export class Line {
  /** SIGTERM came while a call is under way: called before the process ends by it. */
  told: (() => void) | undefined;
  #pending = 0;
  #last: Promise<unknown> = Promise.resolve();
  #interrupt: ((error: SurprisalError) => void) | undefined;

  runSync<T>(op: string, steps: Steps<T>): T {
    if (this.#pending > 0)
      throw new SurprisalError(
        "ERR_SURPRISAL_COLLECTIVE_MISMATCH",
        `${op}: ${this.#pending} asynchronous call(s) of this rank are under way, expected none; await them first`,
        { op, name: "call", got: this.#pending, want: "no asynchronous call under way" },
      );
    let step = steps.next();
    while (!step.done) {
      let value: unknown;
      try {
        value = step.value.sync();
      } catch (error) {
        step = steps.throw(error);
        continue;
      }
      step = steps.next(value);
    }
    return step.value;
  }

  /** Begins when the calls before it are done. */
  runAsync<T>(steps: Steps<T>): Promise<T> {
    this.#pending++;
    // A wait on shared memory does not keep the thread alive by itself.
    const alive = setInterval(() => undefined, 2 ** 30);
    if (this.#pending === 1) process.on("SIGTERM", this.#terminate);
    const run = this.#last
      .then(() => this.#drive(steps))
      .finally(() => {
        this.#pending--;
        if (this.#pending === 0) process.off("SIGTERM", this.#terminate);
        clearInterval(alive);
      });
    this.#last = run.catch(() => undefined);
    return run;
  }

  /** Rejects the call that waits. */
  interrupt(error: SurprisalError): void {
    this.#interrupt?.(error);
  }

  /** Where nobody else listens, the signal then does what it would have done, once those who wait for the call have seen it end. */
  readonly #terminate = (): void => {
    this.told?.();
    if (process.listenerCount("SIGTERM") === 1) setTimeout(() => process.kill(process.pid, "SIGTERM"), FAREWELL);
    process.off("SIGTERM", this.#terminate);
  };

  async #drive<T>(steps: Steps<T>): Promise<T> {
    let step = steps.next();
    while (!step.done) {
      const wait = step.value;
      let value: unknown;
      try {
        value = await new Promise((resolve, reject) => {
          this.#interrupt = reject;
          Promise.resolve(wait.async()).then(resolve, reject);
        });
      } catch (error) {
        step = steps.throw(error);
        continue;
      } finally {
        this.#interrupt = undefined;
      }
      step = steps.next(value);
    }
    return step.value;
  }
}

// Work that is asked for from outside: so much of it at once, so much waiting, the rest refused. The same work under the same key
// is done once.

export interface QueueOptions {
  /** Jobs at work at a time. */
  readonly atOnce: number;
  /** Jobs that wait for a place, at most. */
  readonly waiting: number;
  /** Milliseconds for a job, its wait included. */
  readonly deadline: number;
  /** Keys whose results are kept. */
  readonly remembered: number;
}

/** Why a job is not taken. */
export class Refused extends Error {
  constructor(
    readonly why: "busy" | "closing" | "other content",
    message: string,
  ) {
    super(message);
  }
}

/** A job was not done within its deadline. */
export class TooLate extends Error {}

interface Known<Result> {
  readonly content: string;
  readonly result: Promise<Result>;
}

export class Queue<Job, Result> {
  /** Jobs that were done, each once. */
  done = 0;
  failed = 0;
  /** Requests that got the result of an earlier one with the same key. */
  repeated = 0;
  running = 0;
  readonly #line: (() => void)[] = [];
  readonly #known = new Map<string, Known<Result>>();
  #closing = false;
  #empty: () => void = () => undefined;

  constructor(
    private readonly work: (job: Job, signal: AbortSignal) => Promise<Result>,
    private readonly options: QueueOptions,
  ) {}

  get waiting(): number {
    return this.#line.length;
  }

  get closing(): boolean {
    return this.#closing;
  }

  /**
   * Takes a job, or the result of the one that had the same key. One that failed is forgotten, and may be tried again.
   *
   * @param content of the job, whatever tells it from another one
   * @throws Refused where there is no room, the queue closes, or the key stands for another job; (later) TooLate; what the work throws
   */
  submit(key: string | undefined, content: string, job: Job): Promise<Result> {
    const known = key === undefined ? undefined : this.#known.get(key);
    if (known) {
      if (known.content !== content) throw new Refused("other content", "the key is that of another request");
      ++this.repeated;
      return known.result;
    }
    if (this.#closing) throw new Refused("closing", "the server is about to end");
    if (this.running >= this.options.atOnce && this.waiting >= this.options.waiting)
      throw new Refused("busy", `${this.waiting} requests wait already`);
    const result = this.#run(job);
    result.catch(() => undefined); // whether or not anybody still listens
    if (key !== undefined) this.#remember(key, { content, result });
    return result;
  }

  #remember(key: string, known: Known<Result>): void {
    this.#known.set(key, known);
    known.result.catch(() => this.#known.delete(key));
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= this.options.remembered + this.running + this.waiting) break;
      this.#known.delete(oldest);
    }
  }

  async #run(job: Job): Promise<Result> {
    const late = AbortSignal.timeout(this.options.deadline);
    if (this.running >= this.options.atOnce) await this.#place();
    else ++this.running;
    try {
      if (late.aborted) throw new TooLate();
      const result = await this.work(job, late);
      ++this.done;
      return result;
    } catch (error) {
      ++this.failed;
      throw late.aborted ? new TooLate() : error;
    } finally {
      this.#leave();
    }
  }

  /** Waits for the place of a job that ends. */
  #place(): Promise<void> {
    return new Promise((go) => this.#line.push(go));
  }

  #leave(): void {
    const next = this.#line.shift();
    if (next) return next(); // the place goes on to the next
    if (--this.running === 0) this.#empty();
  }

  /** Takes no more; resolves when all that was taken is done. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.running > 0) await new Promise<void>((done) => (this.#empty = done));
  }
}

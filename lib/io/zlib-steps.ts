// A zlib stream one step at a time: what goes in comes out before more goes in, so that memory stays bounded.
import type { Transform } from "node:stream";

/** Bytes that go in at a time: a gzip bomb makes at most 1032 times as many of them. */
const STEP = 8 * 1024;

export class ZlibSteps {
  readonly #stream: Transform;
  #out: Uint8Array[] = [];
  #error: Error | undefined;
  #over = false;
  /** Ends the wait for the current step. */
  #done: () => void = () => undefined;

  constructor(stream: Transform) {
    this.#stream = stream;
    // Flowing from the start: nothing waits inside the stream, and what came before an error is not lost.
    stream.on("data", (bytes: Uint8Array) => this.#out.push(bytes));
    stream.on("error", (error: Error) => {
      this.#error = error;
      // A write that fails is never called back.
      this.#done();
    });
    stream.on("end", () => {
      this.#over = true;
      // Nor is a write that has bytes behind the end of the compressed data.
      this.#done();
    });
  }

  /** The compressed data has come to its end. Before `end`: there were bytes behind it, which are passed over. */
  get over(): boolean {
    return this.#over;
  }

  /** What went wrong inside; what was made before has been given. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Nothing more is taken: a stream calls nobody back then. */
  get #stopped(): boolean {
    return this.#over || this.#error !== undefined;
  }

  #step(start: (done: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      this.#done = resolve;
      start(() => resolve());
    });
  }

  #take(): Uint8Array[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  /** Everything that these bytes lead to. Ends early where `error` or `over` is set. */
  async *push(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length && !this.#stopped; at += STEP) {
      await this.#step((done) => this.#stream.write(bytes.subarray(at, at + STEP), done));
      yield* this.#take();
    }
  }

  /** The rest. */
  async *end(): AsyncGenerator<Uint8Array> {
    if (!this.#stopped) await this.#step(() => this.#stream.end());
    yield* this.#take();
  }

  close(): void {
    this.#stream.destroy();
  }
}

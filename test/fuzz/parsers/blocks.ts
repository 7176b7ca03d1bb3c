// Which blocks of our own code have run: V8 counts them itself, so nothing is instrumented and nothing installed.
import { Session } from "node:inspector";

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}
interface Script {
  readonly url: string;
  readonly scriptId: string;
  readonly functions: readonly { readonly isBlockCoverage: boolean; readonly ranges: readonly Range[] }[];
}

export class Blocks {
  readonly #session = new Session();
  readonly #seen = new Set<string>();

  /** Of files whose path `counts` accepts. */
  constructor(private readonly counts: (url: string) => boolean) {
    this.#session.connect();
    this.#ask("Profiler.enable");
    this.#ask("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** How many have run since the last look that had never run before. */
  fresh(): number {
    const before = this.#seen.size;
    const { result } = this.#ask("Profiler.takePreciseCoverage") as { result: readonly Script[] };
    for (const { url, scriptId, functions } of result)
      if (this.counts(url))
        for (const { ranges } of functions)
          for (const { startOffset, endOffset, count } of ranges)
            if (count > 0) this.#seen.add(`${scriptId}:${startOffset}:${endOffset}`);
    return this.#seen.size - before;
  }

  get all(): number {
    return this.#seen.size;
  }

  close(): void {
    this.#session.disconnect();
  }

  /** A session of one's own thread answers at once. */
  #ask(method: string, parameters: object = {}): unknown {
    const answers: { readonly error: Error | null; readonly result: unknown }[] = [];
    this.#session.post(method, parameters, (error, result: unknown) => void answers.push({ error, result }));
    const [{ error, result } = { error: new Error(`${method} did not answer`), result: undefined }] = answers;
    if (error) throw error;
    return result;
  }
}

// What a command sees of the world: two text streams, the environment, and a signal that says stop. Tests hand in their own.

/** A text stream, as far as a command needs one. */
export interface Sink {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export interface Host {
  /** The result, and nothing else. */
  readonly stdout: Sink;
  /** Errors, notes and the progress bar. */
  readonly stderr: Sink;
  /** What is piped in, for files named "-". */
  readonly stdin?: AsyncIterable<Uint8Array | string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C and its like; the reason is a `Stopped`. */
  readonly signal: AbortSignal;
}

/** Why a run was stopped from outside, and the exit code that says so. */
export class Stopped extends Error {
  constructor(
    message: string,
    readonly exitCode: number,
  ) {
    super(message);
  }
}

// JSON over HTTP, asked again while that can help: with the fetch that Node has.
import { show, SurprisalError } from "../core/errors";
import { needNumber } from "../core/option-checks";
import { pause } from "./bounded";

export interface RequestOptions {
  /** Milliseconds until an attempt is given up. Default 600 000. */
  readonly timeout?: number;
  /** Attempts after the first. Default 3. */
  readonly retries?: number;
  /** Milliseconds before the first retry; each further one waits twice as long, up to a minute. Default 500. */
  readonly backoff?: number;
  /** The share of a wait that is random, in [0, 1], so that callers do not come back all at once. Default 0.5. */
  readonly jitter?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the global one: for a proxy, or for answers that take longer than the five minutes that Node's waits for headers. */
  readonly fetch?: typeof fetch;
}

interface Checked {
  readonly timeout: number;
  readonly retries: number;
  readonly backoff: number;
  readonly jitter: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
}

const LONGEST_WAIT = 60_000;

function needRequestOptions(op: string, options: RequestOptions): Checked {
  return {
    timeout: needNumber(op, "timeout", options.timeout ?? 600_000, { min: 0, above: true, max: 2 ** 31 - 1 }),
    retries: needNumber(op, "retries", options.retries ?? 3, { min: 0, integer: true }),
    backoff: needNumber(op, "backoff", options.backoff ?? 500, { min: 0 }),
    jitter: needNumber(op, "jitter", options.jitter ?? 0.5, { min: 0, max: 1 }),
    headers: options.headers ?? {},
    fetch: options.fetch ?? fetch,
  };
}

/** Why an attempt failed. */
class Failure extends Error {
  constructor(
    message: string,
    /** The same request may succeed later. */
    readonly transient: boolean,
    /** Milliseconds that the server asks to wait. */
    readonly wait = 0,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** An answer that is not what it should be. It may have been damaged on the way, so the request is made again. */
export function badAnswer(what: string): Error {
  return new Failure(what, true);
}

/** Whether a server's failure may pass. */
export function isTransient(error: unknown): error is SurprisalError {
  const { code, details } = error as Partial<SurprisalError>;
  return code === "ERR_SURPRISAL_REMOTE" && details?.transient === true;
}

/** Statuses after which the same request can succeed. */
const PASSING = [408, 409, 425, 429];

function waitOf(response: Response): number {
  const seconds = Number(response.headers.get("retry-after"));
  return seconds > 0 ? Math.min(seconds * 1000, LONGEST_WAIT) : 0;
}

async function attempt<T>(
  url: string,
  body: string,
  read: (answer: unknown) => T,
  options: Checked,
  signal: AbortSignal,
): Promise<T> {
  const timeout = AbortSignal.timeout(options.timeout);
  let text: string;
  let response: Response;
  try {
    response = await options.fetch(url, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", accept: "application/json", ...options.headers },
      signal: AbortSignal.any([signal, timeout]),
    });
    text = await response.text();
  } catch (error) {
    signal.throwIfAborted();
    if (timeout.aborted) throw new Failure(`no answer within ${options.timeout} ms`, true, 0, { cause: error });
    const { message, cause } = error as Error & { cause?: Error };
    throw new Failure(cause ? `${message}: ${cause.message}` : message, true, 0, { cause: error });
  }
  if (!response.ok) {
    const transient = response.status >= 500 || PASSING.includes(response.status);
    throw new Failure(`status ${response.status}: ${text.slice(0, 200)}`, transient, waitOf(response));
  }
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch (error) {
    throw new Failure(
      `the answer is no JSON (${text.length} characters, it ends in ${show(text.slice(-30))})`,
      true,
      0,
      { cause: error },
    );
  }
  return read(answer);
}

/**
 * Posts JSON and reads the JSON that comes back. Tries again, with growing waits, after a lost connection, a timeout, a status of
 * 500 and above (408, 409, 425, 429 too), an answer that is no JSON, and one that `read` refuses with `badAnswer`.
 *
 * @throws SurprisalError ERR_SURPRISAL_REMOTE with the last failure; `details.transient` says whether it may pass. The reason of
 * `signal` where that aborts. What else `read` throws
 */
export async function postJson<T>(
  op: string,
  url: string,
  body: unknown,
  read: (answer: unknown) => T,
  options: RequestOptions,
  signal: AbortSignal,
): Promise<T> {
  const checked = needRequestOptions(op, options);
  const text = JSON.stringify(body);
  for (let tried = 1; ; ++tried) {
    try {
      return await attempt(url, text, read, checked, signal);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      if (!error.transient || tried > checked.retries) throw remoteError(op, url, error, tried);
      const wait = Math.min(checked.backoff * 2 ** (tried - 1), LONGEST_WAIT);
      await pause(Math.max(wait * (1 - checked.jitter * Math.random()), error.wait), signal);
    }
  }
}

function remoteError(op: string, url: string, failure: Failure, tried: number): SurprisalError {
  const attempts = tried === 1 ? "" : ` after ${tried} attempts`;
  return new SurprisalError(
    "ERR_SURPRISAL_REMOTE",
    `${op}: ${url} failed${attempts}: ${failure.message}`,
    { op, name: url, got: failure.message, want: "an answer", transient: failure.transient },
    { cause: failure },
  );
}

/** Text that a URL ends with, put behind another: "http://h:1/" and "v1/x" make "http://h:1/v1/x". */
export const urlBelow = (url: string, path: string): string => `${url.replace(/\/+$/, "")}/${path}`;

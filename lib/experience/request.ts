// JSON over HTTP, asked again while that can help: with the fetch that Node has.
import { randomUUID } from "node:crypto";
import { show, SurprisalError } from "../core/errors";
import { needNumber } from "../core/option-checks";
import { Addresses } from "./addresses";
import { pause } from "./bounded";
import { type Endpoint, needEndpoint } from "./endpoint";
import { textWithin, TooLong } from "./response-text";

export interface RequestOptions {
  /** Milliseconds until an attempt is given up. Default 600 000. */
  readonly timeout?: number;
  /** Milliseconds for a call: all of its attempts and the waits between them. Default 3 600 000. */
  readonly deadline?: number;
  /** Attempts after the first. Default 3. */
  readonly retries?: number;
  /** Milliseconds before the first retry; each further one waits twice as long, up to a minute. Default 500. */
  readonly backoff?: number;
  /** The share of a wait that is random, in [0, 1], so that callers do not come back all at once. Default 0.5. */
  readonly jitter?: number;
  /** Bytes of an answer, decompressed, at most. Default 2^28. */
  readonly answerLimit?: number;
  /** No message shows their values. */
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the global one: for a proxy, or for answers that take longer than the five minutes that Node's waits for headers. */
  readonly fetch?: typeof fetch;
}

/** Options of requests that several servers can answer. */
export interface AddressOptions {
  /** Failures in a row after which an address rests, > 0. Default 3. */
  readonly failures?: number;
  /** Milliseconds that an address rests; requests go to the others meanwhile, and to it where all rest. Default 30 000. */
  readonly rest?: number;
}

interface Checked {
  readonly timeout: number;
  readonly deadline: number;
  readonly retries: number;
  readonly backoff: number;
  readonly jitter: number;
  readonly answerLimit: number;
  readonly fetch: typeof fetch;
}

const LONGEST_WAIT = 60_000;
const LONGEST_TIMER = 2 ** 31 - 1;
/** Longer strings than about 2^29 characters do not exist. */
const LARGEST_ANSWER = 2 ** 29 - 24;
/** Of the answer to a request that failed. */
const ERROR_BYTES = 4096;
const MOST_REDIRECTS = 5;

function needRequestOptions(op: string, options: RequestOptions): Checked {
  const milliseconds = { min: 0, above: true, max: LONGEST_TIMER } as const;
  return {
    timeout: needNumber(op, "timeout", options.timeout ?? 600_000, milliseconds),
    deadline: needNumber(op, "deadline", options.deadline ?? 3_600_000, milliseconds),
    retries: needNumber(op, "retries", options.retries ?? 3, { min: 0, integer: true }),
    backoff: needNumber(op, "backoff", options.backoff ?? 500, { min: 0 }),
    jitter: needNumber(op, "jitter", options.jitter ?? 0.5, { min: 0, max: 1 }),
    answerLimit: needNumber(op, "answerLimit", options.answerLimit ?? 2 ** 28, {
      min: 1,
      max: LARGEST_ANSWER,
      integer: true,
    }),
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
    /** The server does its work, and has too much of it. */
    readonly busy = false,
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

/** Where a redirect leads; only to the same origin, and only if it is a request like this one there. */
function redirected(response: Response, from: URL): URL {
  const location = response.headers.get("location") ?? "";
  const to = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to?.origin !== from.origin)
    throw new Failure(`it redirects to ${to?.origin ?? "no address"}, where prompts and keys are not sent`, false);
  if (response.status !== 307 && response.status !== 308)
    throw new Failure(`status ${response.status} redirects a POST to a GET`, false);
  return to;
}

/** What is posted; its key is the same in each attempt, so that a server that knows it does the work once. */
interface Message {
  readonly body: string;
  readonly key: string | undefined;
}

/** The response itself, behind redirects. */
async function send(
  endpoint: Endpoint,
  { body, key }: Message,
  options: Checked,
  signal: AbortSignal,
): Promise<Response> {
  let { url } = endpoint;
  const headers = new Headers(endpoint.headers);
  if (key !== undefined) headers.set("idempotency-key", key);
  for (let hops = 0; hops <= MOST_REDIRECTS; ++hops) {
    const response = await options.fetch(url.href, {
      method: "POST",
      body,
      headers,
      redirect: "manual",
      signal,
    });
    if (response.status < 300 || response.status > 399) return response;
    await response.body?.cancel();
    url = redirected(response, url);
  }
  throw new Failure(`more than ${MOST_REDIRECTS} redirects`, false);
}

async function attempt<T>(
  endpoint: Endpoint,
  message: Message,
  read: (answer: unknown) => T,
  options: Checked,
  signal: AbortSignal,
  late: AbortSignal,
): Promise<T> {
  const timeout = AbortSignal.timeout(options.timeout);
  let text: string;
  let response: Response;
  try {
    response = await send(endpoint, message, options, AbortSignal.any([signal, late, timeout]));
    text = await textWithin(response, response.ok ? options.answerLimit : ERROR_BYTES, !response.ok);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Failure) throw error;
    if (error instanceof TooLong) throw new Failure(`the answer has ${error.message} (answerLimit)`, false);
    const because = { cause: endpoint.safeCause(error) };
    if (late.aborted) throw new Failure(`no answer within the deadline of ${options.deadline} ms`, true, 0, because);
    if (timeout.aborted) throw new Failure(`no answer within ${options.timeout} ms`, true, 0, because);
    const { message: text, cause } = error as Error & { cause?: Error };
    throw new Failure(cause ? `${text}: ${cause.message}` : text, true, 0, because);
  }
  if (!response.ok) {
    const transient = response.status >= 500 || PASSING.includes(response.status);
    // Hidden before it is cut: half a key is a part of a key.
    throw new Failure(
      `status ${response.status}: ${endpoint.hide(text).slice(0, 200)}`,
      transient,
      waitOf(response),
      undefined,
      response.status === 429,
    );
  }
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    const end = show(endpoint.hide(text.slice(-1000)).slice(-30));
    throw new Failure(`the answer is no JSON (${text.length} characters, it ends in ${end})`, true);
  }
  return read(answer);
}

/** The time that a call has, for all of its requests. */
interface Deadline {
  readonly signal: AbortSignal;
}

/**
 * What the requests of a function have in common, checked once.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the option
 */
export interface Requests {
  /** Begins a call. */
  readonly begin: () => Deadline;
  /**
   * Posts JSON and reads the JSON that comes back. Tries again, with growing waits, after a lost connection, a timeout, a status of
   * 500 and above (408, 409, 425, 429 too), an answer that is no JSON, and one that `read` refuses with `badAnswer`.
   *
   * @throws SurprisalError ERR_SURPRISAL_REMOTE with the last failure; `details.transient` says whether it may pass. The reason of
   * `signal` where that aborts. What else `read` throws
   */
  readonly post: <T>(
    body: unknown,
    read: (answer: unknown) => T,
    signal: AbortSignal,
    deadline: Deadline,
  ) => Promise<T>;
}

/** Requests to one address. No message shows what its headers, its password or its query hold, and no redirect leads them elsewhere. */
export function requestsTo(op: string, url: string, options: RequestOptions): Requests {
  return requestsAmong(op, [url], options, {}, false);
}

/**
 * Requests that any of several servers can answer. After a failure the next one is asked, at once where it was not asked yet; a
 * server that fails several times in a row rests.
 *
 * @param keyed each request has a key of its own (`idempotency-key`), the same in all attempts
 */
export function requestsAmong(
  op: string,
  urls: readonly string[],
  options: RequestOptions,
  { failures = 3, rest = 30_000 }: AddressOptions,
  keyed: boolean,
): Requests {
  const checked = needRequestOptions(op, options);
  const addresses = new Addresses(
    urls.map((url) => needEndpoint(op, url, options.headers ?? {})),
    {
      failures: needNumber(op, "failures", failures, { min: 1, integer: true }),
      rest: needNumber(op, "rest", rest, { min: 0, max: LONGEST_TIMER }),
    },
  );
  return {
    begin: () => ({ signal: AbortSignal.timeout(checked.deadline) }),
    async post(body, read, signal, deadline) {
      const message = { body: JSON.stringify(body), key: keyed ? randomUUID() : undefined };
      const late = deadline.signal;
      let endpoint = addresses.pick();
      for (let tried = 1; ; ++tried) {
        try {
          const answer = await attempt(endpoint, message, read, checked, signal, late);
          addresses.succeeded(endpoint);
          return answer;
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          if (error.transient && !error.busy) addresses.failed(endpoint);
          if (!error.transient || tried > checked.retries || late.aborted)
            throw remoteError(op, endpoint, error, tried);
          const rounds = Math.floor(tried / addresses.count);
          if (tried % addresses.count === 0) {
            const wait = Math.min(checked.backoff * 2 ** (rounds - 1), LONGEST_WAIT);
            const pauses = Math.max(wait * (1 - checked.jitter * Math.random()), error.wait);
            if (!(await pauseUntil(pauses, signal, late))) throw remoteError(op, endpoint, error, tried);
          }
          endpoint = addresses.pick(endpoint);
        }
      }
    },
  };
}

/** Waits, at most until the deadline. Returns whether there is time left. */
async function pauseUntil(milliseconds: number, signal: AbortSignal, late: AbortSignal): Promise<boolean> {
  try {
    await pause(milliseconds, AbortSignal.any([signal, late]));
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

function remoteError(op: string, endpoint: Endpoint, failure: Failure, tried: number): SurprisalError {
  const attempts = tried === 1 ? "" : ` after ${tried} attempts`;
  const message = endpoint.hide(failure.message);
  return new SurprisalError(
    "ERR_SURPRISAL_REMOTE",
    `${op}: ${endpoint.shown} failed${attempts}: ${message}`,
    { op, name: endpoint.shown, got: message, want: "an answer", transient: failure.transient },
    { cause: endpoint.safeCause(failure) },
  );
}

/** Text that a URL ends with, put behind another: "http://h:1/" and "v1/x" make "http://h:1/v1/x". */
export const urlBelow = (url: string, path: string): string => `${url.replace(/\/+$/, "")}/${path}`;

import { markedClass } from "./brand";

/** What went wrong, as a stable name. docs/troubleshooting.md has a section for each. */
export type ErrorCode =
  /** An array has the wrong length, or sizes contradict each other. */
  | "ERR_SURPRISAL_SHAPE"
  /** An array has an element type that the argument does not take, or is no typed array. */
  | "ERR_SURPRISAL_DTYPE"
  /** An option is unknown, missing, not a number where one is needed, or outside its range. */
  | "ERR_SURPRISAL_OPTION"
  /** A value that points outside its range: an id past the vocabulary, offsets that go down, a span past its row. */
  | "ERR_SURPRISAL_RANGE"
  /** Data has a value that the op refuses, such as NaN where an option asks for finite numbers. */
  | "ERR_SURPRISAL_VALUE"
  /** Memory that cannot be used: detached, or an output that overlaps an input. */
  | "ERR_SURPRISAL_BUFFER"
  /** The backend that was asked for by name cannot run here. `details.reason` says why. */
  | "ERR_SURPRISAL_BACKEND_UNAVAILABLE"
  /** A DeviceArray, a stream or a graph was used after it was disposed of. */
  | "ERR_SURPRISAL_DISPOSED"
  /** A backend could not allocate. */
  | "ERR_SURPRISAL_OUT_OF_MEMORY"
  /** A device failed during a launch or a copy; outputs are unspecified. */
  | "ERR_SURPRISAL_DEVICE"
  /** A device failed for good: every later call of this process that needs it fails with this code. Other backends go on. */
  | "ERR_SURPRISAL_DEVICE_LOST"
  /** A rank of a collective did not come in time. */
  | "ERR_SURPRISAL_COLLECTIVE_TIMEOUT"
  /** Ranks of a collective made different calls. The message names two of them. */
  | "ERR_SURPRISAL_COLLECTIVE_MISMATCH"
  /** A rank of a collective ended, threw or closed, or what carries its bytes failed. */
  | "ERR_SURPRISAL_COLLECTIVE_LOST"
  /** A library that carries a collective is not there, or is another one than it should be. */
  | "ERR_SURPRISAL_COLLECTIVE_LIBRARY"
  /** A file cannot be read or written, or its content is not what it should be. */
  | "ERR_SURPRISAL_FILE"
  /** A package that this needs is not installed. The message says which one. */
  | "ERR_SURPRISAL_PEER_MISSING"
  /** A sandbox could not start, or was used after it was disposed. */
  | "ERR_SURPRISAL_SANDBOX"
  /** A server could not be reached, refused, was too slow, or sent something unexpected. */
  | "ERR_SURPRISAL_REMOTE"
  /** A policy gave no completions, or fewer than are needed. */
  | "ERR_SURPRISAL_GENERATION";

/** The facts behind a message, for programs. */
export interface ErrorDetails {
  /** The public function. */
  readonly op?: string;
  /** The argument or option. */
  readonly name?: string;
  /** What it was. */
  readonly got?: unknown;
  /** What was expected, in words. */
  readonly want?: string;
  /** Why a backend is not available. */
  readonly reason?: string;
  /** The file that is not what it should be, as the caller named it. */
  readonly file?: string;
  /** Its line, or its row where it is a table; from 1. */
  readonly line?: number;
  /** Of a server: the same request may succeed later. */
  readonly transient?: boolean;
}

/**
 * The one error class of this package. `code` is stable, `message` is for people and names the function, the argument, its
 * value, what was expected and what to do. `instanceof` recognises errors of other copies of this package, too.
 */
export class SurprisalError extends Error {
  override readonly name = "SurprisalError";
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  static {
    markedClass(this, "SurprisalError");
  }

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
  }
}

/** A DeviceArray by type and shape; it says so itself, since this file does not import the class. */
function describeObject(value: object): string {
  const { dtype, shape, stream } = value as {
    readonly dtype?: unknown;
    readonly shape?: unknown;
    readonly stream?: unknown;
  };
  return stream !== undefined && Array.isArray(shape)
    ? `a DeviceArray of ${String(dtype)} [${shape.join(", ")}]`
    : "an object";
}

/** A value as an error message shows it: short, and never throwing, however deep it is. */
export function show(value: unknown, depth = 0): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value))
    return value.length > 4 || depth > 2
      ? `an array of ${value.length}`
      : `[${value.map((item) => show(item, depth + 1)).join(", ")}]`;
  if (ArrayBuffer.isView(value)) return Object.prototype.toString.call(value).slice(8, -1);
  if (typeof value === "object" && value !== null) return describeObject(value);
  if (typeof value === "function") return "a function";
  return String(value);
}

/** How an array of another library gives its numbers, where it does (jax-js, TensorFlow.js). */
function numbersHint(name: string, got: unknown): string | undefined {
  const { data } = (typeof got === "object" ? (got ?? {}) : {}) as { readonly data?: unknown };
  return typeof data === "function" ? `await ${name}.data() gives its numbers` : undefined;
}

/** An argument that is not what it should be: `op: name is got, expected want; hint`. */
export function argumentError(
  code: ErrorCode,
  op: string,
  name: string,
  got: unknown,
  want: string,
  hint?: string,
): SurprisalError {
  const next = hint ?? numbersHint(name, got);
  const message = `${op}: ${name} is ${show(got)}, expected ${want}${next === undefined ? "" : `; ${next}`}`;
  return new SurprisalError(code, message, { op, name, got, want });
}

/** Makes the errors of one code about arguments. */
function errorsOf(code: ErrorCode) {
  return (op: string, name: string, got: unknown, want: string, hint?: string): SurprisalError =>
    argumentError(code, op, name, got, want, hint);
}

/** `argumentError` by its code: an argument's length or sizes, its type, an option, where it points, its values. */
export const shapeError = errorsOf("ERR_SURPRISAL_SHAPE");
export const dtypeError = errorsOf("ERR_SURPRISAL_DTYPE");
export const optionError = errorsOf("ERR_SURPRISAL_OPTION");
export const rangeError = errorsOf("ERR_SURPRISAL_RANGE");
export const valueError = errorsOf("ERR_SURPRISAL_VALUE");

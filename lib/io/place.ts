// Errors that name the file, the line and the field.
import { type ErrorCode, show, SurprisalError } from "../core/errors";
import type { ReadWarning } from "./read-options";

/** Where a record stands, and where to say what is odd about it. */
export interface Place {
  readonly op: string;
  readonly file: string;
  /** Line, or row of a table, from 1; 0 = the file as a whole. */
  readonly line: number;
  warn(kind: ReadWarning["kind"], field: string, message: string): void;
}

type Somewhere = Pick<Place, "op" | "file" | "line">;

const prefix = ({ op, file, line }: Somewhere): string => `${op}: ${file}${line > 0 ? `:${line}` : ""}`;

/** `op: file:line: field is got, expected want; hint`. */
export function malformed(at: Somewhere, field: string, got: unknown, want: string, hint?: string): SurprisalError {
  const { op, file, line } = at;
  const message = `${prefix(at)}: ${field} is ${show(got)}, expected ${want}${hint === undefined ? "" : `; ${hint}`}`;
  return new SurprisalError("ERR_SURPRISAL_FILE", message, {
    op,
    name: field,
    got,
    want,
    file,
    line: line > 0 ? line : undefined,
  });
}

/** As `malformed`, for what is wrong with a line or a file as such. */
export function unreadable(at: Somewhere, what: string, cause?: unknown): SurprisalError {
  const { op, file, line } = at;
  return new SurprisalError(
    "ERR_SURPRISAL_FILE",
    `${prefix(at)}: ${what}`,
    { op, name: "source", got: what, file, line: line > 0 ? line : undefined },
    cause === undefined ? undefined : { cause },
  );
}

/** What the system refused, with its reason. */
export function refusedBySystem(op: string, file: string, verb: string, error: unknown): SurprisalError {
  const { code = "unknown", message } = error as NodeJS.ErrnoException;
  return new SurprisalError(
    "ERR_SURPRISAL_FILE",
    `${op}: ${file} cannot be ${verb} (${code}: ${message})`,
    { op, name: "path", got: code, want: `a file that can be ${verb}`, file },
    { cause: error },
  );
}

/** Whether an error is about the content of a file, and so about one record where one can be left out. */
export function isFileError(error: unknown): error is SurprisalError {
  const code: ErrorCode = "ERR_SURPRISAL_FILE";
  return error instanceof SurprisalError && error.code === code;
}

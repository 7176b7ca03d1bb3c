// Exit codes: one table, which docs/cli/README.md repeats and a test compares.
import { SurprisalError } from "../../core/errors";
import { Stopped } from "./host";

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  hangup: 129,
  interrupted: 130,
  closedPipe: 141,
  terminated: 143,
} as const;

/** What each means, in the order of the numbers. */
export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.done, "done"],
  [EXIT.failed, "the work failed: a file, its content, or a backend that cannot run here"],
  [EXIT.usage, "the command line is wrong: a command, an option or its value"],
  [EXIT.hangup, "stopped by a hangup (SIGHUP)"],
  [EXIT.interrupted, "stopped by Ctrl-C (SIGINT)"],
  [EXIT.closedPipe, "the reader of standard output closed it (SIGPIPE)"],
  [EXIT.terminated, "stopped by SIGTERM"],
];

/** A command line that makes no sense. The message names what and says what would. */
export class UsageError extends SurprisalError {
  constructor(
    message: string,
    details: { readonly name?: string; readonly got?: unknown; readonly want?: string } = {},
  ) {
    super("ERR_SURPRISAL_OPTION", message, details);
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof Stopped) return error.exitCode;
  // Options of the library come from the command line, so a refusal of one is a refusal of that.
  if (error instanceof SurprisalError && error.code === "ERR_SURPRISAL_OPTION") return EXIT.usage;
  return EXIT.failed;
}

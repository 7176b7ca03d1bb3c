// What needs Node's files or threads, said where it is called in a browser.
import { SurprisalError } from "../core/errors";

export function notInBrowser(op: string, what: string): SurprisalError {
  return new SurprisalError("ERR_SURPRISAL_OPTION", `${op}: ${what} is not in a browser; use it in Node`, {
    op,
    name: "source",
    got: what,
    want: "rollouts as JSON Lines",
  });
}

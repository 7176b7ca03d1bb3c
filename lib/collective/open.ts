// Opening a collective by the name of what carries it.
import { needWord } from "../core/option-checks";
import type { OpenedCollective } from "./opened";
import type { CollectiveHandle } from "./shared-memory";
import { openSingle } from "./single";
import { openWorkers } from "./workers";

const KINDS = ["single", "workers"] as const satisfies readonly OpenedCollective["kind"][];

export interface OpenCollectiveOptions {
  /** This rank's ticket, which createCollective made. Needed for "workers". */
  readonly handle?: CollectiveHandle;
}

/**
 * Opens this rank's end of a collective, in the thread that calls.
 *
 *     "single"    this rank alone: programs that take a collective run with it as they are
 *     "workers"   threads of one process, each with a handle of createCollective; once for each handle
 *
 * Calls wait until every rank makes theirs; the forms that end in Async leave the event loop free meanwhile. They throw
 *
 *     ERR_SURPRISAL_COLLECTIVE_MISMATCH   on all ranks, when ranks make different calls; the collective goes on
 *     ERR_SURPRISAL_COLLECTIVE_LOST       when a rank ended, threw or closed instead
 *     ERR_SURPRISAL_COLLECTIVE_TIMEOUT    when a rank did not come in time
 *
 * After a loss or a time-out the collective is at its end, and every later call throws at once. Messages number ranks as the
 * whole collective does.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for an unknown kind, or a rank that is taken
 */
export function openCollective(kind: OpenedCollective["kind"], options: OpenCollectiveOptions = {}): OpenedCollective {
  const name = KINDS[needWord("openCollective", "kind", kind, KINDS)]!;
  return name === "single" ? openSingle() : openWorkers(options.handle);
}

// A whole call off the event loop.
import { requireFixedSize } from "../core/async";
import type { OpArgs, OpName } from "./backend";
import { type BackendOption, selectBackend } from "./select";

/** Options of the asynchronous forms. */
export interface AsyncOption {
  /** Ends the call: the promise rejects with the signal's reason, and outputs are unspecified. */
  readonly signal?: AbortSignal;
}

/**
 * Runs one op in the name of the public function `name`. On cpu an abort ends it within a piece of its rows; the others look
 * before they begin.
 *
 * @param arrays all arrays of the call, by their public names: they must stay untouched until the promise settles
 */
export async function runWhole<Op extends OpName>(
  name: string,
  op: Op,
  args: OpArgs<Op>,
  arrays: Readonly<Record<string, ArrayBufferView | null | undefined>>,
  { signal, backend }: AsyncOption & BackendOption,
): Promise<void> {
  signal?.throwIfAborted();
  const chosen = selectBackend(name, backend);
  requireFixedSize(name, arrays);
  await chosen.runAsync(op, args, signal);
}

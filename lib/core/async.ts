// Arrays that a thread off the event loop reads or writes while JavaScript goes on.
import { markAsUntransferable } from "node:worker_threads";

import { argumentError } from "./errors";

/**
 * Prepares arrays for a call off the event loop. Node-API cannot pin a backing store, and a transfer during the call would
 * crash the process: so their buffers become untransferable, for good (structuredClone and postMessage with such a buffer
 * in the transfer list then throw, or copy it in Node 20). A resizable buffer could shrink under the call and is refused; shared ones are fine.
 *
 * @throws SurprisalError ERR_SURPRISAL_BUFFER for a resizable buffer
 */
export function holdForThread(op: string, arrays: Readonly<Record<string, ArrayBufferView | null | undefined>>): void {
  for (const [name, array] of Object.entries(arrays))
    if (array && (array.buffer as { resizable?: boolean }).resizable === true)
      throw argumentError("ERR_SURPRISAL_BUFFER", op, name, array, "an array of fixed size", "a resizable buffer could shrink during the call");
  for (const array of Object.values(arrays))
    if (array && Object.prototype.toString.call(array.buffer) === "[object ArrayBuffer]") markAsUntransferable(array.buffer);
}

// Arrays that a thread off the event loop reads or writes while JavaScript goes on.
import { isDetached } from "./arrays";
import { argumentError } from "./errors";

/**
 * Refuses arrays of a call off the event loop whose buffer could shrink under it. Shared memory is fine.
 *
 * @throws SurprisalError ERR_SURPRISAL_BUFFER for a resizable buffer
 */
export function requireFixedSize(
  op: string,
  arrays: Readonly<Record<string, ArrayBufferView | null | undefined>>,
): void {
  for (const [name, array] of Object.entries(arrays))
    if (array && (array.buffer as { resizable?: boolean }).resizable === true)
      throw argumentError(
        "ERR_SURPRISAL_BUFFER",
        op,
        name,
        array,
        "an array of fixed size",
        "a resizable buffer could shrink during the call",
      );
}

/**
 * Refuses to go on with a call whose memory JavaScript gave away while it waited for its turn.
 *
 * @throws SurprisalError ERR_SURPRISAL_BUFFER for an array whose buffer was transferred
 */
export function requireAttached(op: string, arrays: Readonly<Record<string, unknown>>): void {
  for (const [name, array] of Object.entries(arrays))
    if (ArrayBuffer.isView(array) && isDetached(array as ArrayBufferView & { readonly length: number }))
      throw argumentError(
        "ERR_SURPRISAL_BUFFER",
        op,
        name,
        array,
        "an array that stays where it is until the promise settles",
        "its buffer was transferred during the call: transfer a copy",
      );
}

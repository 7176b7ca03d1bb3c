// Calls off the event loop. Where the backend does not end a call early, a block of rows at a time: between blocks an abort
// is seen, and the JavaScript backend lets the event loop turn.
import type { OpArgs, OpName } from "../../backend/backend";
import { selectBackend, type BackendOption } from "../../backend/select";
import type { AsyncOption } from "../../backend/run-async";
import { holdForThread } from "../../core/async";

const BLOCK_ELEMENTS = 2 ** 20; // about 15 ms of one core

/** Rows [begin, end) of a per-row array with `width` elements a row. */
export function rowsOf<A extends { subarray(begin: number, end: number): A }>(
  array: A | null,
  width: number,
  begin: number,
  end: number,
): A | null {
  return array && array.subarray(begin * width, end * width);
}

export async function runInBlocks<Op extends OpName>(
  call: { readonly name: string; readonly op: Op; readonly rows: number; readonly width: number },
  arrays: Readonly<Record<string, ArrayBufferView | null>>,
  argsOf: (begin: number, end: number) => OpArgs<Op>,
  { signal, backend: choice }: AsyncOption & BackendOption,
): Promise<void> {
  const backend = selectBackend(call.name, choice);
  holdForThread(call.name, arrays);
  const block = Math.max(1, Math.floor(BLOCK_ELEMENTS / Math.max(1, call.width)));
  const step = backend.stops ? call.rows : block;
  for (let begin = 0; begin < call.rows; begin += step)
    await backend.runAsync(call.op, argsOf(begin, Math.min(call.rows, begin + step)), signal);
}

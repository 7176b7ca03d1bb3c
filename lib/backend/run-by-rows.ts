// Calls off the event loop by blocks of rows, of ops whose rows are independent of each other.
import { requireAttached, requireFixedSize } from "../core/async";
import type { OpArgs } from "./backend";
import { CUT_BY_ROWS, type CutOp } from "./contract/ops";
import { cutRows } from "./cut-rows";
import type { AsyncOption } from "./run-async";
import { selectBackend, type BackendOption } from "./select";

const BLOCK_ELEMENTS = 2 ** 20; // about 15 ms of one core

/**
 * Runs one op in the name of the public function `name`, off the event loop. Where the backend does not end a call early, a block of
 * rows at a time: between blocks an abort is seen, and the JavaScript backend lets the event loop turn.
 *
 * @param arrays all arrays of the call, by their public names: they must stay untouched until the promise settles
 */
export async function runByRows<Op extends CutOp>(
  name: string,
  op: Op,
  args: OpArgs<Op>,
  arrays: Readonly<Record<string, ArrayBufferView | null>>,
  { signal, backend: choice }: AsyncOption & BackendOption,
): Promise<void> {
  const backend = selectBackend(name, choice);
  requireFixedSize(name, arrays);
  const { rows, widths } = CUT_BY_ROWS[op];
  const count = args[rows] as number;
  const step = backend.stops
    ? count
    : Math.max(1, Math.floor(BLOCK_ELEMENTS / Math.max(1, ...Object.values(widths(args)))));
  for (let begin = 0; begin < count; begin += step) {
    requireAttached(name, arrays);
    await backend.runAsync(op, cutRows(op, args, begin, Math.min(count, begin + step)), signal);
  }
}

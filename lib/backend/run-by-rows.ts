// Ops whose rows are independent of each other: a call of some of the rows, and calls off the event loop by blocks of rows.
import { requireAttached, requireFixedSize } from "../core/async";
import type { OpArgs } from "./backend";
import { CUT_BY_ROWS, type CutOp } from "./contract/ops";
import type { AsyncOption } from "./run-async";
import { selectBackend, type BackendOption } from "./select";

const BLOCK_ELEMENTS = 2 ** 20; // about 15 ms of one core

type Cuttable = { subarray(begin: number, end: number): Cuttable } | null;

/** The call of the rows [begin, end) alone: its arrays are views of the whole call's. */
export function cutRows<Op extends CutOp>(op: Op, args: OpArgs<Op>, begin: number, end: number): OpArgs<Op> {
  const { rows, widths } = CUT_BY_ROWS[op];
  const part: Record<string, unknown> = { ...args, [rows]: end - begin };
  for (const [name, width] of Object.entries(widths(args))) {
    const array = part[name] as Cuttable;
    part[name] = array && array.subarray(begin * width, end * width);
  }
  return part as unknown as OpArgs<Op>;
}

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

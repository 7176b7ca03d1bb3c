// A call of some of the rows, of ops whose rows are independent of each other.
import type { OpArgs } from "./backend";
import { CUT_BY_ROWS, type CutOp } from "./contract/ops";

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

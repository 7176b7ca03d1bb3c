// One call of a backend on one shape, as data: what the device gets is what the CPU backend gets.
import type { OpName } from "../../../lib/backend/backend";
import type { DType } from "../../../lib/core/dtype";
import type { HostArray } from "../../../lib/core/host-array";
import type { Budget } from "../../accuracy/measure";
import type { Shape } from "../../shapes";

/** What the CPU backend left, by output. */
export type Outputs = Readonly<Record<string, HostArray>>;

export interface DeviceOutput {
  readonly dtype: DType;
  readonly length: number;
  /** How far the device may be from the CPU, which may be as far from the definition. */
  readonly budget: (cpu: Outputs) => Budget;
}

export interface Prepared {
  /** Arguments that are numbers, or structs of them. */
  readonly numbers: Readonly<Record<string, number | object>>;
  /** Arguments that are arrays, by name; a Uint16Array holds bits of the case's type. */
  readonly inputs: Readonly<Record<string, HostArray>>;
  readonly outputs: Readonly<Record<string, DeviceOutput>>;
  /**
   * Rows that need not be held twice: the device gets `times` copies of every array behind one another, `count` of its numbers is
   * as many times larger, and every part of an output must have the bits of the first.
   */
  readonly repeat?: { readonly times: number; readonly count: string };
}

export interface DeviceCase {
  readonly kernel: string;
  /** The public function, as bench/goals.ts and the torch bench name it. */
  readonly op: string;
  /** What of a backend runs it. */
  readonly call: OpName;
  readonly dtype: "float32" | "bfloat16" | "int32" | "int64";
  readonly rowKind: string;
  readonly shape: Shape;
  /** Each input read once, each output written once; in the words of docs/cuda.md. */
  readonly least: { readonly bytes: number; readonly formula: string };
  readonly prepare: () => Prepared;
}

export function caseTitle({ op, dtype, shape, rowKind }: Omit<DeviceCase, "prepare">): string {
  return `${op} ${dtype} ${shape.name} [${shape.sizes.join(", ")}] ${rowKind}`;
}

/** Twice a budget: both sides of a comparison may have taken theirs. */
export function twice({ says, allowed }: Budget): Budget {
  return { says: `twice ${says}`, allowed: allowed && ((want, i) => 2 * allowed(want, i)) };
}

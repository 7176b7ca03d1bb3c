// A call on 64 tokens or fewer, and what it works on.
import { rng } from "../../test/support/rng";
import type { Library } from "../harness/build";
import { SMALL } from "../shapes";

export const n: number = SMALL.tokens.sizes[1];
export const shape = [1, n] as const;
/** Groups of eight. */
export const eights = Int32Array.from({ length: n / 8 + 1 }, (_, g) => 8 * g);
export const mask = new Uint8Array(n).fill(1);
const draw = rng(14);
export const [x, y] = [draw.f32(n), draw.f32(n)];
export const one = Float32Array.of(1);
export const eachOne = new Float32Array(n).fill(1);

export const floats = (length = n): Float32Array => new Float32Array(length);
export const gap = (i: number): number => x[i]! - y[i]!;
export const every = (of: (i: number) => number): number[] => Array.from(x, (_, i) => of(i));
export const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
export const mean = (values: readonly number[]): number => sum(values) / values.length;

/** Of each group, what `of` makes of its values, one behind the other. */
export function eachGroup(values: readonly number[], of: (group: readonly number[]) => readonly number[]): number[] {
  return Array.from({ length: n / 8 }, (_, g) => of(values.slice(8 * g, 8 * g + 8))).flat();
}

export type Outputs = Readonly<Record<string, Float32Array | Float64Array | Int32Array | Uint8Array>>;

/** A call that fills these outputs, and what has to be in one of them. */
export interface SmallCall {
  readonly kernel: string;
  readonly out: Outputs;
  readonly run: (lib: Library, out: Outputs) => unknown;
  /** The output that is checked: of `out`, or of what the call returned. */
  readonly checked: string;
  readonly wanted: () => ArrayLike<number>;
}

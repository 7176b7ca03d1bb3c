// One plain call of every op that reads numbers, or several where forms read others, with each array of numbers by its name: so
// that a number in it can be made NaN or infinite, at a position that counts and at one under the mask.
import type { BackendName } from "../../../lib";
import { rng } from "../../support/rng";

type Numbers = Float32Array | Float64Array;
/** An array as a case gets it: on the host, or on a device under the same type. */
export type Given = Float32Array & Float64Array;

export interface Input {
  readonly values: Numbers;
  /** The position that counts. */
  readonly kept: number;
  /** One under the mask, where there is a mask. */
  readonly masked?: number;
}

export interface Case {
  /** The public function, and what tells its cases apart. */
  readonly title: string;
  readonly inputs: Readonly<Record<string, Input>>;
  readonly run: (given: Readonly<Record<string, Given>>, backend: BackendName) => object;
}

export function caseOf<Name extends string>(
  title: string,
  inputs: Readonly<Record<Name, Input>>,
  run: (given: Readonly<Record<Name, Given>>, backend: BackendName) => object,
): Case {
  return { title, inputs, run };
}

/** Three rows of four tokens: the last of row 0 and the third of row 1 do not count. */
const B = 3;
export const shape: [number, number] = [B, 4];
export const mask = Uint8Array.of(1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1);
/** Of rows: two of one prompt, one of another. */
export const rowGroups = [5, 5, 7];
/** Of six items. */
export const groups = [1, 1, 1, 2, 2, 2];
/** Three rows of five logits, of which the second does not count. */
const V = 5;
export const logitShape: [number, number] = [3, V];
export const rowMask = Uint8Array.of(1, 0, 1);
export const targets = Int32Array.of(2, 0, 4);
/** Three spans: two of row 0, one of row 2. */
export const spans = Int32Array.of(0, 0, 2, 0, 2, 3, 2, 1, 4);

const random = rng(61);

/** Per token; the second and the fourth are poisoned. */
export const tokens = (low = -1, high = 1): Input => ({ values: random.f32(12, low, high), kept: 1, masked: 3 });
export const logProbs = (): Input => tokens(-2, -0.5);
/** Per row; the first is poisoned. */
export const rows = (low = 0.5, high = 1.5): Input => ({ values: random.f32(B, low, high), kept: 0 });
export const wideRows = (low = 0.5, high = 1.5): Input => ({ values: random.f64(B, low, high), kept: 0 });
/** Per item; the second of the first group is poisoned. */
export const items = (low = -1, high = 1): Input => ({ values: random.f32(6, low, high), kept: 1 });
/** Per logit; id 1 of the first row is poisoned, and of the row that does not count. */
export const logits = (): Input => ({ values: random.f32(3 * V, -2, 2), kept: 1, masked: V + 1 });
/** Per row of logits. */
export const logitRows = (low = 0.5, high = 1.5): Input => ({ values: random.f32(3, low, high), kept: 0, masked: 1 });
/** As many as are wanted, each of which counts; the second is poisoned. */
export const wide = (length: number, low = 0.1, high = 1.5): Input => ({
  values: random.f64(length, low, high),
  kept: 1,
});

// Checks of the arrays that callers pass: kind, length, memory. They run before anything is written.
import { outputArray } from "./arena";
import { needDevice } from "./device-arguments";
import { allocateOn, DeviceArray } from "./device-array";
import { argumentError, dtypeError, rangeError, SurprisalError } from "./errors";
import type { Stream } from "./stream";
import { type DType, type FloatArray, type FloatDType, isFloatArray, typedArrayName } from "./dtype";
import { allocateFloat, floatDType } from "./float-arrays";
import { narrowIds } from "./wide-ids";

type AnyTypedArray = ArrayBufferView & { readonly length: number };

/** Whether JavaScript gave the memory of this array away. */
export function isDetached(array: AnyTypedArray): boolean {
  if (array.length > 0 || !ArrayBuffer.isView(array)) return false;
  try {
    // Any view over a detached buffer throws. Node 20 has no ArrayBuffer.prototype.detached.
    new Uint8Array(array.buffer as ArrayBuffer);
    return false;
  } catch {
    return true;
  }
}

/** A typed array of exactly `length` elements whose buffer is not detached. */
export function needLength(op: string, name: string, array: AnyTypedArray, length: number, meaning: string): void {
  if (isDetached(array))
    throw argumentError(
      "ERR_SURPRISAL_BUFFER",
      op,
      name,
      array,
      "an array whose buffer is still here",
      "it was transferred away",
    );
  if (array.length === length) return;
  throw new SurprisalError(
    "ERR_SURPRISAL_SHAPE",
    `${op}: ${name} has ${array.length} elements, expected ${length} (${meaning})`,
    { op, name, got: array.length, want: `${length} (${meaning})` },
  );
}

/** Bounds {low, high} where one number is wanted: the caller has to pick an end. */
function intervalHint(value: unknown): string | undefined {
  const interval = typeof value === "object" && value !== null && "low" in value && "high" in value;
  return interval
    ? 'it is an interval: choose one of its ends, pickEntropies(bounds, "low" | "high" | "middle")'
    : undefined;
}

const FLOATS: readonly FloatDType[] = ["float32", "float64"];

/** A DeviceArray of exactly `length` elements, under the type of the host array that it stands for. */
function needOnDevice(
  op: string,
  name: string,
  array: DeviceArray,
  dtypes: readonly DType[],
  length: number | undefined,
  meaning: string,
): unknown {
  needDevice(op, name, array, dtypes);
  if (length !== undefined) needLength(op, name, array as unknown as AnyTypedArray, length, meaning);
  return array;
}

/** The number of elements of an array, wherever it lies; 0 of anything else. */
export function lengthOf(value: unknown): number {
  return ArrayBuffer.isView(value) || DeviceArray.is(value) ? (value as AnyTypedArray).length : 0;
}

/** A Float32Array or Float64Array of exactly `length` elements. */
export function needFloats(op: string, name: string, value: unknown, length: number, meaning: string): FloatArray {
  if (!isFloatArray(value)) {
    if (DeviceArray.is(value)) return needOnDevice(op, name, value, FLOATS, length, meaning) as FloatArray;
    throw dtypeError(op, name, value, "a Float32Array or a Float64Array", intervalHint(value));
  }
  needLength(op, name, value, length, meaning);
  return value;
}

/** As needFloats, where undefined or null means: not given. */
export function optionalFloats(
  op: string,
  name: string,
  value: unknown,
  length: number,
  meaning: string,
): FloatArray | null {
  return value == null ? null : needFloats(op, name, value, length, meaning);
}

/** A Float64Array of exactly `length` elements. */
export function needFloat64(op: string, name: string, value: unknown, length: number, meaning: string): Float64Array {
  if (typedArrayName(value) !== "Float64Array") {
    if (DeviceArray.is(value)) return needOnDevice(op, name, value, ["float64"], length, meaning) as Float64Array;
    throw dtypeError(op, name, value, "a Float64Array");
  }
  needLength(op, name, value as Float64Array, length, meaning);
  return value as Float64Array;
}

/** A 0/1 mask as Uint8Array (anything but 0 counts as 1), or null where none is given. */
export function optionalMask(
  op: string,
  name: string,
  value: unknown,
  length: number,
  meaning: string,
): Uint8Array | null {
  if (value == null) return null;
  const kind = typedArrayName(value);
  if (kind !== "Uint8Array" && kind !== "Uint8ClampedArray") {
    if (DeviceArray.is(value)) return needOnDevice(op, name, value, ["uint8"], length, meaning) as Uint8Array;
    throw dtypeError(op, name, value, "a Uint8Array of 0 and 1", "Uint8Array.from(mask) converts");
  }
  needLength(op, name, value as Uint8Array, length, meaning);
  return value as Uint8Array;
}

/** An Int32Array of exactly `length` elements. */
export function needInt32(op: string, name: string, value: unknown, length: number, meaning: string): Int32Array {
  if (typedArrayName(value) !== "Int32Array") {
    if (DeviceArray.is(value)) return needOnDevice(op, name, value, ["int32"], length, meaning) as Int32Array;
    throw dtypeError(op, name, value, "an Int32Array");
  }
  needLength(op, name, value as Int32Array, length, meaning);
  return value as Int32Array;
}

/** Whether ids are int64. */
export function isWide(ids: unknown): ids is BigInt64Array {
  return typedArrayName(ids) === "BigInt64Array";
}

const INT32_MAX = 2 ** 31 - 1;

/** Token ids: an Int32Array as it is, anything else with a range check; every id must fit into int32. */
export type TokenIds = Int32Array | BigInt64Array | Uint32Array | readonly number[] | readonly bigint[];

/**
 * Token or group ids as Int32Array: an Int32Array as it is, a BigInt64Array or an array of numbers converted with a range
 * check (every id an integer in int32). `length` undefined = any.
 */
export function needIds(op: string, name: string, value: unknown, length?: number, meaning = ""): Int32Array {
  const kind = typedArrayName(value);
  let ids: Int32Array;
  if (kind === "Int32Array") {
    ids = value as Int32Array;
  } else if (isWide(value)) {
    needLength(op, name, value, value.length, "its own length");
    const { ids: narrow, wrong } = narrowIds(value);
    if (wrong >= 0) throw rangeError(op, `${name}[${wrong}]`, value[wrong], "an int32");
    ids = narrow;
  } else if (kind === "Uint32Array" || Array.isArray(value)) {
    const source = value as ArrayLike<number | bigint>;
    ids = new Int32Array(source.length);
    for (let i = 0; i < source.length; ++i) {
      const id = source[i];
      const number = typeof id === "bigint" || typeof id === "number" ? Number(id) : NaN;
      if (!Number.isInteger(number) || Math.abs(number) > INT32_MAX)
        throw rangeError(op, `${name}[${i}]`, id, `an integer within ±${INT32_MAX}`);
      ids[i] = number;
    }
  } else if (DeviceArray.is(value)) {
    return needOnDevice(op, name, value, ["int32"], length, meaning) as Int32Array;
  } else {
    throw dtypeError(op, name, value, "an Int32Array, a Uint32Array, a BigInt64Array or an array of integers");
  }
  if (length !== undefined) needLength(op, name, ids, length, meaning);
  return ids;
}

/** As needIds, but a BigInt64Array stays as it is: its reader checks the range. */
export function needWideIds(op: string, name: string, value: unknown): Int32Array | BigInt64Array {
  return isWide(value) ? value : needIds(op, name, value);
}

/** Whether two views share at least one byte. */
export function overlaps(a: ArrayBufferView, b: ArrayBufferView): boolean {
  return (
    a.buffer === b.buffer &&
    a.byteLength > 0 &&
    b.byteLength > 0 &&
    a.byteOffset < b.byteOffset + b.byteLength &&
    b.byteOffset < a.byteOffset + a.byteLength
  );
}

type NamedArrays = Readonly<Record<string, ArrayBufferView | null | undefined>>;

// The getter itself: through a property of arrays of many kinds it takes twice as long, and a DeviceArray has its own.
const { get: bufferOf } = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype) as object,
  "buffer",
) as {
  get: (this: unknown) => ArrayBufferLike;
};

/** Puts the buffers of `arrays` behind the first `count` and returns how many there are then. */
function addBuffers(buffers: unknown[], count: number, arrays: NamedArrays): number {
  for (const name in arrays) {
    const array = arrays[name];
    const onHost: boolean = ArrayBuffer.isView(array);
    if (array != null) buffers[count++] = onHost ? bufferOf.call(array) : array.buffer;
  }
  return count;
}

/** `output` against the others, up to the one named `end`. */
function refuseWithin(op: string, name: string, output: ArrayBufferView, others: NamedArrays, end?: string): void {
  for (const other in others) {
    if (other === end) return;
    const view = others[other];
    if (view == null || !overlaps(output, view)) continue;
    const details = { op, name: `out.${name}`, got: other, want: "memory of its own" };
    throw new SurprisalError(
      "ERR_SURPRISAL_BUFFER",
      `${op}: out.${name} overlaps ${other}; give it memory of its own`,
      details,
    );
  }
}

/** Whether one of the first `ends` buffers is there a second time. */
function anyTwice(buffers: readonly unknown[], ends: number, count: number): boolean {
  for (let i = 0; i < ends; ++i) {
    const own = buffers[i];
    for (let j = i + 1; j < count; ++j) if (own === buffers[j]) return true;
  }
  return false;
}

/**
 * Refuses outputs that share memory with an input or with each other. Absent arrays are skipped.
 *
 * @param given what the caller gave, by the names of the outputs, or the one output: the others are new, and share memory with nothing.
 * To ask a small new array for its buffer is to give it one, which costs more than a small call
 */
export function refuseOverlap(
  op: string,
  given: object | null | undefined,
  outputs: NamedArrays,
  inputs: NamedArrays,
): void {
  if (given == null) return;
  // Nearly always every output has a buffer of its own. Then there is nothing to compare.
  const buffers = new Array<unknown>(16); // place for most calls: an array that grows costs more than all else here
  const one = ArrayBuffer.isView(given) || DeviceArray.is(given);
  const ends = addBuffers(buffers, 0, one ? outputs : (given as NamedArrays));
  if (!anyTwice(buffers, ends, addBuffers(buffers, ends, inputs))) return;
  for (const name in outputs) {
    const output = outputs[name];
    if (output == null) continue;
    refuseWithin(op, name, output, inputs);
    refuseWithin(op, name, output, outputs, name); // those behind it compare themselves with it
  }
}

/** A caller's output array: the exact float type and length that the op writes. */
export function needOutput(op: string, name: string, value: unknown, dtype: FloatDType, length: number): FloatArray {
  const kind = dtype === "float64" ? "Float64Array" : "Float32Array";
  // What fits needs no name for a message.
  if (length > 0 && typedArrayName(value) === kind && (value as FloatArray).length === length)
    return value as FloatArray;
  const out = needFloats(op, `out.${name}`, value, length, "the size of the result");
  if (floatDType(out) !== dtype) throw dtypeError(op, `out.${name}`, out, `a ${kind}`);
  return out;
}

/** A caller's output array where one is given, else a new one, on the stream of the call if it has one. */
export function outputOr(
  op: string,
  name: string,
  value: FloatArray | undefined,
  dtype: FloatDType,
  length: number,
  stream: Stream | null,
): FloatArray {
  return value === undefined ? allocateFloat(dtype, length, stream) : needOutput(op, name, value, dtype, length);
}

/** As outputOr, for numbers that are float64 whatever the inputs are. */
export function float64Or(
  op: string,
  name: string,
  value: Float64Array | undefined,
  length: number,
  stream: Stream | null,
): Float64Array {
  if (value !== undefined) return needFloat64(op, `out.${name}`, value, length, "the size of the result");
  return allocateFloat("float64", length, stream) as Float64Array;
}

/** As outputOr, for counts. */
export function int32Or(
  op: string,
  name: string,
  value: Int32Array | undefined,
  length: number,
  stream: Stream | null,
): Int32Array {
  if (value !== undefined) return needInt32(op, `out.${name}`, value, length, "the size of the result");
  return stream ? (allocateOn(stream, "int32", [length]) as unknown as Int32Array) : outputArray(Int32Array, length);
}

/** As outputOr, for flags. */
export function flagsOr(
  op: string,
  name: string,
  value: Uint8Array | undefined,
  length: number,
  stream: Stream | null,
): Uint8Array {
  const given = optionalMask(op, `out.${name}`, value, length, "the size of the result");
  if (given) return given;
  return stream ? (allocateOn(stream, "uint8", [length]) as unknown as Uint8Array) : outputArray(Uint8Array, length);
}

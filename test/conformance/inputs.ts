// The inputs of a golden case as the public API wants them. Reading and reshaping only: no arithmetic on values.
import { isGoldenArray, type GoldenArray, type GoldenRecord, type GoldenValue, type NumberArray } from "./golden";

export type FloatArray = Float32Array | Float64Array;

/** Rows of different lengths, one after the other; row b is values[offsets[b]] … values[offsets[b + 1]]. */
export interface Packed<A extends NumberArray> {
  values: A;
  offsets: Int32Array;
}

export class Inputs {
  constructor(private readonly record: GoldenRecord) {}

  has(name: string): boolean {
    return this.record[name] !== undefined && this.record[name] !== null;
  }

  /** Whether the case gives null, and does not leave the input out. */
  isNull(name: string): boolean {
    return this.record[name] === null;
  }

  /** The value as it stands in the file. */
  value(name: string): GoldenValue {
    const value = this.record[name];
    if (value === undefined) throw new Error(`the case has no input "${name}"`);
    return value;
  }

  array(name: string): GoldenArray {
    const value = this.value(name);
    if (!isGoldenArray(value)) throw this.unexpected(name, "an array");
    return value;
  }

  shape(name: string): readonly number[] {
    return this.array(name).shape;
  }

  /** The extents of a matrix. */
  shape2(name: string): [rows: number, columns: number] {
    const [rows, columns, ...rest] = this.shape(name);
    if (rows === undefined || columns === undefined || rest.length > 0) throw this.unexpected(name, "a matrix");
    return [rows, columns];
  }

  floats(name: string): FloatArray {
    const array = this.array(name);
    if (array.dtype === "float32" || array.dtype === "float64") return array.data;
    throw this.unexpected(name, "float32 or float64");
  }

  float32(name: string): Float32Array {
    const array = this.array(name);
    if (array.dtype === "float32") return array.data;
    throw this.unexpected(name, "float32");
  }

  int32(name: string): Int32Array {
    const array = this.array(name);
    if (array.dtype === "int32") return array.data;
    throw this.unexpected(name, "int32");
  }

  uint8(name: string): Uint8Array {
    const array = this.array(name);
    if (array.dtype === "uint8") return array.data;
    throw this.unexpected(name, "uint8");
  }

  number(name: string): number {
    const value = this.value(name);
    if (typeof value !== "number") throw this.unexpected(name, "a number");
    return value;
  }

  boolean(name: string): boolean {
    const value = this.value(name);
    if (typeof value !== "boolean") throw this.unexpected(name, "true or false");
    return value;
  }

  string(name: string): string {
    const value = this.value(name);
    if (typeof value !== "string") throw this.unexpected(name, "a string");
    return value;
  }

  /** One of a few words, typed as such. Any other word is an error of the mapping, not of the API. */
  oneOf<W extends string>(name: string, words: readonly W[]): W {
    const value = this.string(name);
    const word = words.find((w) => w === value);
    if (word === undefined) throw this.unexpected(name, words.join(" or "));
    return word;
  }

  /** A list of numbers or a one-dimensional array of any dtype. */
  numbers(name: string): number[] {
    return numbersOf(this.value(name)) ?? this.fail(name, "a list of numbers");
  }

  list(name: string): readonly GoldenValue[] {
    const value = this.value(name);
    if (!Array.isArray(value)) throw this.unexpected(name, "a list");
    return value as readonly GoldenValue[];
  }

  /** A list of float rows (arrays, or lists of numbers), each its own array. Lists become float64. */
  floatRows(name: string): FloatArray[] {
    return this.list(name).map((row) => {
      if (isGoldenArray(row) && row.dtype === "float32") return row.data;
      return Float64Array.from(numbersOf(row) ?? this.fail(name, "a list of rows of numbers"));
    });
  }

  /** The same rows laid one after the other, float32 if all of them are. */
  packedFloats(name: string): Packed<FloatArray> {
    const rows = this.floatRows(name);
    const offsets = offsetsOf(rows);
    const single = rows.length > 0 && rows.every((row) => row.BYTES_PER_ELEMENT === 4);
    const values = new (single ? Float32Array : Float64Array)(offsets[rows.length] as number);
    rows.forEach((row, b) => values.set(row, offsets[b]));
    return { values, offsets };
  }

  private unexpected(name: string, wanted: string): Error {
    return new Error(`input "${name}" is not ${wanted}`);
  }

  private fail(name: string, wanted: string): never {
    throw this.unexpected(name, wanted);
  }
}

function numbersOf(value: GoldenValue): number[] | undefined {
  if (isGoldenArray(value)) return Array.from(value.data);
  if (Array.isArray(value) && value.every((item): item is number => typeof item === "number")) return value;
  return undefined;
}

function offsetsOf(rows: readonly { readonly length: number }[]): Int32Array {
  const offsets = new Int32Array(rows.length + 1);
  rows.forEach((row, b) => (offsets[b + 1] = (offsets[b] as number) + row.length));
  return offsets;
}

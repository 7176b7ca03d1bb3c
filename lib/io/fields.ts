// Values of a parsed record as typed arrays: each check names its field.
import { typedArrayName } from "../core/dtype";
import { malformed, type Place } from "./place";

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

export function objectOf(at: Place, field: string, value: unknown): JsonObject {
  if (isObject(value)) return value;
  throw malformed(at, field, value, "an object");
}

/** An array, or a column's typed array. */
export function listOf(at: Place, field: string, value: unknown): ArrayLike<unknown> {
  if (Array.isArray(value) || typedArrayName(value) !== undefined) return value as ArrayLike<unknown>;
  throw malformed(at, field, value, "an array");
}

export function stringOf(at: Place, field: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw malformed(at, field, value, "a string");
}

/** How JSON says what it has no number for. */
const SPELLED: Readonly<Record<string, number>> = { NaN, Infinity, "-Infinity": -Infinity };

function numberIn(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  return typeof value === "string" && Object.hasOwn(SPELLED, value) ? SPELLED[value] : undefined;
}

export function numberOf(at: Place, field: string, value: unknown): number {
  const number = numberIn(value);
  if (number === undefined) throw malformed(at, field, value, 'a number, or one of "NaN", "Infinity", "-Infinity"');
  return number;
}

export interface NumbersOptions {
  /** null stands for a number that is not known: NaN. */
  readonly nulls?: boolean;
}

export function numbersOf(
  at: Place,
  field: string,
  value: unknown,
  { nulls = false }: NumbersOptions = {},
): Float64Array {
  const list = listOf(at, field, value);
  const numbers = new Float64Array(list.length);
  for (let i = 0; i < numbers.length; ++i) {
    const item = list[i];
    numbers[i] = typeof item === "number" ? item : nulls && item === null ? NaN : numberOf(at, `${field}[${i}]`, item);
  }
  return numbers;
}

const INT32_MAX = 2 ** 31 - 1;

/** A token id: an integer that fits into int32. int64 columns give bigints. */
export function idOf(at: Place, field: string, value: unknown): number {
  const id = typeof value === "bigint" ? Number(value) : value;
  if (typeof id === "number" && Number.isInteger(id) && Math.abs(id) <= INT32_MAX) return id;
  throw malformed(at, field, value, `an integer within ±${INT32_MAX}`);
}

export function idsOf(at: Place, field: string, value: unknown): Int32Array {
  const list = listOf(at, field, value);
  const ids = new Int32Array(list.length);
  for (let i = 0; i < ids.length; ++i) ids[i] = idOf(at, `${field}[${i}]`, list[i]);
  return ids;
}

export function stringsOf(at: Place, field: string, value: unknown): string[] {
  const list = listOf(at, field, value);
  return Array.from({ length: list.length }, (_, i) => stringOf(at, `${field}[${i}]`, list[i]));
}

/** A whole number >= 0, also as the string that some trainers write. */
export function countOf(at: Place, field: string, value: unknown): number {
  const number =
    typeof value === "string" && /^\d{1,15}$/.test(value)
      ? Number(value)
      : typeof value === "bigint"
        ? Number(value)
        : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= 0) return number;
  throw malformed(at, field, value, "an integer >= 0");
}

/** The field's value by a reader; undefined where it is absent or null. */
export function optional<T>(
  at: Place,
  record: JsonObject,
  field: string,
  read: (at: Place, field: string, value: unknown) => T,
): T | undefined {
  const value = Object.hasOwn(record, field) ? record[field] : undefined;
  return value == null ? undefined : read(at, field, value);
}

/** Refuses an array whose length is not that of the others. */
export function sameLength(at: Place, field: string, length: number | undefined, expected: number, of: string): void {
  if (length !== undefined && length !== expected)
    throw malformed(
      at,
      `${field}.length`,
      length,
      `${expected}, the length of ${of}`,
      "one entry per token of the completion",
    );
}

/** The fields of a record that no reader has named. */
export function restOf(record: JsonObject, known: readonly string[]): Record<string, unknown> | undefined {
  const rest = Object.entries(record).filter(([name, value]) => !known.includes(name) && value !== undefined);
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

/** An object without the entries that are undefined. */
export function present<T extends object>(entries: { readonly [Name in keyof T]: T[Name] | undefined }): T {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined)) as T;
}

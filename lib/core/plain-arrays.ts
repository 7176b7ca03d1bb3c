// Plain arrays, nested ones and tensors of other libraries in the place of typed arrays. Functions take typed arrays alone. An
// entry of the package that was refused asks here for typed copies of what it was given, and calls once more: a call with typed
// arrays pays nothing for it.
import { typedArrayName } from "./dtype";
import { rangeError, SurprisalError, valueError } from "./errors";
import { fromBFloat16Bits, fromFloat16Bits } from "./half";

/**
 * What an argument or a field takes: `"f"` floats of either type, `"d"` float64 alone, `"c"` columns, which are floats or a list of them, `"l"`
 * logits or another tensor, `"t"` token ids, `"i"` int32, `"m"` flags.
 */
export type ArrayKind = "f" | "d" | "c" | "l" | "t" | "i" | "m";

/** An argument, or a field of one, that takes an array. */
export interface ArraySlot {
  readonly name: string;
  readonly kind: ArrayKind;
  value: unknown;
}

/** How the call lies in memory, where it says so; what nested arrays and tensors say is added. */
export interface PlainLayout {
  shape?: unknown;
  offsets?: unknown;
}

interface Tensor {
  readonly data: ArrayBufferView;
  readonly dims?: unknown;
  readonly shape?: unknown;
  readonly type?: unknown;
  readonly dtype?: unknown;
}

function isTensor(value: unknown): value is Tensor {
  if (typeof value !== "object" || value === null || typedArrayName(value) !== undefined) return false;
  const { data, dims, shape } = value as Partial<Tensor>;
  return typedArrayName(data) !== undefined && (Array.isArray(dims) || Array.isArray(shape));
}

const isList = (value: unknown): boolean => Array.isArray(value) || typedArrayName(value) !== undefined;

/** Whether there is anything to convert. */
export function isPlain({ value, kind }: ArraySlot): boolean {
  // An empty list in the place of columns is one without columns, not an array without rows.
  if (Array.isArray(value)) return kind !== "c" || value.some((row) => typedArrayName(row) === undefined);
  return kind !== "l" && isTensor(value);
}

/** The rows of a nested array, or undefined where it is flat. */
function rowsOf(op: string, { name, value }: ArraySlot): readonly (readonly unknown[])[] | undefined {
  const list = value as readonly unknown[];
  if (!list.some(isList)) return undefined;
  const b = list.findIndex((row) => !isList(row));
  if (b >= 0) throw valueError(op, `${name}[${b}]`, list[b], "an array, as the other rows are");
  return list.map((row) => Array.from(row as ArrayLike<unknown>));
}

function numberOf(op: string, name: string, value: unknown): number {
  if (typeof value === "number") return value;
  throw valueError(op, name, value, "a number");
}

function flagOf(op: string, name: string, value: unknown): number {
  if (value === 0 || value === 0n || value === false) return 0;
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return 1;
  throw valueError(op, name, value, "0, 1, true or false");
}

/** Numbers as the kind of array that a slot takes. Ids stay a list: who reads them checks their range. */
function typed(
  op: string,
  kind: ArrayKind,
  wide: boolean,
  list: readonly unknown[],
  nameOf: (i: number) => string,
): unknown {
  if (kind === "t") return list;
  const read = kind === "m" ? flagOf : numberOf;
  const numbers = list.map((value, i) => read(op, nameOf(i), value));
  if (kind === "m") return Uint8Array.from(numbers);
  if (kind !== "i") return wide ? Float64Array.from(numbers) : Float32Array.from(numbers);
  const wrong = numbers.findIndex((number) => number !== Math.trunc(number) || Math.abs(number) > 2 ** 31 - 1);
  if (wrong >= 0) throw rangeError(op, nameOf(wrong), numbers[wrong], "an int32");
  return Int32Array.from(numbers);
}

/** The numbers of a tensor as the kind of array that a slot takes; itself where there is nothing to be done. */
function ofTensor(kind: ArrayKind, { data, type, dtype }: Tensor): unknown {
  const name = typedArrayName(data);
  const words = type ?? dtype;
  if (kind === "m" && name !== "Uint8Array")
    return Uint8Array.from(data as unknown as ArrayLike<number>, (flag: number | bigint) =>
      flag === 0 || flag === 0n ? 0 : 1,
    );
  if (name !== "Uint16Array" || (kind !== "f" && kind !== "d")) return data;
  const read = words === "float16" ? fromFloat16Bits : words === "bfloat16" ? fromBFloat16Bits : undefined;
  return read ? Float32Array.from(data as Uint16Array, read) : data;
}

/** The sizes of rows, and of which argument they are. */
interface Rows {
  readonly name: string;
  readonly lengths: readonly number[];
}

function refuseRows(op: string, name: string, got: string, want: string): SurprisalError {
  return new SurprisalError("ERR_SURPRISAL_SHAPE", `${op}: ${name} has ${got}, expected ${want}`, {
    op,
    name,
    got,
    want,
  });
}

/** Rows that must be those of another argument, or of the layout. */
function sameRows(op: string, known: Rows | undefined, { name, lengths }: Rows): Rows {
  if (!known) return { name, lengths };
  if (lengths.length !== known.lengths.length)
    throw refuseRows(op, name, `${lengths.length} rows`, `${known.lengths.length}, as ${known.name} has`);
  const b = lengths.findIndex((length, i) => length !== known.lengths[i]);
  if (b < 0) return known;
  throw refuseRows(
    op,
    `${name}[${b}]`,
    `${lengths[b]} elements`,
    `${known.lengths[b]}, as row ${b} of ${known.name} has`,
  );
}

/** The width of rows that are all alike. */
function widthOf(op: string, { name, lengths }: Rows): number {
  const b = lengths.findIndex((length) => length !== lengths[0]);
  if (b < 0) return lengths[0] ?? 0;
  throw refuseRows(op, `${name}[${b}]`, `${lengths[b]} elements`, `${lengths[0]}, as ${name}[0] has`);
}

/** The rows that the call itself names; what is wrong with them its function says. */
function givenRows({ shape, offsets }: PlainLayout): Rows | undefined {
  if (Array.isArray(shape) && shape.length === 2 && Number.isSafeInteger(shape[0]) && shape[0] >= 0)
    return { name: "shape", lengths: new Array<number>(shape[0] as number).fill(shape[1] as number) };
  if (typedArrayName(offsets) !== "Int32Array") return undefined;
  const ends = offsets as Int32Array;
  return { name: "offsets", lengths: Array.from(ends.subarray(1), (end, b) => end - ends[b]!) };
}

/** Where packed rows begin and end. */
function offsetsOf(lengths: readonly number[]): Int32Array {
  const offsets = new Int32Array(lengths.length + 1);
  lengths.forEach((length, b) => {
    offsets[b + 1] = offsets[b]! + length;
  });
  return offsets;
}

/** Whether floats of the call become float64: its typed arrays are, or there is none. */
function isWide(slots: readonly ArraySlot[]): boolean {
  const names = slots.flatMap(({ kind, value }) =>
    "flc".includes(kind) ? [value].flat().map((one) => typedArrayName(isTensor(one) ? one.data : one)) : [],
  );
  return names.includes("Float64Array") || !names.some((name) => name === "Float32Array" || name === "Uint16Array");
}

/** A nested array as its slot takes it, with the rows that it has where it is one of rows. */
function ofNested(op: string, { name, kind }: ArraySlot, nested: readonly (readonly unknown[])[], wide: boolean) {
  const rows = { name, lengths: nested.map(({ length }) => length) };
  if (kind === "c")
    return { value: nested.map((row, k) => typed(op, kind, wide, row, (i) => `${name}[${k}][${i}]`)), rows: undefined };
  const places = nested.flatMap((row, b) => row.map((_, t) => `${name}[${b}][${t}]`));
  const data = typed(op, kind, wide, nested.flat(), (i) => places[i]!);
  if (kind === "l")
    return { value: { data, shape: [nested.length, widthOf(op, rows)], dtype: "float32" }, rows: undefined };
  if (kind !== "i") return { value: data, rows };
  widthOf(op, rows); // spans: three numbers each
  return { value: data, rows: undefined };
}

/**
 * Puts typed arrays into the slots that hold plain ones.
 *
 * A nested array is rows: it is packed, and `layout` gets `offsets`. Nested logits and hidden states are a matrix. Floats take the
 * widest type of the call's typed arrays; without any they are float64, logits float32.
 *
 * @param layout where `shape` and `offsets` of the call stand; null for a call without rows, whose nested arrays are matrices
 * @throws SurprisalError ERR_SURPRISAL_VALUE, _RANGE or _SHAPE, naming the argument
 */
export function fillTyped(op: string, slots: readonly ArraySlot[], layout: PlainLayout | null): void {
  const widest = isWide(slots);
  const given = layout !== null && (layout.shape != null || layout.offsets != null);
  let rows = given ? givenRows(layout) : undefined;
  let nests = false;
  for (const slot of slots.filter(isPlain)) {
    const { name, kind, value } = slot;
    const wide = kind === "d" || (kind !== "l" && widest);
    if (!Array.isArray(value)) {
      const { dims, shape } = value as Tensor;
      const sizes = (dims ?? shape) as readonly number[];
      slot.value = ofTensor(kind, value as Tensor);
      if (layout && !given && sizes.length > 1 && kind !== "i")
        layout.shape ??= [sizes.slice(0, -1).reduce((product, size) => product * size, 1), sizes.at(-1)];
      continue;
    }
    const nested = rowsOf(op, slot);
    if (!nested) {
      slot.value = typed(op, kind, wide, value, (i) => `${name}[${i}]`);
      continue;
    }
    const found = ofNested(op, slot, nested, wide);
    slot.value = found.value;
    if (!found.rows) continue;
    nests = true;
    if (layout) rows = sameRows(op, rows, found.rows);
    else widthOf(op, found.rows);
  }
  if (layout && rows && nests && !given && layout.shape == null) layout.offsets = offsetsOf(rows.lengths);
}

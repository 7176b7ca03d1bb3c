// Rows of numbers in three forms: a list of arrays, packed (one behind the other, with offsets), padded (a matrix).
import { needLength } from "./arrays";
import { typedArrayName } from "./dtype";
import { dtypeError, rangeError } from "./errors";
import { needNumber, needWord } from "./option-checks";
import { checkOffsets } from "./offsets";

/** What the rows of a record are made of: ids, masks, log-probs and the like. */
export type RowArray = Int32Array | Uint8Array | Float32Array | Float64Array;

/** Rows one behind the other; row b is values[offsets[b]] … values[offsets[b+1]]. */
export interface PackedRows<A extends RowArray = RowArray> {
  readonly values: A;
  readonly offsets: Int32Array;
}

/** Rows of a matrix. */
export interface PaddedRows<A extends RowArray = RowArray> {
  /** [rows, width], row-major. */
  readonly values: A;
  readonly shape: readonly [rows: number, width: number];
  /** 1 = a value of its row, 0 = filling; [rows, width]. */
  readonly present: Uint8Array;
  /** Values of each row. */
  readonly lengths: Int32Array;
}

const SURPLUS = ["refuse", "ignore"] as const;
const SIDES = ["left", "right"] as const;

const KINDS = ["Int32Array", "Uint8Array", "Float32Array", "Float64Array"];

function needRowArray<A extends RowArray>(op: string, name: string, values: A): A {
  if (!KINDS.includes(typedArrayName(values) ?? "")) throw dtypeError(op, name, values, `one of ${KINDS.join(", ")}`);
  return values;
}

/** Zeros, of the same kind. */
function arrayLike<A extends RowArray>(values: A, length: number): A {
  return new (values.constructor as new (length: number) => A)(length);
}

/** Where rows of these lengths begin and end: row b is offsets[b] … offsets[b+1]. */
export function offsetsOf(lengths: ArrayLike<number>): Int32Array {
  const offsets = new Int32Array(lengths.length + 1);
  for (let b = 0; b < lengths.length; ++b) offsets[b + 1] = offsets[b]! + lengths[b]!;
  return offsets;
}

/** How long each row is. */
export function lengthsOf(offsets: Int32Array): Int32Array {
  return Int32Array.from({ length: offsets.length - 1 }, (_, b) => offsets[b + 1]! - offsets[b]!);
}

/** Lists one behind the other, in `out`; where there is none, `absent` fills its place. */
export function joinRows<A extends RowArray>(
  lists: readonly (ArrayLike<number> | undefined)[],
  offsets: Int32Array,
  out: A,
  absent = 0,
): A {
  lists.forEach((list, b) => {
    if (list) out.set(list, offsets[b]);
    else out.fill(absent, offsets[b], offsets[b + 1]);
  });
  return out;
}

export interface UnpackRowsOptions {
  /** Values behind the last row are refused, or left out. Default `"refuse"`. */
  readonly surplus?: (typeof SURPLUS)[number];
}

/**
 * Cuts packed values into rows.
 *
 * @param lengths of the rows, in order; integers >= 0
 * @returns a view for each row: they share the memory of `values`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION or _RANGE, naming the argument
 */
export function unpackRows<A extends RowArray>(
  values: A,
  lengths: ArrayLike<number>,
  options: UnpackRowsOptions = {},
): A[] {
  const op = "unpackRows";
  needRowArray(op, "values", values);
  const ignore = needWord(op, "surplus", options.surplus ?? "refuse", SURPLUS) === 1;
  const sizes = Array.from(lengths, (length, b) => {
    if (!Number.isSafeInteger(length) || length < 0) throw rangeError(op, `lengths[${b}]`, length, "an integer >= 0");
    return length;
  });
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (!(ignore && values.length >= total)) needLength(op, "values", values, total, "the sum of lengths");
  let begin = 0;
  return sizes.map((size) => values.subarray(begin, (begin += size)) as A);
}

/**
 * Puts rows one behind the other.
 *
 * @param rows all of one kind; `like` says which where there may be none
 * @throws SurprisalError ERR_SURPRISAL_DTYPE for rows of several kinds, or for none without `like`
 */
export function packRows<A extends RowArray>(rows: readonly A[], like?: A): PackedRows<A> {
  const op = "packRows";
  const kind = needRowArray(op, "rows[0]", (like ?? rows[0])!);
  const offsets = offsetsOf(rows.map((row) => row.length));
  const values = arrayLike(kind, offsets[rows.length]!);
  rows.forEach((row, b) => {
    if (typedArrayName(row) !== typedArrayName(kind))
      throw dtypeError(op, `rows[${b}]`, row, `a ${typedArrayName(kind)!}, as the others`);
    values.set(row, offsets[b]);
  });
  return { values, offsets };
}

export interface PadRowsOptions {
  readonly offsets: Int32Array;
  /** Where the filling goes: before a row (`"left"`) or behind it. Default `"right"`. */
  readonly side?: (typeof SIDES)[number];
  /** What is put there. Default 0. */
  readonly fill?: number;
  /** Columns; not below the longest row. Default: the longest row. */
  readonly width?: number;
}

/**
 * Packed rows as a matrix.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION or _RANGE, naming the argument
 */
export function padRows<A extends RowArray>(values: A, options: PadRowsOptions): PaddedRows<A> {
  const op = "padRows";
  const { offsets, fill = 0 } = options;
  needRowArray(op, "values", values);
  if (typedArrayName(offsets) !== "Int32Array") throw dtypeError(op, "offsets", offsets, "an Int32Array");
  checkOffsets(op, "offsets", offsets);
  needLength(op, "values", values, offsets[offsets.length - 1]!, "the last offset");
  const left = needWord(op, "side", options.side ?? "right", SIDES) === 0;
  const lengths = lengthsOf(offsets);
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  const width = needNumber(op, "width", options.width ?? longest, { min: longest, integer: true });
  const shape = [lengths.length, width] as const;
  const padded = arrayLike(values, shape[0] * width).fill(fill) as A;
  const present = new Uint8Array(padded.length);
  lengths.forEach((length, b) => {
    const at = b * width + (left ? width - length : 0);
    padded.set(values.subarray(offsets[b], offsets[b + 1]), at);
    present.fill(1, at, at + length);
  });
  return { values: padded, shape, present, lengths };
}

/**
 * The rows of a matrix, packed again: what `present` marks, in order.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE or _DTYPE, naming the argument
 */
export function unpadRows<A extends RowArray>(
  values: A,
  padded: Pick<PaddedRows<A>, "shape" | "present">,
): PackedRows<A> {
  const op = "unpadRows";
  const { shape, present } = padded;
  const [rows, width] = shape;
  needLength(op, "values", needRowArray(op, "values", values), rows * width, "rows * width");
  needLength(op, "present", present, rows * width, "rows * width");
  const lengths = Int32Array.from({ length: rows }, (_, b) =>
    present.subarray(b * width, (b + 1) * width).reduce((sum, flag) => sum + (flag ? 1 : 0), 0),
  );
  return { values: values.filter((_, i) => present[i] !== 0) as A, offsets: offsetsOf(lengths) };
}

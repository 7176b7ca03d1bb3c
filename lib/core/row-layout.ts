// Rows of tokens: padded [B,T] with a mask, or packed values with offsets.
import { needInt32, optionalMask } from "./arrays";
import { typedArrayName } from "./dtype";
import { dtypeError, optionError, shapeError } from "./errors";
import { checkOffsets } from "./offsets";

/** Where the rows of a per-token array lie. Give exactly one of the two. */
export interface RowLayout {
  /** Padded: [rows, tokens per row], row-major. */
  readonly shape?: readonly [rows: number, tokens: number];
  /** Packed: row b is elements offsets[b] … offsets[b+1] of the flat array; offsets has one entry more than rows. */
  readonly offsets?: Int32Array;
}

/** Where the rows of a batch lie, without the rest of the batch. */
export function layoutOf({ shape, offsets }: RowLayout): RowLayout {
  return { shape, offsets };
}

/** A checked layout, as backends take it. */
export interface Rows {
  /** Elements of a per-token array. */
  readonly n: number;
  readonly B: number;
  /** Width of a padded row; 0 when packed. */
  readonly T: number;
  readonly offsets: Int32Array | null;
  /** "rows*tokens = 6" or "the last offset = 6", for messages about lengths. */
  readonly meaning: string;
}

/** Checked rows, and which of their tokens count. */
export interface MaskedRows {
  readonly rows: Rows;
  /** Null = all. */
  readonly mask: Uint8Array | null;
}

/** A checked layout as options of another op. */
export function layoutOfRows({ offsets, B, T }: Rows): RowLayout {
  return offsets ? { offsets } : { shape: [B, T] };
}

/** First and last-plus-one element of row b. */
export function rowBegin(rows: Pick<Rows, "offsets" | "T">, b: number): number {
  return rows.offsets ? rows.offsets[b]! : b * rows.T;
}
export function rowEnd(rows: Pick<Rows, "offsets" | "T">, b: number): number {
  return rows.offsets ? rows.offsets[b + 1]! : (b + 1) * rows.T;
}

const MOST_EMPTY_ROWS = 2 ** 31 - 1;

function needSize(op: string, name: string, value: unknown): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw shapeError(op, name, value, "an integer >= 0");
}

/** Reads and checks `shape` or `offsets` of an options object. */
export function needRows(op: string, layout: RowLayout): Rows {
  const { shape, offsets } = layout;
  if ((shape === undefined) === (offsets === undefined))
    throw optionError(op, "shape", shape, "either shape [rows, tokens] (padded) or offsets (packed), not both");
  if (offsets !== undefined) {
    if (typedArrayName(offsets) !== "Int32Array")
      throw dtypeError(op, "offsets", offsets, "an Int32Array", "Int32Array.from(offsets) converts");
    checkOffsets(op, "offsets", offsets);
    const n = offsets[offsets.length - 1]!;
    return {
      n,
      B: offsets.length - 1,
      T: 0,
      offsets: needInt32(op, "offsets", offsets, offsets.length, ""),
      meaning: "the last offset",
    };
  }
  // JavaScript callers pass what they like.
  if (!Array.isArray(shape) || (shape as readonly unknown[]).length !== 2)
    throw shapeError(op, "shape", shape, "[rows, tokens]");
  const B = needSize(op, "shape[0]", shape[0]);
  const T = needSize(op, "shape[1]", shape[1]);
  // No memory bounds the number of rows that have no tokens: a look at each could last for ever.
  if (T === 0 && B > MOST_EMPTY_ROWS)
    throw shapeError(op, "shape[0]", B, `at most ${MOST_EMPTY_ROWS} rows without tokens`);
  return { n: needSize(op, "shape[0] * shape[1]", B * T), B, T, offsets: null, meaning: "rows * tokens" };
}

/** Calls `visit` with every kept token i and its row b, row after row. */
export function eachKept({ rows, mask }: MaskedRows, visit: (i: number, b: number) => void): void {
  for (let b = 0; b < rows.B; ++b)
    for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i) if (!mask || mask[i] !== 0) visit(i, b);
}

/** The rows that `shape` or `offsets` say, and their `mask`. */
export function needMaskedRows(op: string, options: RowLayout & { readonly mask?: unknown }): MaskedRows {
  const rows = needRows(op, options);
  return { rows, mask: optionalMask(op, "mask", options.mask, rows.n, rows.meaning) };
}

// What the select functions have in common: values, their rows, and what ranks against each other.
import { SCOPE_CODE, SELECT_SCOPES, type SelectScope, type SelectTopArgs } from "../../backend/contract/select";
import type { BackendOption } from "../../backend/select";
import { needFloats, optionalMask } from "../../core/arrays";
import { DTYPE_CODE, type FloatArray, floatDType, isFloatArray } from "../../core/dtype";
import { argumentError } from "../../core/errors";
import { needWord } from "../../core/options";
import { needRows, type RowLayout, type Rows } from "../../core/rows";

export interface SelectOptions extends RowLayout, BackendOption {
  /**
   * What ranks against each other: `"row"`, the tokens of each row, or `"all"`, those of the batch together, where rows do not
   * matter. Default `"row"`. Without `shape` and `offsets` the values are one row.
   */
  readonly over?: SelectScope;
  /** 1 = takes part. Values under the mask are not read and never selected. Default: all 1. */
  readonly mask?: Uint8Array;
}

const LONGEST = 2 ** 31 - 1;

export interface SelectUnits {
  /** The number of rows, or 1. */
  readonly units: number;
  /** What both ops take. */
  readonly args: Pick<SelectTopArgs, "dtype" | "values" | "mask" | "offsets" | "n" | "B" | "T" | "over">;
}

/** Checked values and options. */
export function needUnits(op: string, values: FloatArray, options: SelectOptions): SelectUnits {
  if (!isFloatArray(values)) throw argumentError("ERR_SURPRISAL_DTYPE", op, "values", values, "a Float32Array or a Float64Array");
  const flat = options.shape === undefined && options.offsets === undefined;
  const n = values.length;
  const rows: Rows = flat ? { n, B: 1, T: n, offsets: null, meaning: "one row" } : needRows(op, options);
  needFloats(op, "values", values, rows.n, rows.meaning);
  const scope = SELECT_SCOPES[needWord(op, "over", options.over ?? "row", SELECT_SCOPES)]!;
  const longest = scope === "all" || rows.offsets ? rows.n : rows.T;
  if (longest > LONGEST)
    throw argumentError("ERR_SURPRISAL_SHAPE", op, "shape", options.shape, `at most ${LONGEST} positions that rank against each other`);
  return {
    units: scope === "all" ? 1 : rows.B,
    args: {
      dtype: DTYPE_CODE[floatDType(values)],
      values,
      mask: optionalMask(op, "mask", options.mask, rows.n, rows.meaning),
      offsets: rows.offsets,
      n: rows.n,
      B: rows.B,
      T: rows.T,
      over: SCOPE_CODE[scope],
    },
  };
}

/** The caller's memory for the flags, or new one. */
export function needFlags(op: string, given: Uint8Array | undefined, n: number): Uint8Array {
  return optionalMask(op, "out.selected", given, n, "the size of the result") ?? new Uint8Array(n);
}

// What the select functions have in common: values, their rows, and what ranks against each other.
import { REDUCE_SCOPES, type ReduceScope } from "../../backend/contract/reduce";
import type { SelectTopArgs } from "../../backend/contract/select";
import type { BackendOption } from "../../backend/select";
import { flagsOr, lengthOf, needFloats, optionalMask } from "../../core/arrays";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { floatDType } from "../../core/float-arrays";
import { optionError, shapeError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import { needRows, type RowLayout, type Rows } from "../../core/row-layout";
import type { Stream } from "../../core/stream";

const SELECT_SCOPES = ["row", "all"] as const satisfies readonly ReduceScope[];
/** What ranks against each other: the tokens of a row, or all of the batch. */
export type SelectScope = (typeof SELECT_SCOPES)[number];

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

/** Refuses more positions than ranks are counted in. */
export function needRankable(op: string, positions: number): void {
  if (positions > LONGEST)
    throw shapeError(op, "shape", positions, `at most ${LONGEST} positions that rank against each other`);
}

export interface SelectUnits {
  /** The number of rows, or 1. */
  readonly units: number;
  /** What both ops take. */
  readonly args: Pick<SelectTopArgs, "dtype" | "values" | "mask" | "offsets" | "n" | "B" | "T" | "over">;
}

/** The rows of `values`, which are one row where no option names rows. */
export function needRowsOf(op: string, name: string, values: unknown, { shape, offsets }: RowLayout): Rows {
  const { length: n } = needFloats(op, name, values, lengthOf(values), "its own length");
  const flat = shape === undefined && offsets === undefined;
  const rows = flat ? { n, B: 1, T: n, offsets: null, meaning: "one row" } : needRows(op, { shape, offsets });
  needFloats(op, name, values, rows.n, rows.meaning);
  return rows;
}

/** Checked values and options. */
export function needUnits(op: string, values: FloatArray, options: SelectOptions): SelectUnits {
  const rows = needRowsOf(op, "values", values, options);
  const scope = SELECT_SCOPES[needWord(op, "over", options.over ?? "row", SELECT_SCOPES)]!;
  const longest = scope === "all" || rows.offsets ? rows.n : rows.T;
  needRankable(op, longest);
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
      over: REDUCE_SCOPES.indexOf(scope),
    },
  };
}

export interface TopOptions {
  /** How many: this share of the candidates, in [0, 1], rounded down. Give this or `k`. */
  readonly share?: number;
  /** How many, an integer >= 0. */
  readonly k?: number;
  /** At least so many where `share` gives fewer and there are as many. Default 0. */
  readonly least?: number;
}

const COUNT = { min: 0, max: Number.MAX_SAFE_INTEGER, integer: true };

/** How many the largest are, as backends take it. */
export function needTop(op: string, { share, k, least }: TopOptions): Pick<SelectTopArgs, "share" | "k" | "least"> {
  if ((share === undefined) === (k === undefined)) throw optionError(op, "share", share, "either share or k, not both");
  return {
    share: share === undefined ? NaN : needNumber(op, "share", share, { min: 0, max: 1 }),
    k: needNumber(op, "k", k ?? 0, COUNT),
    least: needNumber(op, "least", least ?? 0, COUNT),
  };
}

/** The caller's memory for the flags, or new one. */
export function needFlags(op: string, given: Uint8Array | undefined, n: number, stream: Stream | null): Uint8Array {
  return flagsOr(op, "selected", given, n, stream);
}

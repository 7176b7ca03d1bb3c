// The select ops as backends take them: native/include/surprisal/select.h, names in camelCase.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** What ranks against each other: the tokens of a row, or all of the batch. Words of the public options. */
export const SELECT_SCOPES = ["row", "all"] as const;
export type SelectScope = (typeof SELECT_SCOPES)[number];
/** The same as numbers of the native interface, which has another between them. */
export const SCOPE_CODE = { row: 0, all: 2 } as const satisfies Record<SelectScope, number>;

interface SelectArgs {
  readonly dtype: DTypeCode;
  readonly values: FloatArray;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly over: number;
}

export interface SelectQuantileArgs extends SelectArgs {
  readonly q: number;
  readonly threshold: Float64Array | null;
  readonly selected: Uint8Array | null;
}

export interface SelectTopArgs extends SelectArgs {
  /** NaN: `k` decides. */
  readonly share: number;
  readonly k: number;
  readonly least: number;
  readonly selected: Uint8Array;
  readonly count: Int32Array | null;
}

/** Which covariances are selected, by position: numbers of the native interface. */
export const COVARIANCE_MODES = ["range", "top"] as const;

export interface SelectCovarianceArgs {
  readonly dtype: DTypeCode;
  readonly advantage: FloatArray;
  readonly current: FloatArray;
  readonly mask: Uint8Array | null;
  /** `selected` may be its memory. */
  readonly excluded: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly advantagePerToken: number;
  readonly mode: number;
  readonly countEpsilon: number;
  readonly low: number;
  readonly high: number;
  /** NaN: `k` decides. */
  readonly share: number;
  readonly k: number;
  readonly least: number;
  readonly selected: Uint8Array;
  readonly count: Int32Array | null;
}

export interface SelectOps {
  selectQuantile(args: SelectQuantileArgs): void;
  selectTop(args: SelectTopArgs): void;
  selectCovariance(args: SelectCovarianceArgs): void;
}

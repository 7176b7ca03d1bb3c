// The ratio ops as backends take them: native/include/surprisal/ratio.h, names in camelCase.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** "token" | "sequence" | "group" of the public options, as numbers of the native interface. */
export const LEVELS = ["token", "sequence", "group"] as const;
export type RatioLevel = (typeof LEVELS)[number];

/** "mean" | "sum" of the public options, as numbers of the native interface. */
export const REDUCTIONS = ["mean", "sum"] as const;
export type RatioReduction = (typeof REDUCTIONS)[number];

/** srp_loss_form of native/include/surprisal/loss_forms.h. */
export const LOSS_FORM = { clip: 1 } as const;

interface RatioArgs {
  readonly dtype: DTypeCode;
  readonly current: FloatArray;
  readonly old: FloatArray;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  /** Group level only. */
  readonly members: Int32Array | null;
  /** Group level only. */
  readonly groupOffsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly G: number;
  readonly level: number;
  readonly reduce: number;
}

export interface RatioLogArgs extends RatioArgs {
  readonly logRatio: FloatArray | null;
  readonly ratio: FloatArray | null;
}

export interface RatioClipArgs extends RatioArgs {
  readonly advantage: FloatArray;
  readonly rowWeight: Float64Array | null;
  /** 1: advantage has an entry per token. 0: per row. */
  readonly advantagePerToken: number;
  readonly form: number;
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly dualClip: number;
  readonly ratioCap: number;
  readonly logClamp: number;
  readonly maxLogRatio: number;
  readonly ratio: FloatArray | null;
  readonly clippedRatio: FloatArray | null;
  readonly term: FloatArray | null;
  readonly clipped: Uint8Array | null;
  readonly grad: FloatArray | null;
  readonly objective: Float64Array | null;
  readonly ratioSum: Float64Array | null;
  readonly ratioMax: Float64Array | null;
  readonly terms: Int32Array | null;
  readonly clippedCount: Int32Array | null;
  readonly limitedCount: Int32Array | null;
}

export interface RatioOps {
  ratioLog(args: RatioLogArgs): void;
  ratioClip(args: RatioClipArgs): void;
}

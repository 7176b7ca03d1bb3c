// Generated from native/include/surprisal/ratio.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** srp_ratio_level: a word's place is its number. */
export const RATIO_LEVELS = ["token", "sequence", "group"] as const;
export type RatioLevel = (typeof RATIO_LEVELS)[number];

/** srp_ratio_reduction: a word's place is its number. */
export const RATIO_REDUCTIONS = ["mean", "sum"] as const;
export type RatioReduction = (typeof RATIO_REDUCTIONS)[number];

/** srp_ratio_log_args. */
export interface RatioLogArgs {
  /** float32 or float64: of logProbs, oldLogProbs, logRatios, ratios. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly logProbs: FloatArray;
  /** [n]. */
  readonly oldLogProbs: FloatArray;
  /** [n] or null. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  /** [B] or null = identity; GROUP only. */
  readonly members: Int32Array | null;
  /** [G + 1] or null; GROUP only. */
  readonly groupOffsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly G: number;
  /** srp_ratio_level. */
  readonly level: number;
  /** srp_ratio_reduction; not read at TOKEN level. */
  readonly reduce: number;
  /** [level == SRP_LEVEL_TOKEN ? n : level == SRP_LEVEL_SEQUENCE ? B : G] or null, not both. */
  readonly logRatios: FloatArray | null;
  /** [level == SRP_LEVEL_TOKEN ? n : level == SRP_LEVEL_SEQUENCE ? B : G] or null, not both. */
  readonly ratios: FloatArray | null;
}

export interface RatioOps {
  ratioLog(args: RatioLogArgs): void;
}

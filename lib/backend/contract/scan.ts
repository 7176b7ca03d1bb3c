// Generated from native/include/surprisal/scan.h by scripts/contracts.mjs: `npm run contracts` renews it.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** srp_mask_mode: a word's place is its number. */
export const MASK_MODES = ["skip", "steps", "cut"] as const;
export type MaskMode = (typeof MASK_MODES)[number];

/** srp_delta_form: a word's place is its number. */
export const DELTA_FORMS = ["corrected", "reward"] as const;
export type DeltaForm = (typeof DELTA_FORMS)[number];

/** srp_scan_gae_args. */
export interface ScanGaeArgs {
  /** float32 or float64: of every float array here. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly rewards: FloatArray;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] or null = gamma everywhere. */
  readonly gammas: FloatArray | null;
  /** [n] or null = all kept. */
  readonly mask: Uint8Array | null;
  /** [B] or null = 0. */
  readonly bootstrap: FloatArray | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly gamma: number;
  readonly lambda: number;
  /** srp_mask_mode. */
  readonly maskMode: number;
  /** [n] or null, not both. */
  readonly advantages: FloatArray | null;
  /** [n] or null, not both. */
  readonly returns: FloatArray | null;
  /** 0 or 1; STEPS does it anyway. */
  readonly transformMasked: number;
  /** [lambdasPerToken ? n : B] or null = lambda everywhere. */
  readonly lambdas: FloatArray | null;
  /** 0 or 1. */
  readonly lambdasPerToken: number;
}

/** srp_scan_returns_args. */
export interface ScanReturnsArgs {
  /** float32 or float64: of every float array here. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly rewards: FloatArray;
  /** [n] or null = gamma everywhere. */
  readonly gammas: FloatArray | null;
  /** [n] or null = all kept. */
  readonly mask: Uint8Array | null;
  /** [B] or null = 0. */
  readonly bootstrap: FloatArray | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly gamma: number;
  /** srp_mask_mode. */
  readonly maskMode: number;
  /** [n]. */
  readonly returns: FloatArray;
  readonly transformMasked: number;
}

/** srp_scan_vtrace_args. */
export interface ScanVtraceArgs {
  /** float32 or float64: of every float array here. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly rewards: FloatArray;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] importance weights pi/mu, not logarithms. */
  readonly weights: FloatArray;
  /** [n] or null = gamma everywhere. */
  readonly gammas: FloatArray | null;
  /** [n] or null = all kept. */
  readonly mask: Uint8Array | null;
  /** [B] or null = 0. */
  readonly bootstrap: FloatArray | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly gamma: number;
  readonly lambda: number;
  /** caps >= 0, infinity allowed. */
  readonly rhoBar: number;
  /** caps >= 0, infinity allowed. */
  readonly cBar: number;
  /** caps >= 0, infinity allowed. */
  readonly pgRhoBar: number;
  /** srp_mask_mode. */
  readonly maskMode: number;
  /** [n] or null, as accumulated; not all three. */
  readonly targets: FloatArray | null;
  /** [n] or null, as accumulated; not all three. */
  readonly advantages: FloatArray | null;
  /** srp_delta_form. */
  readonly delta: number;
  /** [n] or null. */
  readonly accumulated: FloatArray | null;
  /** [lambdasPerToken ? n : B] or null = lambda everywhere. */
  readonly lambdas: FloatArray | null;
  /** 0 or 1. */
  readonly lambdasPerToken: number;
}

/** srp_scan_tail_args. */
export interface ScanTailArgs {
  /** float32 or float64: of values, tails. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] or null = all kept. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  /** in [0, 1]. */
  readonly gamma: number;
  /** SRP_MASK_SKIP or SRP_MASK_STEPS. */
  readonly maskMode: number;
  /** 0 or 1. */
  readonly normalize: number;
  /** >= 0; read where normalize is 1 and maskMode is SRP_MASK_STEPS. */
  readonly maskedWeight: number;
  /** [n]. */
  readonly tails: FloatArray;
}

/** srp_scan_prefix_args. */
export interface ScanPrefixArgs {
  /** float32 or float64: of every float array here. */
  readonly dtype: DTypeCode;
  /** [n] or null: the terms come from the next three. */
  readonly values: FloatArray | null;
  /** [n] or null with values. */
  readonly logProbs: FloatArray | null;
  /** [n] or null with values. */
  readonly sumSquares: FloatArray | null;
  /** [n] or null = 1. */
  readonly weights: FloatArray | null;
  /** [n] or null = all kept. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  /** 0 or 1. */
  readonly exclusive: number;
  /** [n] or null, not both. */
  readonly terms: FloatArray | null;
  /** [n] or null, not both. */
  readonly sums: FloatArray | null;
}

/** srp_scan_shares_args. */
export interface ScanSharesArgs {
  /** float32 or float64: of values, weights, products. */
  readonly dtype: DTypeCode;
  /** [n]. */
  readonly values: FloatArray;
  /** [n] or null = all kept. */
  readonly mask: Uint8Array | null;
  /** [B + 1] or null = padded. */
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  /** >= 0. */
  readonly gain: number;
  /** > 0. */
  readonly epsilon: number;
  /** [n] or null, not both. */
  readonly weights: FloatArray | null;
  /** [n] or null, not both. */
  readonly products: FloatArray | null;
}

export interface ScanOps {
  scanGae(args: ScanGaeArgs): void;
  scanReturns(args: ScanReturnsArgs): void;
  scanVtrace(args: ScanVtraceArgs): void;
  scanTail(args: ScanTailArgs): void;
  scanPrefix(args: ScanPrefixArgs): void;
  scanShares(args: ScanSharesArgs): void;
}

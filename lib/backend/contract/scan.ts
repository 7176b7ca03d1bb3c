// The scan ops as backends take them: native/include/surprisal/scan.h, names in camelCase.
import type { DTypeCode, FloatArray } from "../../core/dtype";

/** "skip" | "steps" | "cut" of the public options, as numbers of the native interface. */
export const MASK_MODES = ["skip", "steps", "cut"] as const;
export type MaskMode = (typeof MASK_MODES)[number];

/** Words of V-trace's `delta`; their positions are the numbers of the native interface. */
export const DELTA_FORMS = ["corrected", "reward"] as const;
export type DeltaForm = (typeof DELTA_FORMS)[number];

interface ScanArgs {
  readonly dtype: DTypeCode;
  readonly reward: FloatArray;
  readonly discount: FloatArray | null;
  readonly mask: Uint8Array | null;
  readonly bootstrap: FloatArray | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly gamma: number;
  readonly maskMode: number;
}

export interface ScanGaeArgs extends ScanArgs {
  readonly value: FloatArray;
  readonly lambda: number;
  readonly advantages: FloatArray | null;
  readonly returns: FloatArray | null;
  readonly transformMasked: number;
}

export interface ScanReturnsArgs extends ScanArgs {
  readonly returns: FloatArray;
  readonly transformMasked: number;
}

export interface ScanVtraceArgs extends ScanArgs {
  readonly value: FloatArray;
  readonly weight: FloatArray;
  readonly lambda: number;
  readonly rhoBar: number;
  readonly cBar: number;
  readonly pgRhoBar: number;
  readonly targets: FloatArray | null;
  readonly advantages: FloatArray | null;
  readonly delta: number;
  readonly accumulated: FloatArray | null;
}

export interface ScanTailArgs {
  readonly dtype: DTypeCode;
  readonly values: FloatArray;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly gamma: number;
  readonly maskMode: number;
  readonly normalize: number;
  readonly maskedWeight: number;
  readonly tails: FloatArray;
}

export interface ScanPrefixArgs {
  readonly dtype: DTypeCode;
  readonly values: FloatArray | null;
  readonly logProb: FloatArray | null;
  readonly sumSquares: FloatArray | null;
  readonly weight: FloatArray | null;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly exclusive: number;
  readonly terms: FloatArray | null;
  readonly sums: FloatArray | null;
}

export interface ScanSharesArgs {
  readonly dtype: DTypeCode;
  readonly values: FloatArray;
  readonly mask: Uint8Array | null;
  readonly offsets: Int32Array | null;
  readonly n: number;
  readonly B: number;
  readonly T: number;
  readonly gain: number;
  readonly epsilon: number;
  readonly weights: FloatArray | null;
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

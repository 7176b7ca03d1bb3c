// Batches with a reward per token, as the estimators along token rows take them.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray, FloatDType } from "../core/dtype";
import { asFloat, floatDType, widestFloat } from "../core/float-arrays";
import { layoutOf, needRows, type RowLayout, type Rows } from "../core/row-layout";
import { whiten, type WhitenConventions } from "../ops/reduce";
import type { MaskMode } from "../ops/scan";

/** How a batch of per-token numbers is whitened over its kept tokens; false = not at all. */
export type Whitening =
  | false
  | Pick<WhitenConventions, "ddof" | "varianceEpsilon" | "varianceFloor" | "epsilon" | "keepMean">;

/** Scans of rewards that are whitened afterwards. */
export interface WhitenedScanConventions {
  /** What a masked token is to the scan. Default `"skip"`. */
  readonly maskMode?: MaskMode;
  /**
   * Masked tokens get what the scan has there, see `gae`, and advantages of `gaeAdvantage` are whitened there, too; their
   * numbers are read for that alone. Default false: 0.
   */
  readonly transformMasked?: boolean;
  /** Default: ddof 1, 1e-8 added to the variance. */
  readonly whitening?: Whitening;
}

/** Rollouts with a reward per token. Per-token arrays have [n] elements, as `shape` or `offsets` say. */
export interface TokenRewardBatch extends RowLayout {
  /** Rewards per token, in their own unit. */
  readonly tokenRewards: FloatArray;
  /** 1 = the policy's token, 0 = prompt, tool output or padding: never read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** A checked batch, taken apart into options of the ops underneath. Inputs are widened to float64, results round once. */
export interface CheckedTokens {
  readonly rows: Rows;
  readonly mask: Uint8Array | null;
  readonly rewards: FloatArray;
  readonly dtype: FloatDType;
  /** Layout, mask, backend, and the workers that share the batch. */
  readonly where: RowLayout & BackendOption & CollectiveOption & { readonly mask?: Uint8Array };
  /** One more per-token array in float64. */
  readonly tokens: (name: string, values: unknown) => FloatArray;
}

export function needTokenBatch(
  op: string,
  batch: TokenRewardBatch,
  others: readonly (FloatArray | undefined)[],
  options: BackendOption & CollectiveOption,
): CheckedTokens {
  const { backend } = options;
  const rows = needRows(op, batch);
  const mask = optionalMask(op, "mask", batch.mask, rows.n, rows.meaning);
  const tokens = (name: string, values: unknown): FloatArray =>
    asFloat(needFloats(op, name, values, rows.n, rows.meaning), "float64");
  return {
    rows,
    mask,
    rewards: tokens("tokenRewards", batch.tokenRewards),
    dtype: widestFloat(batch.tokenRewards, ...others),
    where: { ...layoutOf(batch), mask: mask ?? undefined, backend, collective: options.collective },
    tokens,
  };
}

/** Float64 results in the type of the call. */
export function roundedTo(dtype: FloatDType, values: FloatArray): FloatArray {
  return floatDType(values) === dtype ? values : Float32Array.from(values);
}

/**
 * Whitens over the kept tokens of the batch, on all its workers; 0 under the mask unless masked tokens get the same map. A copy
 * where there is nothing to do.
 */
export function whitenTokens(
  values: FloatArray,
  { where }: Pick<CheckedTokens, "where">,
  whitening: Whitening | undefined,
  transformMasked = false,
): FloatArray {
  if (whitening === false) return values.slice();
  const varianceEpsilon = whitening?.varianceEpsilon ?? 1e-8;
  return whiten(values, { ...whitening, varianceEpsilon, ...where, over: "all", transformMasked });
}

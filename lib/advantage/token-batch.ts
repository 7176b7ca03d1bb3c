// Batches with a reward per token, as the estimators along token rows take them.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import { type CollectiveOption, collectiveOption } from "../core/collective";
import { asFloat, type FloatArray, type FloatDType, floatDType, widestFloat } from "../core/dtype";
import { needRows, type RowLayout, type Rows } from "../core/rows";
import { whiten } from "../ops/reduce";
import type { Whitening } from "../presets/estimator-conventions";
import { layoutOf } from "./batch";

/** Rollouts with a reward per token. Per-token arrays have [n] elements, as `shape` or `offsets` say. */
export interface TokenRewardBatch extends RowLayout {
  /** Rewards per token, in their own unit. */
  readonly tokenLevelRewards: FloatArray;
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
  const tokens = (name: string, values: unknown): FloatArray => asFloat(needFloats(op, name, values, rows.n, rows.meaning), "float64");
  return {
    rows,
    mask,
    rewards: tokens("tokenLevelRewards", batch.tokenLevelRewards),
    dtype: widestFloat(batch.tokenLevelRewards, ...others),
    where: { ...layoutOf(batch), ...(mask && { mask }), ...(backend && { backend }), ...collectiveOption(options) },
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
export function whitenTokens(values: FloatArray, { where }: Pick<CheckedTokens, "where">, whitening: Whitening | undefined, transformMasked = false): FloatArray {
  if (whitening === false) return values.slice();
  return whiten(values, { varianceEpsilon: 1e-8, ...whitening, ...where, over: "all", transformMasked });
}

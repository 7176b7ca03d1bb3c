// Mean, extremes and variance of the kept tokens of a whole batch.
import type { BackendOption } from "../../backend/select";
import type { FloatArray } from "../../core/dtype";
import type { RowLayout } from "../../core/row-layout";
import { moments } from "../../ops/reduce";

export interface TokenOptions extends RowLayout, BackendOption {
  readonly mask?: Uint8Array;
}

export interface TokenMoments {
  /** 0 without tokens, like max and min: a chart can show it. */
  readonly mean: number;
  readonly max: number;
  readonly min: number;
  /** ddof 1; NaN for fewer than two tokens. */
  readonly variance: number;
}

export function tokenMoments(values: FloatArray, options: TokenOptions): TokenMoments {
  const all = moments(values, { ...options, over: "all" });
  const [count, mean, max, min, variance] = [
    all.counts[0]!,
    all.means[0]!,
    all.maxs[0]!,
    all.mins[0]!,
    all.variances()[0]!,
  ];
  return { mean, max: count > 0 ? max : 0, min: count > 0 ? min : 0, variance };
}

// What the critic and the advantages of a batch look like: scores and rewards per row, the rest over the policy's tokens.
import type { BackendOption } from "../../backend/select";
import { needIds, optionalFloats, optionalMask, type TokenIds } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { layoutOf, needRows, rowBegin, rowEnd, type RowLayout, type Rows } from "../../core/row-layout";
import { placeRows } from "../../ops/group/place";
import { moments } from "../../ops/reduce";
import { average, chosen, largest, smallest } from "../scalar-metrics";
import type { MetricRecord } from "./metric-record";
import { type TokenMoments, tokenMoments, type TokenOptions } from "./token-moments";

/** Per-token arrays have [n] elements, as `shape` or `offsets` of the options say. Absent ones have no metrics. */
export interface CriticBatch {
  /** Scores of the reward model or the verifier, per token: a row's score is the sum of all its tokens, masked ones too. */
  readonly tokenScores?: FloatArray;
  /** The same after shaping. */
  readonly tokenRewards?: FloatArray;
  readonly advantages?: FloatArray;
  readonly returns?: FloatArray;
  /** With returns they give `critic/vf_explained_var`. */
  readonly values?: FloatArray;
}

export interface CriticMetricsOptions extends RowLayout, BackendOption {
  /** 1 = the policy's token. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Tokens of each response: rows with 0 do not count for scores and rewards. Default: the kept tokens of the row. */
  readonly responseLengths?: TokenIds;
}

/**
 * Mean, max and min as `critic/score/…`, `critic/rewards/…` (row sums, over rows with a non-empty response),
 * `critic/advantages/…`, `critic/returns/…`, `critic/values/…` (over kept tokens), and
 *
 *     critic/vf_explained_var = 1 − var(returns − values) / (var(returns) + 1e-5)        ddof 1
 *
 * Over no rows or tokens at all: 0. The explained variance of fewer than two tokens is NaN.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function criticMetrics(batch: CriticBatch, options: CriticMetricsOptions): MetricRecord {
  const op = "criticMetrics";
  const rows = needRows(op, options);
  const mask = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const present = presentRows(op, options, rows, mask);
  const perToken = (name: keyof CriticBatch): FloatArray | null =>
    optionalFloats(op, name, batch[name], rows.n, rows.meaning);
  const tokenScores = perToken("tokenScores");
  const tokenRewards = perToken("tokenRewards");
  const advantages = perToken("advantages");
  const returns = perToken("returns");
  const values = perToken("values");

  const where = { ...layoutOf(options), backend: options.backend };
  const ofRows = (name: string, tokens: FloatArray | null): MetricRecord => {
    if (!tokens) return {};
    const sums = chosen(moments(tokens, { ...where, over: "row" }).sums, present);
    return spread(name, { mean: average(sums), max: largest(sums), min: smallest(sums) });
  };
  const kept: TokenOptions = { ...where, mask: mask ?? undefined };
  const momentsOf = (array: FloatArray | null): TokenMoments | null => array && tokenMoments(array, kept);
  const ofReturns = momentsOf(returns);
  const metrics = {
    ...ofRows("score", tokenScores),
    ...ofRows("rewards", tokenRewards),
    ...spread("advantages", momentsOf(advantages)),
    ...spread("returns", ofReturns),
    ...spread("values", momentsOf(values)),
  };
  if (!returns || !ofReturns || !values) return metrics;
  const errors = placeRows(op, { tokens: returns, values }, { ...kept, scale: -1 });
  return {
    ...metrics,
    "critic/vf_explained_var": 1 - tokenMoments(errors, kept).variance / (ofReturns.variance + 1e-5),
  };
}

/** Which rows have a response. */
function presentRows(
  op: string,
  { responseLengths }: CriticMetricsOptions,
  rows: Rows,
  mask: Uint8Array | null,
): (b: number) => boolean {
  if (responseLengths !== undefined) {
    const lengths = needIds(op, "responseLengths", responseLengths, rows.B, "one per row");
    return (b) => lengths[b]! > 0;
  }
  return (b) => {
    if (!mask) return rowEnd(rows, b) > rowBegin(rows, b);
    return mask.subarray(rowBegin(rows, b), rowEnd(rows, b)).some((kept) => kept !== 0);
  };
}

function spread(name: string, of: { mean: number; max: number; min: number } | null): MetricRecord {
  return of ? { [`critic/${name}/mean`]: of.mean, [`critic/${name}/max`]: of.max, [`critic/${name}/min`]: of.min } : {};
}

// Tokens by the covariance of advantage and log-prob.
import type { OpArgs } from "../../backend/backend";
import { COVARIANCE_MODES } from "../../backend/contract/select";
import { type AsyncOption, runWhole } from "../../backend/run-async";
import { type BackendOption, selectBackend } from "../../backend/select";
import { streamOf } from "../../backend/streams";
import { int32Or, optionalMask, overlaps, refuseOverlap } from "../../core/arrays";
import type { DeviceArray, DeviceFloatArray } from "../../core/device-array";
import { takesDeviceArrays } from "../../core/device-ops";
import { DTYPE_CODE, type FloatArray } from "../../core/dtype";
import { asFloat, widestFloat } from "../../core/float-arrays";
import { optionError } from "../../core/errors";
import type { AnyFloatArray, Anywhere } from "../../core/on-device";
import { namedNumber } from "../../core/not-finite";
import { needNumber } from "../../core/option-checks";
import { needPerRowOrToken, type Per } from "../../core/per-row";
import { rowBegin, rowEnd, type RowLayout } from "../../core/row-layout";
import { needFlags, needRankable, needRowsOf, needTop, type TopOptions } from "./ranked-units";

takesDeviceArrays("covarianceMask");

export interface CovarianceMaskOptions extends RowLayout, TopOptions, BackendOption {
  /** Select the candidates with low < covariance < high; ±Infinity allowed. Give this, `share` or `k`. */
  readonly between?: readonly [low: number, high: number];
  /** 1 = takes part. Values under the mask are not read and never selected. Default: all 1. */
  readonly mask?: Uint8Array;
  /** 1 = counts in the means, but is no candidate. Default: all 0. */
  readonly excluded?: Uint8Array;
  /** What an advantage belongs to. Default: by the length of `advantages`; required for packed rows that are as many as tokens. */
  readonly advantagesPer?: Per;
  /** Added to the number of kept tokens where the means are formed, >= 0. Default 0. */
  readonly countEpsilon?: number;
  /** Reuse memory instead of allocating. May be `excluded` itself; no other overlap. */
  readonly out?: { readonly selected?: Uint8Array };
}

export interface CovarianceMaskResult {
  /** 1 = selected; one per token. */
  readonly selected: Uint8Array;
  /** How many are selected. */
  readonly count: number;
}

function needRange(op: string, between: unknown): { low: number; high: number } {
  if (!Array.isArray(between) || between.length !== 2) throw optionError(op, "between", between, "[low, high]");
  const [first, second] = between as unknown[];
  const low = needNumber(op, "between[0]", first, { infinite: true });
  return { low, high: needNumber(op, "between[1]", second, { min: low, infinite: true }) };
}

/** As the result on the host; `count` is an array of one. */
export interface DeviceCovarianceMaskResult {
  readonly selected: DeviceArray<"uint8">;
  readonly count: DeviceArray<"int32">;
}

/** The same on a device, where the first array lies. A kept number that is not finite is reported at the next read. */
export function covarianceMask(
  logProbs: DeviceFloatArray,
  advantages: AnyFloatArray,
  options: Anywhere<CovarianceMaskOptions>,
): DeviceCovarianceMaskResult;
/**
 * Marks tokens by how far their log-prob and their advantage lie together from the means of the batch.
 *
 *     cov[t] = (A[t] − mean A)·(logProbs[t] − mean logProbs),   mean = Σ over kept tokens / (kept + countEpsilon)
 *     between     candidates with low < cov[t] < high
 *     share, k    the k candidates with the largest cov, k = max(least, ⌊share·candidates⌋) or as given; of equal ones those with
 *                 the smaller index
 *
 * Candidates are the kept tokens that are not `excluded`. Equal advantages, or equal log-probs, give covariances of exactly 0.
 * Computed in float64, with the same bits, and so the same flags, on every backend.
 *
 * @param logProbs in nats, [n] as `shape` or `offsets` say; without both, one row
 * @param advantages [n] or [rows]
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument; _VALUE for a
 *   kept number that is not finite: it would be in the mean, and so in every covariance
 * @see Cui et al. 2025, The Entropy Mechanism of Reinforcement Learning for Reasoning Language Models
 */
export function covarianceMask(
  logProbs: FloatArray,
  advantages: FloatArray,
  options: CovarianceMaskOptions,
): CovarianceMaskResult;
export function covarianceMask(
  logProbs: AnyFloatArray,
  advantages: AnyFloatArray,
  anywhere: CovarianceMaskOptions | Anywhere<CovarianceMaskOptions>,
): CovarianceMaskResult | DeviceCovarianceMaskResult {
  const options = anywhere as CovarianceMaskOptions;
  return evaluateCovarianceMask("covarianceMask", logProbs as FloatArray, advantages as FloatArray, options);
}

function covarianceCall(op: string, logProbs: FloatArray, advantages: FloatArray, options: CovarianceMaskOptions) {
  const stream = streamOf(op, options, logProbs, advantages, options.mask, options.excluded);
  const rows = needRowsOf(op, "logProbs", logProbs, options);
  const { n, B, T, offsets, meaning } = rows;
  needRankable(op, n);
  const { array, perToken } = needPerRowOrToken(op, "advantages", advantages, rows, options.advantagesPer);
  const { between } = options;
  if (between !== undefined && (options.share ?? options.k ?? options.least) !== undefined)
    throw optionError(op, "between", between, "either between, or share or k");
  const choice =
    between === undefined
      ? { mode: COVARIANCE_MODES.indexOf("top"), low: 0, high: 0, ...needTop(op, options) }
      : { mode: COVARIANCE_MODES.indexOf("range"), ...needRange(op, between), share: NaN, k: 0, least: 0 };
  const countEpsilon = needNumber(op, "countEpsilon", options.countEpsilon ?? 0, { min: 0 });
  const mask = optionalMask(op, "mask", options.mask, n, meaning);
  const excluded = optionalMask(op, "excluded", options.excluded, n, meaning);
  const selected = needFlags(op, options.out?.selected, n, stream);
  const same = excluded && overlaps(selected, excluded) && selected.byteOffset === excluded.byteOffset;
  refuseOverlap(
    op,
    options.out,
    { selected },
    { logProbs, advantages, mask, excluded: same ? null : excluded, offsets },
  );
  const dtype = widestFloat(logProbs, array);
  const count = int32Or(op, "", undefined, 1, stream);
  const args = {
    dtype: DTYPE_CODE[dtype],
    advantages: asFloat(array, dtype),
    logProbs: asFloat(logProbs, dtype),
    mask,
    excluded,
    offsets,
    n,
    B,
    T,
    advantagesPerToken: perToken ? 1 : 0,
    countEpsilon,
    selected,
    counts: count,
    ...choice,
  };
  return { stream, args, arrays: { logProbs, advantages, mask, excluded, offsets, selected, count }, selected, count };
}

function namedNonFinite(op: string, error: unknown, a: OpArgs<"selectCovariance">): unknown {
  const kept = (i: number): boolean => !a.mask || a.mask[i] !== 0;
  const rowKept = (b: number): boolean => {
    for (let i = rowBegin(a, b); i < rowEnd(a, b); ++i) if (kept(i)) return true;
    return false;
  };
  const inputs = [
    { name: "logProbs", values: a.logProbs, kept },
    { name: "advantages", values: a.advantages, kept: a.advantagesPerToken ? kept : rowKept },
  ];
  return namedNumber(op, error, "a finite number", inputs, "it would be in the mean: mask it");
}

/** As covarianceMask, in the name of the public function `op`. */
export function evaluateCovarianceMask(
  op: string,
  logProbs: FloatArray,
  advantages: FloatArray,
  options: CovarianceMaskOptions,
): CovarianceMaskResult {
  const { stream, args, selected, count } = covarianceCall(op, logProbs, advantages, options);
  try {
    selectBackend(op, options.backend, stream).ops.selectCovariance(args);
  } catch (error) {
    throw namedNonFinite(op, error, args);
  }
  return { selected, count: stream ? (count as unknown as number) : count[0]! };
}

/** `covarianceMask` off the event loop, as `quantileMaskAsync`. */
export async function covarianceMaskAsync(
  logProbs: FloatArray,
  advantages: FloatArray,
  options: CovarianceMaskOptions & AsyncOption,
): Promise<CovarianceMaskResult> {
  const { args, arrays, selected, count } = covarianceCall("covarianceMaskAsync", logProbs, advantages, options);
  await runWhole("covarianceMaskAsync", "selectCovariance", args, arrays, options).catch((error: unknown) => {
    throw namedNonFinite("covarianceMaskAsync", error, args);
  });
  return { selected, count: count[0]! };
}

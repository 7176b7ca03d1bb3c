// A row of logits (native/include/surprisal/logprob.h): the map from logits to z, its sums, what they give, and the slope of a logit.
import { DTYPE_CODE } from "../../core/dtype";
import type { HalfDType } from "../../core/half";
import type { LogprobForwardArgs } from "../contract/logprob";

type LogitMapArgs = Pick<LogprobForwardArgs, "temperature" | "scale" | "softcap">;
/** z of a raw logit. Differences of z come from differences of logits where they can: z of size M has lost their digits. */
export class LogitMap {
  readonly slope: number;
  private readonly rate: number;
  private readonly height: number;

  constructor({ temperature, scale, softcap }: LogitMapArgs) {
    this.slope = scale / temperature;
    this.rate = softcap === 0 ? 0 : scale / softcap;
    this.height = softcap / temperature;
  }

  /** z is slope · x: there is no softcap. */
  get linear(): boolean {
    return this.rate === 0;
  }

  z(x: number): number {
    return this.rate === 0 ? this.slope * x : this.height * Math.tanh(this.rate * x);
  }

  /** z(x) − z(max) ≤ 0. A logit of −∞ is a masked id whatever the softcap says. */
  belowMax(x: number, max: number): number {
    if (this.rate === 0) return (x - max) * this.slope;
    if (x === -Infinity) return max === -Infinity ? NaN : -Infinity;
    return this.height * (Math.tanh(this.rate * x) - Math.tanh(this.rate * max));
  }

  /** dz/dx */
  derivative(x: number): number {
    if (this.rate === 0) return this.slope;
    const t = Math.tanh(this.rate * x);
    return this.slope * ((1 - t) * (1 + t));
  }
}

/** The sums of a row; the first index of the maximum is in none of them. */
export interface RowSums {
  /** Raw logit; NaN or +∞: the row has one; −∞: it has no finite logit. */
  readonly maxLogit: number;
  /** S' */
  readonly rest: number;
  /** W */
  readonly weighted: number;
  /** Σ exp(2(z − M)) */
  readonly squares: number;
}

export function withoutSums(maxLogit: number): RowSums {
  const nothing = maxLogit === -Infinity ? 0 : NaN;
  return { maxLogit, rest: nothing, weighted: nothing, squares: nothing };
}

/** A row's results before rounding. */
export interface RowResult {
  readonly maxLogit: number;
  readonly log1pSum: number;
  readonly meanGap: number;
  readonly lse: number;
  readonly sumSq: number;
}

export const IGNORED: RowResult = { maxLogit: 0, log1pSum: 0, meanGap: 0, lse: 0, sumSq: 0 };

export function finishRow(map: LogitMap, { maxLogit, rest, weighted, squares }: RowSums): RowResult {
  if (!Number.isFinite(maxLogit)) {
    const kept = maxLogit === -Infinity ? -Infinity : NaN;
    return { maxLogit: kept, log1pSum: NaN, meanGap: NaN, lse: NaN, sumSq: NaN };
  }
  const total = 1 + rest;
  const log1pSum = Math.log1p(rest);
  return {
    maxLogit,
    log1pSum,
    meanGap: (0 - weighted) / total,
    lse: map.z(maxLogit) + log1pSum,
    sumSq: (1 + squares) / (total * total),
  };
}

/** In a row without a finite logit log1pSum is NaN, and so is this. */
export function targetLogprob(map: LogitMap, row: RowResult, logit: number): number {
  return map.belowMax(logit, row.maxLogit) - row.log1pSum;
}

/** The maximum stays out of the sums: the earlier shard's on equality, as its index is the smaller one. */
export function mergeSums(map: LogitMap, a: RowSums, b: RowSums): RowSums {
  if (Number.isNaN(a.maxLogit) || Number.isNaN(b.maxLogit)) return withoutSums(NaN);
  const [high, low] = b.maxLogit > a.maxLogit ? [b, a] : [a, b];
  if (!Number.isFinite(high.maxLogit)) return withoutSums(high.maxLogit);
  if (!Number.isFinite(low.maxLogit)) return high;
  const gap = map.belowMax(low.maxLogit, high.maxLogit);
  const f = Math.exp(gap);
  if (f === 0) return high;
  const total = 1 + low.rest;
  return {
    maxLogit: high.maxLogit,
    rest: high.rest + f * total,
    weighted: high.weighted + f * (low.weighted + gap * total),
    squares: high.squares + f * f * (1 + low.squares),
  };
}

/** dL/dx of one logit of a row, from the row's state, the gradient of its log-prob and that of its entropy. */
export function slopeOf(
  map: LogitMap,
  x: number,
  isTarget: boolean,
  max: number,
  log1pSum: number,
  ofLogprob: number,
  ofEntropy: number,
  meanGap: number,
): number {
  if (max === -Infinity) return 0;
  if (!Number.isFinite(max)) return NaN;
  const gap = map.belowMax(x, max);
  const logp = gap - log1pSum;
  const p = Math.exp(logp);
  if (p === 0 && !isTarget) return 0;
  // 1 − p must not be formed from a p near 1.
  let dz = isTarget ? ofLogprob * -Math.expm1(logp) : 0 - ofLogprob * p;
  if (ofEntropy !== 0 && p > 0) dz -= ofEntropy * p * (gap + meanGap);
  return dz * map.derivative(x);
}

export function halfTypeOf(code: number): HalfDType | undefined {
  if (code === DTYPE_CODE.float16) return "float16";
  return code === DTYPE_CODE.bfloat16 ? "bfloat16" : undefined;
}

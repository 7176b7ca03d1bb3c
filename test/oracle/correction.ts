// The distance of two policies by definition, from lists of kept log-probs. Slow and literal; variances from the differences
// of all pairs, small exponentials by their series.

export interface Row {
  readonly current: readonly number[];
  readonly old: readonly number[];
}

/** Kept tokens of padded rows. */
export function keptRows(
  current: ArrayLike<number>,
  old: ArrayLike<number>,
  mask: ArrayLike<number>,
  T: number,
): Row[] {
  return Array.from({ length: mask.length / T }, (_, b) => {
    const at = Array.from({ length: T }, (_, t) => b * T + t).filter((i) => mask[i] !== 0);
    return { current: at.map((i) => current[i]!), old: at.map((i) => old[i]!) };
  });
}

/** Σ dⁿ/n! from n = 2 on, where it converges quickly. */
function k3Of(d: number): number {
  if (Math.abs(d) > 1) return Math.exp(d) - 1 - d;
  const terms = Array.from({ length: 24 }, (_, k) => {
    let term = 1;
    for (let n = 1; n <= k + 2; ++n) term *= d / n;
    return term;
  });
  return terms.reverse().reduce((sum, term) => sum + term, 0);
}

export function statisticOf(name: string, current: number, old: number, logClamp = Infinity): number {
  const d = Math.sign(current - old) * Math.min(Math.abs(current - old), logClamp);
  const p = Math.exp(current);
  const q = Math.exp(old);
  const values: Record<string, number> = {
    k1: -d,
    k2: 0.5 * d ** 2,
    k3: k3Of(d),
    ratio: Math.exp(d),
    distance: Math.abs(p - q),
    current: p,
    old: q,
    total: p + q,
  };
  return values[name]!;
}

export function statistics(name: string, row: Row, logClamp?: number): number[] {
  return row.current.map((current, t) => statisticOf(name, current, row.old[t]!, logClamp));
}

export const sum = (list: readonly number[]): number => list.reduce((total, x) => total + x, 0);
export const mean = (list: readonly number[]): number => (list.length > 0 ? sum(list) / list.length : 0);
export const within = (x: number, low: number, high: number): number => (x < low ? low : x > high ? high : x);

/** Σ (x − mean)² from the differences of all pairs. */
export function m2Of(list: readonly number[]): number {
  return list.length > 0 ? sum(list.flatMap((x) => list.map((y) => (x - y) ** 2))) / 2 / list.length : 0;
}

export function momentsOf(list: readonly number[]): number[] {
  return [list.length, sum(list), mean(list), m2Of(list), Math.min(...list), Math.max(...list)];
}

/** Seven figures of one number a row: mean, std with ddof 1, extremes, deviation from `center`, shares outside. */
export function rowFigures(prefix: string, rows: readonly number[], low: number, high: number, center: number) {
  const any = rows.length > 0;
  return {
    [`${prefix}_seq_mean`]: mean(rows),
    [`${prefix}_seq_std`]: rows.length > 1 ? Math.sqrt(m2Of(rows) / (rows.length - 1)) : 0,
    [`${prefix}_seq_max`]: any ? Math.max(...rows) : 0,
    [`${prefix}_seq_min`]: any ? Math.min(...rows) : 0,
    [`${prefix}_seq_max_deviation`]: any ? Math.max(...rows.map((x) => Math.abs(x - center))) : 0,
    [`${prefix}_seq_fraction_high`]: mean(rows.map((x) => Number(x > high))),
    [`${prefix}_seq_fraction_low`]: mean(rows.map((x) => Number(x < low))),
  };
}

/** std and effective sample size of weights moved into [1/threshold, threshold], one a token. */
export function boundedFigures(prefix: string, weights: readonly number[], threshold: number) {
  const w = weights.map((x) => within(x, 1 / threshold, threshold));
  const relative = w.map((x) => (x / mean(w)) ** 2);
  return {
    [`${prefix}_std`]: w.length > 1 ? Math.sqrt(m2Of(w) / w.length) : 0,
    [`${prefix}_eff_sample_size`]: w.length > 0 ? 1 / mean(relative) : 0,
  };
}

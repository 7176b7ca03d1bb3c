// Medians and spreads of repetitions, and of ratios that are taken within a repetition.

/** Half of the numbers lie below `median`, a fifth below `p20`, a fifth above `p80`. */
export interface Spread {
  readonly median: number;
  readonly p20: number;
  readonly p80: number;
}

/** The number below which a share of the others lies, between neighbours in proportion. */
export function quantile(values: readonly number[], share: number): number {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const low = sorted[below]!;
  return low + (place - below) * (sorted[Math.min(below + 1, sorted.length - 1)]! - low);
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: quantile(values, 0.5), p20: quantile(values, 0.2), p80: quantile(values, 0.8) };
}

export function scaled({ median, p20, p80 }: Spread, factor: number): Spread {
  return { median: median * factor, p20: p20 * factor, p80: p80 * factor };
}

/**
 * Ratios of two contenders, repetition by repetition; NaN marks a repetition that a contender sat out. Times that were
 * taken far apart are never divided.
 */
export function pairedRatios(above: readonly number[], below: readonly number[]): number[] {
  return above.map((x, r) => x / below[r]!).filter((ratio) => !Number.isNaN(ratio));
}

/** Times of the repetitions that a contender took part in. */
export function taken(samples: readonly number[]): number[] {
  return samples.filter((x) => !Number.isNaN(x));
}

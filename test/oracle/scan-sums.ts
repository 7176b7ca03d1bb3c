// Tail and prefix sums by definition: every output is a sum over positions, powers by multiplication one at a time.

export interface SumRow {
  readonly values: readonly number[];
  readonly kept: readonly boolean[];
}

function power(gamma: number, exponent: number): number {
  let product = 1;
  for (let k = 0; k < exponent; ++k) product *= gamma;
  return product;
}

export interface TailChoices {
  readonly gamma: number;
  readonly steps: boolean;
  readonly normalize: boolean;
  readonly maskedWeight: number;
}

export function tailSumsOracle(
  { values, kept }: SumRow,
  { gamma, steps, normalize, maskedWeight }: TailChoices,
): number[] {
  const isStep = (i: number): boolean => steps || kept[i]!;
  const before = values.map((_, i) => values.filter((_, j) => j < i && isStep(j)).length);
  return values.map((_, t) => {
    if (!isStep(t)) return 0;
    let sum = 0;
    let weight = 0;
    values.forEach((x, i) => {
      if (i < t || !isStep(i)) return;
      sum += kept[i] ? power(gamma, before[i]!) * x : 0;
      weight += power(gamma, before[i]!) * (kept[i] ? 1 : maskedWeight);
    });
    return normalize ? (weight > 0 ? sum / weight : 0) : sum;
  });
}

export function prefixSumsOracle({ values, kept }: SumRow, exclusive: boolean): number[] {
  return values.map((_, t) =>
    kept[t] ? values.reduce((sum, x, i) => (kept[i] && (exclusive ? i < t : i <= t) ? sum + x : sum), 0) : 0,
  );
}

/** ‖onehot(y) − p‖², from the probabilities themselves. */
export function scoreNormOracle(probabilities: readonly number[], target: number): number {
  return probabilities.reduce((sum, p, v) => sum + ((v === target ? 1 : 0) - p) ** 2, 0);
}

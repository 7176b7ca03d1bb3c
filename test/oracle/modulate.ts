// The definitions of the modulate family, literal and in float64. Where the library walks spans and keeps running values,
// these ask of each token which steps it belongs to, and of each row who its fellows are.
import type { SequenceWeightsOptions } from "../../lib";

const average = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0) / values.length;

export function stepWeightsOracle(entropies: ArrayLike<number>, k: number, kFuture: number, epsilon: number) {
  const H = Array.from(entropies);
  const lowest = [...H].sort((a, b) => a - b)[0] ?? NaN;
  const highest = [...H].sort((a, b) => b - a)[0] ?? NaN;
  const entropyNorms = H.map((h) => (h - lowest) / (highest - lowest + epsilon));
  const meanWeight = average(entropyNorms.map((x) => Math.exp(-k * x)));
  return {
    entropyNorms,
    scales: entropyNorms.map((x) => Math.exp(-k * x) / (meanWeight + epsilon)),
    clarities: entropyNorms.map((x) => Math.exp(-kFuture * x)),
  };
}

export interface Step {
  readonly row: number;
  readonly begin: number;
  readonly finish: number;
}

/** rows[b] = the advantages of row b; kept[b] = its mask. */
export function modulateSpansOracle(
  rows: readonly (readonly number[])[],
  kept: readonly (readonly number[])[],
  steps: readonly Step[],
  scales: ArrayLike<number>,
  clarities: ArrayLike<number>,
  zeta: number,
  scope: "all" | "mask" | "segments",
) {
  const covering = (row: number, t: number): number[] =>
    steps.flatMap((step, s) => (step.row === row && step.begin <= t && t < step.finish ? [s] : []));
  // a·Πscale + Σ bonus·(scales of the later steps that cover the token): the recurrence unrolled.
  const modulated = (row: number, t: number): number => {
    const over = covering(row, t);
    const product = (from: number): number => over.slice(from).reduce((p, s) => p * scales[s]!, 1);
    const bonuses = over.map((s, i) => (steps[s + 1]?.row === row ? zeta * clarities[s + 1]! : 0) * product(i + 1));
    return rows[row]![t]! * product(0) + bonuses.reduce((sum, x) => sum + x, 0);
  };
  const mean = steps.length > 0 ? average(steps.map((step) => modulated(step.row, step.begin))) : 0;
  const subtracted = (row: number, t: number): number => {
    const chosen = scope === "all" || (scope === "mask" ? kept[row]![t] === 1 : covering(row, t).length > 0);
    return chosen ? mean : 0;
  };
  return { advantages: rows.map((row, b) => row.map((_, t) => modulated(b, t) - subtracted(b, t))), mean };
}

/** rows[b] = the kept values of row b, in nats; labels[b] = its group. */
export function sequenceWeightsOracle(
  rows: readonly (readonly number[])[],
  labels: readonly number[],
  options: Required<Pick<SequenceWeightsOptions, "form" | "epsilon" | "beta" | "zClip" | "varianceFloor" | "bounds">>,
) {
  const H = rows.map((row) => (row.length > 0 ? average(row) : 0));
  const counts = rows.map((row, b) => row.length > 0 && Number.isFinite(H[b]));
  const clamp = (x: number, [low, high]: readonly [number, number]): number =>
    x > high || low > high ? high : x < low ? low : x;
  const results = rows.map((_, b) => {
    const fellows = labels.flatMap((label, i) => (label === labels[b] && counts[i] ? [H[i]!] : []));
    const mu = average(fellows);
    const variance = average(fellows.map((h) => (h - mu) ** 2)) * (fellows.length / (fellows.length - 1));
    const sigma = Math.sqrt(Math.max(variance, options.varianceFloor));
    const z = clamp((mu - H[b]!) / Math.max(sigma, options.epsilon), [-options.zClip, options.zClip]);
    const formula = options.form === "ratio" ? mu / (H[b]! + options.epsilon) : 1 + options.beta * z;
    const ratio = counts[b] && fellows.length > 1 && mu !== 0 && Number.isFinite(formula) ? formula : 1;
    return { mu, ratio };
  });
  return {
    sequenceEntropies: H,
    groupMeanEntropies: results.map(({ mu }) => mu),
    entropyRatios: results.map(({ ratio }) => ratio),
    weights: results.map(({ ratio }) => clamp(ratio, options.bounds)),
    lengths: rows.map((row) => row.length),
    valid: counts.map(Number),
  };
}

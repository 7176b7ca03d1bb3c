// Group statistics by definition, without ever forming a mean: from the differences of all pairs, in float64.
//
//   x_i - mean                 = Σ_j (x_i - x_j) / n
//   x_i - mean of the others   = Σ_j (x_i - x_j) / (n - 1)
//   Σ (x - mean)²              = Σ_{i<j} (x_i - x_j)² / n
//   softmax_i                  = 1 / Σ_j exp((x_j - x_i) / τ)
import type { GroupConventions } from "../../lib/ops/group";

/** Items of each group, as lists of indices. */
export type Partition = readonly (readonly number[])[];

export interface NormalizedOracle {
  readonly normalized: Float64Array;
  readonly means: Float64Array;
  readonly stds: Float64Array;
}

/** One group of finite numbers, two or more. */
function normalizeGroup(x: readonly number[], c: Required<GroupConventions>) {
  const n = x.length;
  const total = (f: (a: number, b: number) => number, i: number): number => x.reduce((sum, y) => sum + f(x[i]!, y), 0);
  const differences = x.map((_, i) => total((a, b) => a - b, i));
  const squares = x.reduce((sum, _, i) => sum + total((a, b) => (a - b) * (a - b), i), 0) / 2 / n;
  const std = Math.sqrt(Math.max(squares / (n - c.ddof), c.varianceFloor));
  const centred = { mean: n, leaveOneOut: n - 1, none: NaN, runnerUp: NaN }[c.center];
  const numerators = x.map((value, i) => (c.center === "none" ? value : differences[i]! / centred));
  const mean = x[0]! - differences[0]! / n;
  const divisor = (i: number): number => {
    if (c.scale === "none") return 1;
    if (c.scale === "std") return std + c.epsilon;
    if (c.scale === "mean" && mean <= 0) return Infinity;
    if (c.scale !== "others") return mean + c.epsilon;
    const others = x.filter((_, j) => j !== i);
    const spread = others.reduce((sum, a) => sum + others.reduce((s, b) => s + (a - b) ** 2, 0), 0) / 2 / others.length;
    const own = others.length > c.ddof ? Math.sqrt(Math.max(spread / (others.length - c.ddof), c.varianceFloor)) : 0;
    return own > 0 ? own + c.epsilon : 1;
  };
  return {
    normalized: numerators.map((y, i) => y / divisor(i)),
    mean,
    std,
  };
}

/** Groups of two or more finite numbers; singletons, NaN and empty groups have tests of their own. */
export function groupNormalizeOracle(
  values: ArrayLike<number>,
  groups: Partition,
  conventions: Required<GroupConventions>,
): NormalizedOracle {
  const normalized = new Float64Array(values.length);
  const results = groups.map((items) => {
    const group = normalizeGroup(
      items.map((i) => values[i]!),
      conventions,
    );
    items.forEach((i, k) => (normalized[i] = group.normalized[k]!));
    return group;
  });
  return {
    normalized,
    means: Float64Array.from(results, (g) => g.mean),
    stds: Float64Array.from(results, (g) => g.std),
  };
}

export function groupSoftmaxOracle(values: ArrayLike<number>, groups: Partition, temperature: number): Float64Array {
  const weights = new Float64Array(values.length);
  for (const items of groups)
    for (const i of items)
      weights[i] = 1 / items.reduce((sum, j) => sum + Math.exp((values[j]! - values[i]!) / temperature), 0);
  return weights;
}

/** Best and second index of each group, by sorting. */
export function groupTop2Oracle(values: ArrayLike<number>, groups: Partition): [best: number, second: number][] {
  return groups.map((items) => {
    const ranked = items.filter((i) => !Number.isNaN(values[i]!)).sort((i, j) => values[j]! - values[i]! || i - j);
    return [ranked[0] ?? -1, ranked[1] ?? -1];
  });
}

/** The groups of labels, by first appearance. */
export function partition(labels: ArrayLike<number>): number[][] {
  const groups = new Map<number, number[]>();
  for (let i = 0; i < labels.length; ++i) groups.set(labels[i]!, [...(groups.get(labels[i]!) ?? []), i]);
  return [...groups.values()];
}

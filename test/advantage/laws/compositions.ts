// The estimators by composition as their formulas say, one number at a time.
import { branchOf, type Results } from "./estimator-runs";
import type { TokenBatch } from "./token-batch";

const mean = (x: readonly number[]): number => x.reduce((sum, y) => sum + y, 0) / x.length;
const std = (x: readonly number[]): number =>
  x.length < 2 ? 0 : Math.sqrt(x.reduce((sum, y) => sum + (y - mean(x)) ** 2, 0) / (x.length - 1));

/** The values of the rows that have b's label. */
const beside = (values: ArrayLike<number>, labels: readonly string[], b: number): number[] =>
  Array.from(values).filter((_, other) => labels[other] === labels[b]);

/** Positions of row b. */
function placesOf({ layout }: TokenBatch, b: number): number[] {
  const [from, to] =
    "shape" in layout ? [b * layout.shape[1], (b + 1) * layout.shape[1]] : [layout.offsets[b]!, layout.offsets[b + 1]!];
  return Array.from({ length: to - from }, (_, t) => from + t);
}

/** A number of row b, and of its position i, at every kept token; 0 elsewhere. */
function atTokens(batch: TokenBatch, value: (b: number, i: number) => number): Float64Array {
  const result = new Float64Array(batch.mask.length);
  for (let b = 0; b < batch.rows; ++b)
    for (const i of placesOf(batch, b)) if (batch.mask[i] !== 0) result[i] = value(b, i);
  return result;
}

const keptOf = (batch: TokenBatch, b: number): number[] => placesOf(batch, b).filter((i) => batch.mask[i] !== 0);

function grpo({ rewards, groups }: TokenBatch, b: number): number {
  const own = beside(rewards, groups, b);
  return own.length < 2 ? 0 : (rewards[b]! - mean(own)) / (std(own) + 1e-6);
}

export function maxRlByDefinition(batch: TokenBatch): Results {
  const { rewards, groups } = batch;
  const advantages = atTokens(batch, (b) => {
    const own = beside(rewards, groups, b);
    return own.length > 1 && mean(own) > 0 ? (rewards[b]! - mean(own)) / mean(own) : 0;
  });
  return { advantages };
}

export function lambdaGrpoByDefinition(batch: TokenBatch, lambda: number): Results {
  const lengths = Array.from({ length: batch.rows }, (_, b) => keptOf(batch, b).length);
  const powers = lengths.map((n, b) => {
    const own = beside(lengths, batch.groups, b);
    return (1 + (0.2 * (n - mean(own))) / (std(own) + 1e-6)) ** lambda;
  });
  const weights = powers.map((power, b) => {
    const own = beside(powers, batch.groups, b);
    return (own.length * Math.exp(power)) / own.reduce((sum, x) => sum + Math.exp(x), 0);
  });
  return { advantages: atTokens(batch, (b) => grpo(batch, b) * weights[b]!), weights };
}

export function treePoByDefinition(batch: TokenBatch): Results {
  const { rewards, groups } = batch;
  const levels = [groups, branchOf(batch)];
  const advantages = atTokens(batch, (b) =>
    mean(levels.map((labels) => rewards[b]! - mean(beside(rewards, labels, b)))),
  );
  return { advantages };
}

export function fipoByDefinition(batch: TokenBatch, current: "b" | "c"): Results {
  const weights = atTokens(batch, (b, i) => {
    const later = keptOf(batch, b).filter((j) => j >= i);
    const future = later.reduce((sum, j, k) => sum + 0.9 ** k * (batch.tokens[current][j]! - batch.tokens.b[j]!), 0);
    return Math.min(Math.max(Math.exp(future), 0.7), 1.3);
  });
  return { advantages: atTokens(batch, (b, i) => grpo(batch, b) * weights[i]!), weights };
}

export function raeByDefinition(batch: TokenBatch): Results {
  const baselines = new Map<string, number>();
  const rows = batch.groups.map((role, b) => {
    const baseline = baselines.get(role) ?? 0;
    baselines.set(role, 0.5 * baseline + 0.5 * batch.rewards[b]!);
    return batch.rewards[b]! - baseline;
  });
  return { advantages: atTokens(batch, (b) => rows[b]!) };
}

export function opdByDefinition(batch: TokenBatch, beside: boolean): Results {
  const { a, b, c } = batch.tokens;
  const gaps = atTokens(batch, (_, i) => c[i]! - b[i]!);
  return { advantages: atTokens(batch, (_, i) => (beside ? a[i]! : 0) + 0.3 * gaps[i]!), gaps };
}

// Weights and entropies of a group by other definitions than the code's, in float64.
//
//   tilt      the ratio of two weights is the product of the ratios: 1 / Σ_j (m_j/m_i)·(x_j/x_i)^(1/τ)·exp(c·(l_j − l_i)/τ)
//   entropy   the chain rule: H(p) = h(p_1) + (1 − p_1)·H(rest / (1 − p_1)), h of one probability and its complement
import type { Partition } from "./group";

export interface TiltOracle {
  readonly temperature: number;
  readonly coefficient: number;
  readonly logFactors?: ArrayLike<number>;
  readonly counts?: ArrayLike<number>;
}

/** For positive values and a positive temperature. */
export function groupTiltOracle(values: ArrayLike<number>, groups: Partition, o: TiltOracle): Float64Array {
  const weights = new Float64Array(values.length);
  const count = (i: number) => (o.counts ? Math.max(o.counts[i]!, 1) : 1);
  const l = (i: number) => (o.logFactors ? o.logFactors[i]! : 0);
  for (const items of groups)
    for (const i of items) {
      const others = items.map((j) => {
        const power = (values[j]! / values[i]!) ** (1 / o.temperature);
        return (count(j) / count(i)) * power * Math.exp((o.coefficient * (l(j) - l(i))) / o.temperature);
      });
      weights[i] = 1 / others.reduce((sum, x) => sum + x, 0);
    }
  return weights;
}

function chain(p: readonly number[]): number {
  if (p.length < 2) return 0;
  const [first, ...rest] = p as [number, ...number[]];
  const left = rest.reduce((sum, x) => sum + x, 0);
  const part = (x: number) => (x > 0 ? x * Math.log(1 / x) : 0);
  return left > 0 ? part(first) + part(left) + left * chain(rest.map((x) => x / left)) : 0;
}

/** Of values that are divided by their sum, one number a group. */
export function groupEntropyOracle(values: ArrayLike<number>, groups: Partition): number[] {
  return groups.map((items) => {
    const x = items.map((i) => values[i]!);
    const sum = x.reduce((a, b) => a + b, 0);
    return chain(x.map((value) => value / sum));
  });
}

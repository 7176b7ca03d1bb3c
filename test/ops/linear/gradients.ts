// The gradients of a problem, and how near they must come.
import { linearLogprob, linearLogprobBackward, type HeadDType, type LinearLogprobBackwardOptions } from "../../../lib";
import type { BackendName } from "../../support/each-backend";
import type { Problem } from "./problems";

/** Half a unit in the last place, and the smallest step. */
const ROUNDING: Readonly<Record<HeadDType, readonly [number, number]>> = {
  float64: [2 ** -53, 0],
  float32: [2 ** -24, 0],
  float16: [2 ** -11, 2 ** -25],
  bfloat16: [2 ** -8, 0],
};

/**
 * Within the rounding of its type and a share of the sum of its terms' sizes: float64 sums, or float32 ones over 32 terms and
 * the error of the logits, 3e-5 (see forward.test.ts), in every term. 1e-9: terms that nearly cancel inside of g.
 */
export function expectGradient(
  got: ArrayLike<number>,
  want: number[],
  sizes: number[],
  dtype: HeadDType,
  exact: boolean,
  wide: HeadDType,
): void {
  const [ulp, smallest] = ROUNDING[dtype];
  const share = wide === "float64" ? 1e-12 : exact ? 1e-7 : 1e-4;
  const worst = want.reduce((m, w, i) => {
    const allowed = ulp * Math.abs(w) * 1.001 + smallest + share * sizes[i]! + 1e-9 * share;
    return Math.max(m, Math.abs(got[i]! - w) / allowed);
  }, 0);
  expect(got).toHaveLength(want.length);
  expect(worst).toBeLessThanOrEqual(1);
}

interface Sizes {
  readonly hidden: number[];
  readonly weight: number[];
  readonly bias: number[];
}

/** The sizes of a gradient's terms with what cancels inside of them: p times the slope of each part, whatever their signs. */
function innerSizes(p: Problem, logits: readonly ArrayLike<number>[], z: (x: number) => number, slope: number): Sizes {
  const { N, D, V } = p;
  const [hidden, weight, bias] = [N * D, V * D, V].map((n) => new Array<number>(n).fill(0)) as [
    number[],
    number[],
    number[],
  ];
  logits.forEach((row, n) => {
    const zs = Array.from(row, z);
    const top = Math.max(...zs);
    const lse = top + Math.log(zs.reduce((sum, x) => sum + Math.exp(x - top), 0));
    const entropy = zs.reduce((sum, x) => sum - Math.exp(x - lse) * (x - lse), 0);
    zs.forEach((x, j) => {
      const [a, h, probability] = [Math.abs(p.gradLogProbs[n]!), Math.abs(p.gradEntropies[n]!), Math.exp(x - lse)];
      const own = j === p.targets[n] ? 1 - probability : probability;
      const size = slope * (a * own + h * probability * (lse - x + entropy + 1));
      bias[j]! += size;
      for (let d = 0; d < D; ++d) {
        hidden[n * D + d]! += size * Math.abs(p.weight.numbers[j * D + d]!);
        weight[j * D + d]! += size * Math.abs(p.hidden.numbers[n * D + d]!);
      }
    });
  });
  return { hidden, weight, bias };
}

/** float32 in bfloat16 parts: a share of those sizes, what linear.h promises of a gradient and twice what the logits' error does to p. */
export function expectInParts(
  p: Problem,
  logits: readonly ArrayLike<number>[],
  got: Record<keyof Sizes, ArrayLike<number>>,
  want: Record<keyof Sizes, number[]>,
  { temperature = 1, scale = 1, softcap }: { temperature?: number; scale?: number; softcap?: number },
): void {
  const { N, D, V } = p;
  const slope = scale / temperature;
  const z = (x: number) => (softcap ? (softcap / temperature) * Math.tanh((scale * x) / softcap) : slope * x);
  let largest = 0;
  for (let n = 0; n < N; ++n)
    for (let j = 0; j < V; ++j) {
      let sum = 0;
      for (let d = 0; d < D; ++d) sum += Math.abs(p.hidden.numbers[n * D + d]! * p.weight.numbers[j * D + d]!);
      largest = Math.max(largest, sum);
    }
  const off = (1.2e-5 + Math.min(D, 256) * 3e-8 + D * 7.2e-10) * largest;
  const sizes = innerSizes(p, logits, z, slope);
  for (const name of ["hidden", "weight", "bias"] as const) {
    const share = 2e-5 + 2 * off * slope;
    const worst = want[name].reduce((m, w, i) => {
      const allowed = 6e-8 * Math.abs(w) + share * sizes[name][i]! + 1e-12;
      return Math.max(m, Math.abs(got[name][i]! - w) / allowed);
    }, 0);
    expect(got[name]).toHaveLength(want[name].length);
    expect(worst).toBeLessThanOrEqual(1);
  }
}

export function run(p: Problem, backend: BackendName, options: Partial<LinearLogprobBackwardOptions>) {
  const { gradLogProbs, gradEntropies, gradients, accumulate, out, ...rest } = {
    gradLogProbs: p.gradLogProbs,
    gradEntropies: p.gradEntropies,
    ...options,
  };
  const both = { shape: [p.N, p.D] as const, bias: p.bias.view, backend, ...rest };
  const state = linearLogprob(p.hidden.view, p.weight.view, p.targets, both);
  const own = { gradLogProbs, gradEntropies, gradients, accumulate, out };
  return linearLogprobBackward(p.hidden.view, p.weight.view, p.targets, state, { ...own, ...both });
}

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

// Gradients against finite differences of a definition.
import type { LossCase } from "../../oracle/policy-loss";
import { moved } from "./loss-case";

/** The wider ones where a total of large terms leaves too few digits for the narrow one. */
const STEPS = [1e-6, 1e-5, 1e-4] as const;

/** Of a difference of two totals, relative to them. */
const ROUNDING = 2 ** -47;

/** The derivative of the definition by one log-prob: from both sides, which differ at a kink. */
function slopes(
  total: (c: LossCase) => number,
  here: number,
  c: LossCase,
  b: number,
  t: number,
  step: number,
): readonly [left: number, right: number] {
  return [(here - total(moved(c, b, t, -step))) / step, (total(moved(c, b, t, step)) - here) / step];
}

/** The gradient is the slope of `total` at every kept token, one of the two at a kink, and exactly 0 under the mask. */
export function expectGradient(
  gradLogProbs: ArrayLike<number>,
  total: (c: LossCase) => number,
  oracle: LossCase,
  place: (b: number, t: number) => number,
): void {
  const here = total(oracle);
  oracle.mask.forEach((row, b) =>
    row.forEach((on, t) => {
      const got = gradLogProbs[place(b, t)]!;
      if (!on) {
        expect(got).toBe(0);
        return;
      }
      // One step of a float64 difference loses half the digits, also those of much larger terms beside this one: an exponent up to
      // 64 is rounded by half of 2^-47 in each of the two, and exp makes that a relative error. The second derivative times the
      // step adds to that.
      const beyond = STEPS.map((step) => {
        const [left, right] = slopes(total, here, oracle, b, t, step);
        const off = Math.min(Math.abs(got - left), Math.abs(got - right), Math.abs(got - (left + right) / 2));
        return off - 2e-4 * (1 + Math.abs(got)) - (ROUNDING / step) * Math.abs(here);
      });
      expect(Math.min(...beyond)).toBeLessThanOrEqual(0);
    }),
  );
}

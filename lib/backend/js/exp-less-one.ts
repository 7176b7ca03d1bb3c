// e^x − 1 for the loops over log ratios, which want e^x too: half of the time of Math.expm1.
//
//   e^x − 1 = (2^(k/2048) − 1) + 2^(k/2048) · (e^r − 1)    k = round(2048 x / ln 2), r = x − k · ln 2 / 2048, |r| ≤ 0.00017: four
//   terms of its series

import { ROUNDS, STEP_HIGH, STEP_LOW, STEPS } from "./exp";

/** Log ratios up to here, either way, have it from the table: most of those that a trainer sees. */
const NEAR = 1 / 2;

const MOST = Math.ceil(NEAR * STEPS);
const POWERS_LESS_ONE = Float64Array.from({ length: 2 * MOST + 1 }, (_, i) => Math.expm1((i - MOST) / STEPS));

/** Whether x is one of those. */
export const isNear = (x: number): boolean => x <= NEAR && x >= -NEAR;

/** e^x − 1 of a near x, within 4 ulp of float64. 1 more is e^x, within 1 ulp. */
export function nearExpLessOne(x: number): number {
  const rounded = ROUNDS + x * STEPS;
  const k = rounded - ROUNDS;
  const r = x - k * STEP_HIGH - k * STEP_LOW;
  const series = r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24))));
  const power = POWERS_LESS_ONE[(rounded | 0) + MOST]!;
  return power + (series + power * series);
}

/** e^x − 1 of any x. */
export function expLessOne(x: number): number {
  return isNear(x) ? nearExpLessOne(x) : Math.expm1(x);
}

/** The ratio of a log ratio, e^x. */
export function ratioOf(x: number): number {
  return isNear(x) ? 1 + nearExpLessOne(x) : Math.exp(x);
}

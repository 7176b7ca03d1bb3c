// Outputs against their definitions, element by element, with the comparison that `npm run accuracy` uses.
import { type Budget, compare } from "../accuracy/measure";
import type { ErrorFigure } from "../record";
import type { Errors } from "../record";

export interface Wanted {
  /** The definition of the first elements; what follows repeats them. */
  readonly values: ArrayLike<number>;
  readonly budget: Budget;
}

interface Sliceable extends ArrayLike<number> {
  subarray(begin: number, end: number): ArrayLike<number>;
}

function worse(a: ErrorFigure, b: ErrorFigure): ErrorFigure {
  return {
    maxAbs: Math.max(a.maxAbs, b.maxAbs),
    maxRel: Math.max(a.maxRel, b.maxRel),
    ...(b.budget !== undefined && { budget: b.budget }),
    ...(b.used !== undefined && { used: Math.max(a.used ?? 0, b.used) }),
  };
}

/** The largest errors of `got`, which repeats `wanted` as often as it fits, the last time perhaps in part. */
export function errorOf(got: Sliceable, { values, budget }: Wanted): ErrorFigure {
  let worst: ErrorFigure = { maxAbs: 0, maxRel: 0 };
  for (let begin = 0; begin < got.length; begin += values.length) {
    const end = Math.min(begin + values.length, got.length);
    const part = end - begin === values.length ? values : Array.prototype.slice.call(values, 0, end - begin);
    const { maxAbs, maxRel, used } = compare(got.subarray(begin, end), { values: part as ArrayLike<number>, budget });
    // Without a figure of its own an infinite error is still one: a NaN that should not be there.
    worst = worse(worst, { maxAbs, maxRel, ...(budget.allowed && { budget: budget.says, used: used! }) });
  }
  return worst;
}

export function isWrong(errors: Errors): boolean {
  return Object.values(errors).some(({ maxAbs, used }) => maxAbs === Infinity || (used !== undefined && used > 1));
}

export function describeErrors(errors: Errors): string {
  return Object.entries(errors)
    .map(([name, { maxAbs, used, budget }]) => {
      if (maxAbs === 0) return `${name} exact`;
      const share = used === undefined ? "" : `, ${used.toPrecision(2)} of ${budget}`;
      return `${name} ${maxAbs.toExponential(1)}${share}`;
    })
    .join("; ");
}

/** 1e-6 of the number and 1e-12: what log-probs and entropies promise from H = 1e-9 on. */
export const MILLIONTH: Budget = { says: "1e-6·|x| + 1e-12", allowed: (want) => 1e-6 * Math.abs(want) + 1e-12 };

// Random cases that shrink. Everything a case holds is drawn from one list of numbers in [0, 1), 0 being the plainest choice: so
// that a case is tried anew with a shorter list, or with more zeros, whatever it is made of.
import { rng } from "../support/rng";

export class Draw {
  private at = 0;

  constructor(
    readonly choices: number[],
    private readonly next: () => number,
  ) {}

  unit(): number {
    if (this.at === this.choices.length) this.choices.push(this.next());
    return this.choices[this.at++]!;
  }

  /** low … high. */
  int(low: number, high: number): number {
    return low + Math.floor(this.unit() * (high - low + 1));
  }

  pick<T>(options: readonly T[]): T {
    return options[Math.floor(this.unit() * options.length)]!;
  }

  /** Absent in half of the cases. */
  maybe<T>(make: () => T): T | undefined {
    return this.unit() < 0.5 ? undefined : make();
  }

  array<A extends { [index: number]: number }>(array: A & { readonly length: number }, make: () => number): A {
    for (let i = 0; i < array.length; ++i) (array as { [index: number]: number })[i] = make();
    return array;
  }
}

/** A new case of this seed. */
export function fresh(seed: number): Draw {
  const random = rng(seed);
  return new Draw([], () => random.uniform());
}

/** The same case from a list of choices; what goes beyond it is plain. */
export function replay(choices: readonly number[]): Draw {
  return new Draw([...choices], () => 0);
}

/** The shortest and plainest list found by so many tries for which `fails` holds, as it does for `choices`. */
export function shrink(
  choices: readonly number[],
  fails: (choices: readonly number[]) => boolean,
  tries = 3000,
): number[] {
  let best = [...choices];
  let left = tries;
  const accept = (candidate: number[]): boolean => {
    if (left === 0) return false;
    --left;
    if (!fails(candidate)) return false;
    best = candidate;
    return true;
  };
  for (let smaller = true; smaller;) {
    smaller = false;
    for (let size = best.length; size >= 1; size = Math.floor(size / 2))
      for (let from = best.length - size; from >= 0; from -= size)
        if (accept([...best.slice(0, from), ...best.slice(from + size)])) smaller = true;
    for (let i = 0; i < best.length; ++i)
      for (const plainer of [0, best[i]! / 2])
        if (best[i]! > 1e-3 && accept(best.map((choice, k) => (k === i ? plainer : choice)))) smaller = true;
  }
  return best;
}

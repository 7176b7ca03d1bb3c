// A program that would be paid for nothing. It stands in docs/reward/security.md by its name.

export interface Attack {
  /** What it does, as the page has it. */
  readonly name: string;
  /** `solve(x)` has to return x * x, and does not. */
  readonly program: string;
  /** Default: `assert solve(3) == 9`. */
  readonly test?: string;
  /** `names` of the tests. */
  readonly names?: readonly string[];
}

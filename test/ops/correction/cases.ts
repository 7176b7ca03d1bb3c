// Log-probs of two policies for the suites of this folder.
import { rng } from "../../support/rng";

export const SHAPE = [5, 37] as const; // 37: no power of two, not a warp
const N = 5 * 37;

export interface Case {
  readonly current: Float64Array;
  readonly old: Float64Array;
  readonly mask: Uint8Array;
}

/** Row 3 has nothing kept; row 4 is the same policy twice. */
export function mismatch(seed: number, spread = 0.5): Case {
  const r = rng(seed);
  const old = r.f64(N, -4, -0.5);
  const shift = r.normal(N, 0, spread);
  const current = old.map((x, i) => (i >= 4 * 37 ? x : x + shift[i]!));
  const mask = r.mask(N, 0.7).fill(0, 3 * 37, 4 * 37);
  return { current, old, mask };
}

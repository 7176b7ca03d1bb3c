// Tokens inside of a trust region: flags, which are right or wrong. Bounds lie between the distances of two tokens, so that no rounding
// decides.
import { trustRegionMask, type TrustRegionOptions } from "../../../lib";
import { rng } from "../../../test/support/rng";
import { exact } from "../budgets";
import { floats, WIDE_FLOATS, type WideFloat } from "../inputs";
import type { Case } from "../measure";

const [B, T] = [5, 40];
const n = B * T;

/** How far above and below the old policy a token is. */
const DISTANCES: Readonly<Record<string, (l: number, o: number) => readonly [above: number, below: number]>> = {
  ratio: (l, o) => [Math.exp(l) / Math.exp(o) - 1, 1 - Math.exp(l) / Math.exp(o)],
  probability: (l, o) => [Math.exp(l) - Math.exp(o), Math.exp(o) - Math.exp(l)],
  binaryKl: (l, o) => {
    const [p, q] = [Math.exp(l), Math.exp(o)];
    const kl = q * Math.log(q / p) + (1 - q) * Math.log((1 - q + 1e-8) / (1 - p + 1e-8));
    return [l > o ? kl : 0, l < o ? kl : 0];
  },
};

function regionCase(measure: keyof typeof DISTANCES, dtype: WideFloat): Case {
  const r = rng(71);
  const old = floats(dtype, r.f64(n, -4, -0.05));
  const now = floats(
    dtype,
    Array.from(old, (o) => Math.min(o + 0.8 * (r.uniform() - 0.5), -0.01)),
  );
  const advantages = floats(dtype, r.f64(n, -2, 2));
  const mask = r.mask(n, 0.8);
  const far = Array.from(now, (l, i) => DISTANCES[measure]!(l, old[i]!));
  const between = (side: 0 | 1): number => {
    const sorted = far
      .map((pair) => pair[side])
      .filter((x) => x > 0)
      .sort((a, b) => a - b);
    const middle = Math.floor(sorted.length / 2);
    return (sorted[middle]! + sorted[middle + 1]!) / 2;
  };
  const [high, low] = [between(0), between(1)];
  const inside = far.map(([above, below], i) =>
    mask[i] === 0 || (advantages[i]! > 0 && above > high) || (advantages[i]! < 0 && below > low) ? 0 : 1,
  );
  const options = { shape: [B, T], measure, low, high, advantages, advantagesPer: "token", mask } as TrustRegionOptions;
  return {
    op: "trustRegionMask",
    dtype,
    input: measure,
    want: { inside: { values: inside, budget: exact } },
    // In host memory, whatever the backend.
    run: () => {
      return { inside: trustRegionMask(now, old, options) };
    },
  };
}

export default function trustRegionCases(): Case[] {
  return WIDE_FLOATS.flatMap((dtype) => Object.keys(DISTANCES).map((measure) => regionCase(measure, dtype)));
}

// A batch of two policies' log-probs for the suites of this folder, and its rows by definition.
import { keptRows } from "../../oracle/correction";
import { rng } from "../../support/rng";

export const T = 9;

/** Row 2 has nothing kept, row 4 a single token. */
export function batchOf(seed: number, spread = 0.4) {
  const n = 6 * T;
  const r = rng(seed);
  const samplerLogProbs = r.f64(n, -3, -0.3);
  const shift = r.normal(n, 0.02, spread);
  const oldLogProbs = samplerLogProbs.map((x, i) => x + shift[i]!);
  const mask = r
    .mask(n, 0.7)
    .fill(0, 2 * T, 3 * T)
    .fill(0, 4 * T, 5 * T);
  mask[4 * T + 2] = 1;
  const rows = keptRows(oldLogProbs, samplerLogProbs, mask, T);
  return { oldLogProbs, samplerLogProbs, mask, rows, shape: [6, T] as const };
}

/** Spreads numbers of kept tokens over the mask. */
export function placed(values: readonly number[], mask: Uint8Array): number[] {
  let k = 0;
  return Array.from(mask, (flag) => (flag ? values[k++]! : 0));
}

// A batch of token rows: two numbers a token with a mask, all different, and what repeats of them.

/** Numbers of one value a token, of which the mask keeps half to all of a row. */
export interface TokenBatch {
  readonly rows: number;
  readonly steps: number;
  /** Entropies: mostly small, a few large; in nats. */
  readonly values: Float32Array;
  /** The same order of size as `values`, and close to it. */
  readonly others: Float32Array;
  readonly mask: Uint8Array;
  readonly kept: number;
}

/** Multiplicative congruential numbers in [0, 1): millions of them in no time. */
function congruential(seed: number): () => number {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

export function tokenBatch(rows: number, steps: number): TokenBatch {
  const n = rows * steps;
  const draw = congruential(9);
  const values = new Float32Array(n);
  const others = new Float32Array(n);
  const mask = new Uint8Array(n);
  for (let i = 0; i < n; ++i) {
    values[i] = 2 * draw() ** 4;
    others[i] = values[i]! + 0.05 * (draw() - 0.5);
  }
  let kept = 0;
  for (let b = 0; b < rows; ++b) {
    const length = Math.floor(steps * (0.5 + 0.5 * draw()));
    mask.fill(1, b * steps, b * steps + length);
    kept += length;
  }
  return { rows, steps, values, others, mask, kept };
}

/** What most cases of token rows say of themselves. */
export const TOKEN_ROWS = { dtype: "float32", rowKind: "half to all of a row kept", threads: 1, quick: true } as const;

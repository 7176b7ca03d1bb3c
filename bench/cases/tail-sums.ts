// Discounted sums of what is left of a row.
import { largest } from "../accuracy/inputs";
import type { Case, Subject } from "../harness/case";
import { errorOf } from "../harness/check";
import { ROLLOUTS } from "../shapes";
import { poison } from "./poison";
import { TOKEN_ROWS, type TokenBatch, tokenBatch } from "./tokens";

const GAMMA = 0.99;

/** Σ_{j >= i} γ^j x_j over the kept tokens of a row, whose tokens ahead all count as steps. */
function tailsOf({ rows, steps, values, mask }: TokenBatch): Float64Array {
  const out = new Float64Array(values.length);
  for (let b = 0; b < rows; ++b) {
    let kept = 0;
    for (let t = 0; t < steps; ++t) kept += mask[b * steps + t]!;
    let tail = 0;
    for (let t = steps - 1; t >= 0; --t) {
      const i = b * steps + t;
      if (mask[i] === 0) continue;
      tail += GAMMA ** --kept * values[i]!;
      out[i] = tail;
    }
  }
  return out;
}

function tailSubject(rows: number, steps: number): Subject {
  const batch = tokenBatch(rows, steps);
  const { values, mask } = batch;
  const scratch = new Float32Array(values.length);
  let found: Float64Array | undefined;
  const wanted = (): Float64Array => (found ??= tailsOf(batch));
  return {
    ours: (lib) => {
      const tails = new Float32Array(values.length);
      const options = { shape: [rows, steps] as const, mask, gamma: GAMMA, out: { tails }, backend: "cpu" as const };
      return {
        name: "tailSums",
        prepare: () => poison(tails),
        run: () => void lib.tailSums(values, options),
        check: () => {
          const allowed = 1e-6 * largest(wanted());
          return {
            tails: errorOf(tails, {
              values: wanted(),
              budget: { says: "1e-6 of the largest", allowed: () => allowed },
            }),
          };
        },
      };
    },
    roof: {
      kind: "read and copy",
      bytes: 9 * values.length,
      run: (roof, threads) => {
        roof.read([mask], threads);
        roof.copy(scratch, values, threads);
      },
    },
  };
}

export function tailCases(): Case[] {
  const shape = ROLLOUTS.batch;
  const [rows, steps] = shape.sizes;
  return [
    {
      kernel: "scan",
      op: "tailSums",
      ...TOKEN_ROWS,
      rowKind: `γ = ${GAMMA}`,
      shape,
      least: { bytes: 9 * rows * steps, formula: "9·tokens (4 + 1 read, 4 written)" },
      prepare: () => tailSubject(rows, steps),
    },
  ];
}

// From logits to their gradient through the loss of each token, by definition: the slope of the loss in closed form, then the
// gradient of the row.
import { fromHalfBits, type LogitDType, tokenLossFromLogits, toHalfBits } from "../../../lib";
import { rowOracle } from "../../../test/oracle/logprob";
import { rng } from "../../../test/support/rng";
import { roundingOf } from "../budgets";
import type { Case } from "../measure";

const N = 8;
const CLIP = { clipLow: 0.2, clipHigh: 0.28 } as const;
const KL = 0.4;

/** d loss / d log-prob of a token, with x = ℓ − o. */
const SLOPES = {
  clip: (x: number, A: number) =>
    (A > 0 ? Math.exp(x) > 1 + CLIP.clipHigh : Math.exp(x) < 1 - CLIP.clipLow) ? 0 : -A * Math.exp(x),
  weighted: (x: number, A: number) => -A * Math.min(Math.max(Math.exp(x), 1 - CLIP.clipLow), 1 + CLIP.clipHigh),
} as const;

const KINDS: Readonly<Record<string, (V: number, n: number) => Float64Array>> = {
  random: (V, n) => Float64Array.from(rng(60 + n).normal(V, 0, 3)),
  "nearly deterministic": (V, n) =>
    Float64Array.from(rng(70 + n).normal(V, 0, 0.5), (x, j) => (j === (5 * n + 1) % V ? 22 : x)),
};

function caseOf(input: string, form: keyof typeof SLOPES, dtype: LogitDType, V: number): Case {
  const flat = Float32Array.from(Array.from({ length: N }, (_, n) => [...KINDS[input]!(V, n)]).flat());
  const logits = dtype === "float32" ? flat : toHalfBits(flat, dtype);
  const numbers = dtype === "float32" ? flat : fromHalfBits(logits, dtype);
  const rows = Array.from({ length: N }, (_, n) =>
    rowOracle(Float64Array.from(numbers.subarray(n * V, (n + 1) * V)), {}),
  );
  const targets = Int32Array.from(rows, (_, n) => (n % 2 === 0 ? (5 * n + 1) % V : (11 * n + 5) % V));
  const logProbs = rows.map((row, n) => row.logprob(targets[n]!));
  const r = rng(81);
  // 0.05 and more away from the edges of the band: a rounding must not decide.
  const moved = [0.05, -0.05, 0.4, -0.4, 0.1, -0.1, 0.02, -0.5];
  const old = Float64Array.from(logProbs, (l, n) => l - moved[n]!);
  const reference = Float64Array.from(logProbs, (l) => l + 0.3 * (r.uniform() - 0.5));
  const advantages = r.f64(N, -2, 2);
  const weights = r.f64(N, 0.1, 1);
  const slopes = logProbs.map(
    (l, n) => weights[n]! * (SLOPES[form](l - old[n]!, advantages[n]!) + KL * (l - reference[n]!)),
  );
  const bonus = 0.3;
  // The row's largest term: of the slope, of each of its two parts, and of the entropy.
  const scales = rows.map((row, n) => {
    const parts = [slopes[n]!, weights[n]! * advantages[n]! * Math.exp(0.5), weights[n]! * KL].map((a) =>
      row.gradient([[targets[n]!, a]], 0),
    );
    return [...parts, row.gradient([], bonus * weights[n]!)].reduce(
      (m, part) => part.reduce((a, g) => Math.max(a, Math.abs(g)), m),
      0,
    );
  });
  const gradLogits = {
    values: rows.flatMap((row, n) => Array.from(row.gradient([[targets[n]!, slopes[n]!]], -bonus * weights[n]!))),
    budget: {
      says: "2e-6·(1 + |logprob|) of the row's largest term, rounded",
      allowed: (want: number, i: number) => {
        const n = Math.floor(i / V);
        const before = 2e-6 * (1 + Math.abs(logProbs[n]!)) * scales[n]! + 1e-38;
        return before + roundingOf(dtype, Math.abs(want) + before);
      },
    },
  };

  return {
    op: `tokenLossFromLogits (${form})`,
    dtype,
    input,
    want: { gradLogits },
    run: (backend) => {
      const got = tokenLossFromLogits(logits, targets, {
        form,
        ...CLIP,
        shape: [N, 1],
        dtype,
        oldLogProbs: old,
        advantages,
        advantagesPer: "row",
        rowWeights: weights,
        kl: { referenceLogProbs: reference, kind: "k2", coefficient: KL },
        entropy: { coefficient: bonus },
        backend,
      }).gradLogits;
      return { gradLogits: dtype === "float32" ? got : fromHalfBits(got, dtype) };
    },
  };
}

export default function lossLogitsCases(reduced: boolean): Case[] {
  return Object.keys(KINDS).flatMap((input) =>
    (Object.keys(SLOPES) as (keyof typeof SLOPES)[]).flatMap((form) =>
      (["float32", "float16", "bfloat16"] as const)
        .filter((dtype) => !reduced || dtype !== "float16")
        .map((dtype) => caseOf(input, form, dtype, reduced ? 257 : 1025)),
    ),
  );
}

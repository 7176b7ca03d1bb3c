// Log ratios and the clipped objective against their definitions, and the laws they obey.
import { clippedObjective, type ClippedObjectiveOptions, logRatio } from "surprisal";
import {
  type Clip,
  clippedObjectiveOracle,
  logRatioOracle,
  numericalGradient,
  paddedRows,
  type PolicyBatch,
} from "../oracle/ratio";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const LEVELS = ["token", "sequence", "group"] as const;
const outputs = ["losses", "ratios", "clipped", "gradLogProbs"] as const;
type Level = (typeof LEVELS)[number];

// float32 outputs of float64 sums: half an ulp (6e-8) and a little. float64: the order of a few dozen additions.
const F32 = { atol: 1e-7, rtol: 1e-7 };
const F64 = { atol: 1e-13, rtol: 1e-13 };

const CLIPS: readonly (readonly [string, Clip])[] = [
  ["plain", { clipLow: 0.2, clipHigh: 0.2 }],
  ["clip-higher with dual clip", { clipLow: 0.2, clipHigh: 0.28, dualClip: 1.4 }],
  ["capped ratio", { clipLow: 0.2, clipHigh: 0.28, ratioCap: 1.4 }],
  ["a cap inside the band", { clipLow: 0.2, clipHigh: 0.28, ratioCap: 1.1 }],
  ["clamped log ratio", { clipLow: 0.2, clipHigh: 0.2, logClamp: 0.3 }],
  ["limited log ratio", { clipLow: 0.2, clipHigh: 0.2, maxLogRatio: 0.1 }],
  ["everything", { clipLow: 0.1, clipHigh: 0.3, dualClip: 1.3, ratioCap: 1.5, logClamp: 0.5, maxLogRatio: 0.45 }],
  ["no lower bound", { clipLow: Infinity, clipHigh: 0.1 }],
];

const SHAPE = [6, 37] as const; // 37: no power of two and more than a warp
const GROUPS = [0, 1, 0, 1, 1, 2];

/** Ratios on both sides of the bounds at every level; row 4 has no kept token. */
function batch(seed: number, float64 = false, [B, T]: readonly [number, number] = SHAPE) {
  const r = rng(seed);
  const n = B * T;
  const old = float64 ? r.f64(n, -3, 0) : r.f32(n, -3, 0);
  const shift = r.f64(B, -0.5, 0.5);
  const noise = r.normal(n, 0, 0.25);
  const current = float64 ? new Float64Array(n) : new Float32Array(n);
  for (let i = 0; i < n; ++i) current[i] = old[i]! + shift[Math.floor(i / T)]! + noise[i]!;
  const mask = r.mask(n, 0.7);
  if (B > 4) mask.fill(0, 4 * T, 5 * T);
  const advantages = float64 ? r.f64(B, -2, 2) : r.f32(B, -2, 2);
  const tokenAdvantages = float64 ? r.f64(n, -2, 2) : r.f32(n, -2, 2);
  const weights = r.f64(B, 0.1, 1);
  const rows = paddedRows([B, T], mask);
  const definition: PolicyBatch = { current, old, rows, groups: GROUPS, advantage: (b) => advantages[b]! };
  return { n, shape: [B, T] as const, current, old, mask, advantages, tokenAdvantages, weights, rows, definition };
}

function levelOptions(level: Level): Pick<ClippedObjectiveOptions, "level" | "groups"> {
  return level === "group" ? { level, groups: GROUPS } : { level };
}

/** Values of kept tokens at their positions, 0 elsewhere. */
function scatter(rows: readonly (readonly number[])[], values: readonly number[], n: number): Float64Array {
  const out = new Float64Array(n);
  rows.flat().forEach((i, k) => (out[i] = values[k]!));
  return out;
}

/** An oracle's terms in the layout of the op: by position at token level, by row at the others. */
function termsByRow(
  level: Level,
  rows: readonly (readonly number[])[],
  terms: readonly { row: number; value: number }[],
  n: number,
) {
  if (level === "token")
    return scatter(
      rows,
      terms.map((term) => term.value),
      n,
    );
  const out = new Float64Array(rows.length);
  for (const term of terms) out[term.row] = term.value;
  return out;
}

eachBackend((backend) => {
  describe.each(LEVELS)("%s level", (level) => {
    test.each([
      ["float32", false, F32],
      ["float64", true, F64],
    ] as const)("log ratios equal their definition (%s)", (_, float64, tolerance) => {
      const { n, shape, current, old, mask, rows, definition } = batch(1, float64);
      for (const reduce of ["mean", "sum"] as const) {
        const got = logRatio(current, old, { ...levelOptions(level), reduce, shape, mask, backend });
        const want = logRatioOracle(definition, level, reduce);
        const place = (values: number[]) => (level === "token" ? scatter(rows, values, n) : values);
        expect(got.logRatios).toBeAllClose(place(want), tolerance);
        // The ratio of a sum of 37 differences: what the error of the log ratio is multiplied by.
        expect(got.ratios).toBeAllClose(place(want.map(Math.exp)), { rtol: 10 * tolerance.rtol });
        expect(got.ratios).toBeInstanceOf(float64 ? Float64Array : Float32Array);
      }
    });

    test.each(CLIPS)("the objective, its gradient and its figures equal their definition: %s", (_, clip) => {
      for (const [float64, tolerance] of [
        [false, F32],
        [true, F64],
      ] as const) {
        const { n, shape, current, old, mask, advantages, weights, rows, definition } = batch(2, float64);
        const options = { ...levelOptions(level), ...clip, shape, mask, outputs, backend };
        const got = clippedObjective(current, old, advantages, { ...options, rowWeights: weights });
        const want = clippedObjectiveOracle(definition, { ...clip, level, weights: [...weights] });
        const ratios = want.terms.map((term) => ({ row: term.row, value: term.ratio }));
        expect(got.ratios).toBeAllClose(termsByRow(level, rows, ratios, n), tolerance);
        const losses = want.terms.map((term) => ({ row: term.row, value: 0 - term.value }));
        expect(got.losses).toBeAllClose(termsByRow(level, rows, losses, n), tolerance);
        const clipped = want.terms.map((term) => ({ row: term.row, value: Number(term.clipped) }));
        expect(got.clipped).toBeAllClose(termsByRow(level, rows, clipped, n), {});
        expect(got.gradLogProbs).toBeAllClose(want.gradLogProbs, tolerance);
        // Float64 sums at either type: the inputs are the same numbers for op and definition.
        expect(got.objectives).toBeAllClose(want.objectives, F64);
        expect(got.objective).toBeAllClose(want.objective, F64);
        expect(got.meanRatio).toBeAllClose(want.meanRatio, F64);
        expect(got.maxRatio).toBeAllClose(want.maxRatio, F64);
        expect(got.clipFraction).toBe(want.clipFraction);
        expect(got.dualClipFraction).toBe(want.dualClipFraction);
      }
    });

    test("the sum of differences is differentiated without the division by the length", () => {
      const { shape, current, old, mask, advantages, weights, definition } = batch(3, true, [6, 5]);
      const clip = { clipLow: 0.9, clipHigh: 2 };
      const got = clippedObjective(current, old, advantages, {
        ...levelOptions(level),
        ...clip,
        reduce: "sum",
        shape,
        mask,
        rowWeights: weights,
        backend,
      });
      const want = clippedObjectiveOracle(definition, { ...clip, level, reduce: "sum", weights: [...weights] });
      expect(got.gradLogProbs).toBeAllClose(want.gradLogProbs, F64);
      expect(got.objective).toBeAllClose(want.objective, F64);
    });

    // The kinks lie at log ratios −0.22, 0.25 (clip), 0.34 (dual clip), 0.47 (cap) and ±0.6 (clamp); the units sit at
    // least 0.03 away from each, far more than the step of 1e-5. Its error is of order h² = 1e-10.
    test("the gradient is the finite difference of the objective away from kinks", () => {
      const clip = { clipLow: 0.2, clipHigh: 0.28, dualClip: 1.4, ratioCap: 1.6, logClamp: 0.6 };
      const shifts = [-0.7, -0.4, -0.1, 0.1, 0.3, 0.4, 0.53, 0.7];
      const r = rng(4);
      const shape = [16, 4] as const;
      const old = r.f64(64, -3, 0);
      const sign = (b: number) => (b < 8 ? 1.5 : -0.75);
      // Within a row +0.01, −0.01, +0.01, −0.01: the mean is the shift itself. A group is one shift with both signs.
      const current = old.map((x, i) => x + shifts[Math.floor(i / 4) % 8]! + (i % 2 === 0 ? 0.01 : -0.01));
      const groups = Array.from({ length: 16 }, (_, b) => b % 8);
      const weights = [...r.f64(16, 0.5, 1)];
      const advantages = Float64Array.from({ length: 16 }, (_, b) => sign(b));
      const definition = { current, old, rows: paddedRows(shape), groups, advantage: sign };
      const got = clippedObjective(current, old, advantages, {
        ...(level === "group" ? { level, groups } : { level }),
        ...clip,
        shape,
        rowWeights: Float64Array.from(weights),
        backend,
      });
      const want = Array.from(current, (_, i) => numericalGradient(definition, { ...clip, level, weights }, i, 1e-5));
      expect(got.gradLogProbs).toBeAllClose(want, { atol: 1e-9, rtol: 1e-9 });
      expect(want.some((g) => g !== 0)).toBe(true);
    });

    test("what lies under the mask cannot leak", () => {
      const { shape, current, old, mask, advantages } = batch(5);
      const options = { ...levelOptions(level), clipLow: 0.2, clipHigh: 0.2, shape, mask, backend } as const;
      const clean = clippedObjective(current, old, advantages, options);
      for (const poison of [NaN, Infinity, -Infinity, 1e30]) {
        const spoil = (array: Float32Array | Float64Array) =>
          Float32Array.from(array, (x, i) => (mask[i] ? x : poison));
        expect(clippedObjective(spoil(current), spoil(old), advantages, options)).toEqual(clean);
        expect(logRatio(spoil(current), old, { ...levelOptions(level), shape, mask, backend })).toEqual(
          logRatio(current, old, { ...levelOptions(level), shape, mask, backend }),
        );
      }
      mask.forEach((kept, i) => kept || expect(clean.gradLogProbs[i]).toBe(0));
    });

    test("packed rows equal the same rows padded, also when a row is empty", () => {
      const r = rng(6);
      const lengths = [3, 0, 5, 1, 4, 2];
      const offsets = Int32Array.of(0, 3, 3, 8, 9, 13, 15);
      const current = r.f32(15, -2, 0);
      const old = r.f32(15, -2, 0);
      const advantages = r.f32(6, -1, 1);
      const T = 5;
      const pad = (array: Float32Array) => {
        const out = new Float32Array(6 * T).fill(NaN);
        lengths.forEach((length, b) => out.set(array.subarray(offsets[b], offsets[b]! + length), b * T));
        return out;
      };
      const mask = Uint8Array.from({ length: 6 * T }, (_, i) => (i % T < lengths[Math.floor(i / T)]! ? 1 : 0));
      const options = { ...levelOptions(level), clipLow: 0.2, clipHigh: 0.2, backend } as const;
      const packed = clippedObjective(current, old, advantages, { ...options, offsets });
      const padded = clippedObjective(pad(current), pad(old), advantages, { ...options, shape: [6, T], mask });
      expect(packed.objectives).toEqual(padded.objectives);
      expect(packed.objective).toBe(padded.objective);
      lengths.forEach((length, b) => {
        expect(packed.gradLogProbs.subarray(offsets[b], offsets[b]! + length)).toEqual(
          padded.gradLogProbs.subarray(b * T, b * T + length),
        );
      });
    });

    test("rows of several blocks equal their definition", () => {
      const shape = [3, 700] as const; // more than two strides of a block of 256 threads
      const { n, current, old, advantages, weights } = batch(7, true, shape);
      const definition = {
        current,
        old,
        rows: paddedRows(shape),
        groups: [0, 1, 0],
        advantage: (b: number) => advantages[b]!,
      };
      const groups = level === "group" ? { groups: [0, 1, 0] } : {};
      const got = clippedObjective(current, old, advantages, {
        level,
        ...groups,
        clipLow: 0.2,
        clipHigh: 0.2,
        shape,
        rowWeights: weights,
        backend,
      });
      const want = clippedObjectiveOracle(definition, { level, clipLow: 0.2, clipHigh: 0.2, weights: [...weights] });
      // 700 additions in another order.
      expect(got.objective).toBeAllClose(want.objective, { atol: 1e-12, rtol: 1e-12 });
      expect(got.gradLogProbs).toBeAllClose(want.gradLogProbs, { atol: 1e-12, rtol: 1e-12 });
      expect(got.clipFraction).toBe(want.clipFraction);
      expect(got.gradLogProbs).toHaveLength(n);
    });
  });

  test.each(["token", "sequence"] as const)("rows together give the bits of each row alone (%s level)", (level) => {
    const { shape, current, old, mask, advantages, weights } = batch(8);
    const [B, T] = shape;
    const options = { level, clipLow: 0.2, clipHigh: 0.28, backend } as const;
    const whole = clippedObjective(current, old, advantages, { ...options, shape, mask, rowWeights: weights });
    for (let b = 0; b < B; ++b) {
      const cut = <A extends Float32Array | Float64Array | Uint8Array>(array: A): A =>
        array.slice(b * T, (b + 1) * T) as A;
      const alone = clippedObjective(cut(current), cut(old), advantages.slice(b, b + 1), {
        ...options,
        shape: [1, T],
        mask: cut(mask),
        rowWeights: weights.slice(b, b + 1),
      });
      expect(alone.gradLogProbs).toEqual(cut(whole.gradLogProbs));
      expect(alone.objective).toBe(whole.objectives[b]);
    }
  });

  test("a sequence does not depend on the order of its tokens, a group not on the order of its rows", () => {
    // Multiples of 2^-8: their sums are exact, so the bits must agree.
    const r = rng(9);
    const [B, T] = [4, 33];
    const dyadic = (n: number) => r.f32(n, -3, 0).map((x) => Math.round(x * 256) / 256);
    const current = dyadic(B * T);
    const old = dyadic(B * T);
    const advantages = Float32Array.of(1, -1, 0.5, -2);
    const shuffled = (array: Float32Array) => array.map((_, i) => array[Math.floor(i / T) * T + ((i * 10) % T)]!);
    const swapped = (array: Float32Array, width: number) =>
      array.map((_, i) => array[(B - 1 - Math.floor(i / width)) * width + (i % width)]!);
    const options = { clipLow: 0.1, clipHigh: 0.1, shape: [B, T], outputs, backend } as const;
    const plain = clippedObjective(current, old, advantages, { ...options, level: "sequence" });
    const other = clippedObjective(shuffled(current), shuffled(old), advantages, { ...options, level: "sequence" });
    expect(other).toEqual(plain);

    const group = clippedObjective(current, old, advantages, { ...options, level: "group", groups: "all" });
    const turned = clippedObjective(swapped(current, T), swapped(old, T), swapped(advantages, 1), {
      ...options,
      level: "group",
      groups: "all",
    });
    expect(turned.ratios).toEqual(group.ratios);
    expect(turned.losses).toEqual(swapped(group.losses, 1));
  });

  test("an advantage per token weighs each token by itself", () => {
    const { shape, current, old, mask, tokenAdvantages, weights, rows, definition, n } = batch(10);
    const clip = { clipLow: 0.2, clipHigh: 0.28, dualClip: 1.5 };
    const got = clippedObjective(current, old, tokenAdvantages, {
      level: "token",
      ...clip,
      shape,
      mask,
      rowWeights: weights,
      outputs,
      backend,
    });
    const want = clippedObjectiveOracle(
      { ...definition, advantage: (_, i) => tokenAdvantages[i]! },
      { level: "token", ...clip, weights: [...weights] },
    );
    expect(got.gradLogProbs).toBeAllClose(want.gradLogProbs, F32);
    expect(got.losses).toBeAllClose(
      scatter(
        rows,
        want.terms.map((term) => -term.value),
        n,
      ),
      F32,
    );
  });

  test("the default weights are the token mean, and the row mean at the other levels", () => {
    const { shape, current, old, mask, advantages } = batch(11, true);
    const kept = mask.reduce((sum, m) => sum + m, 0);
    const options = { clipLow: 0.2, clipHigh: 0.2, shape, mask, outputs, backend } as const;
    const token = clippedObjective(current, old, advantages, { level: "token", ...options });
    expect(token.objective).toBeAllClose([...token.losses].reduce((sum, x) => sum - x, 0) / kept, F64);
    const sequence = clippedObjective(current, old, advantages, { level: "sequence", ...options });
    expect(sequence.objective).toBeAllClose([...sequence.losses].reduce((sum, x) => sum - x, 0) / 6, F64);
  });

  test("one group of one row has the ratio of the row, one token a row that of the token", () => {
    const { current, old, advantages } = batch(12, false, [6, 1]);
    const options = { clipLow: 0.1, clipHigh: 0.1, shape: [6, 1], outputs, backend } as const;
    const token = clippedObjective(current, old, advantages, { level: "token", ...options });
    const sequence = clippedObjective(current, old, advantages, { level: "sequence", ...options });
    const group = clippedObjective(current, old, advantages, {
      level: "group",
      groups: [5, 4, 3, 2, 1, 0],
      ...options,
    });
    for (const other of [sequence, group]) {
      expect(other.ratios).toEqual(token.ratios);
      expect(other.losses).toEqual(token.losses);
      expect(other.gradLogProbs).toEqual(token.gradLogProbs);
    }
  });

  // Published runs clip sequence ratios at 3e-4: float32 log-probs, differences of that size, ratios good to 1e-6.
  test("sequence ratios at the scale of a clip of 3e-4 are accurate to 1e-6, and clip like the float64 definition", () => {
    const r = rng(13);
    const shape = [32, 400] as const;
    const old = r.f32(32 * 400, -8, 0);
    const current = old.map((x, i) => x + 0.02 * (r.uniform() - 0.5) + 1e-3 * (Math.floor(i / 400) / 16 - 1));
    const advantages = r.f32(32, -1, 1);
    const clip = { clipLow: 3e-4, clipHigh: 4e-4 };
    const got = clippedObjective(current, old, advantages, { level: "sequence", ...clip, shape, outputs, backend });
    const want = clippedObjectiveOracle(
      { current, old, rows: paddedRows(shape), advantage: (b) => advantages[b]! },
      { level: "sequence", ...clip, weights: Array<number>(32).fill(1 / 32) },
    );
    expect(got.ratios).toBeAllClose(
      want.units.map((unit) => unit.ratio),
      { rtol: 1e-6 },
    );
    expect([...got.clipped]).toEqual(want.terms.map((term) => Number(term.clipped)));
    expect(got.clipFraction).toBeGreaterThan(0.2);
    expect(got.clipFraction).toBeLessThan(0.8);
    expect(got.objective).toBeAllClose(want.objective, { rtol: 1e-9 });
    expect(got.gradLogProbs).toBeAllClose(want.gradLogProbs, { rtol: 1e-6 });
  });
});

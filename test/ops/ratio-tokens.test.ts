// Tokens go through registers, and most rows through a shorter text of the clip: neither is to be seen in a bit.
import { clippedObjective, type ClippedObjectiveOptions, tokenLoss } from "../../lib/ops/loss";
import { logRatio } from "../../lib/ops/ratio";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const outputs = ["losses", "ratios", "clipped", "gradLogProbs"] as const;
const CLIP = { level: "token", clipLow: 0.2, clipHigh: 0.28, outputs } as const;
const LENGTHS = [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100];
const OFFSETS = Int32Array.from([
  0,
  ...LENGTHS.map((_, b) => LENGTHS.slice(0, b + 1).reduce((sum, length) => sum + length, 0)),
]);
const N = OFFSETS.at(-1)!;

function batch(dtype: "f32" | "f64") {
  const r = rng(31);
  const old = r[dtype](N, -3, 0);
  const current = old.map((x, i) => x + (i % 29 === 0 ? 800 : i % 31 === 0 ? -800 : r.uniform() - 0.5)) as typeof old;
  const advantages = r[dtype](N, -2, 2);
  // Nothing, infinity and NaN, where ratios are ordinary, infinite and 0.
  for (let i = 0; i < N; i += 5) advantages[i] = [0, -0, Infinity, -Infinity, NaN][(i / 5) % 5]!;
  return { old, current, advantages, mask: r.mask(N, 0.7) };
}

eachBackend((backend) => {
  for (const dtype of ["f32", "f64"] as const) {
    const { current, old, advantages, mask } = batch(dtype);
    const rowWeights = Float64Array.from(LENGTHS, (_, b) => 1 / (b + 1));
    const run = (more: Partial<ClippedObjectiveOptions>) =>
      clippedObjective(current, old, advantages, {
        ...CLIP,
        offsets: OFFSETS,
        rowWeights,
        mask,
        advantagesPer: "token",
        backend,
        ...more,
      });

    test(`${dtype}: bounds that nothing reaches change no bit`, () => {
      const plain = run({});
      expect(run({ logClamp: 1e300 })).toEqual(plain);
      expect(run({ maxLogRatio: 1e300 })).toEqual(plain);
      expect(plain.ratios.some((x) => x === Infinity)).toBe(true);
    });

    test(`${dtype}: sums over long rows have the same bits by the short text of the clip and by the long one`, () => {
      const n = 1003;
      const r = rng(32);
      const logRatios = r[dtype](n, -0.5, 0.5);
      for (let i = 90; i < n; i += 90) logRatios[i] = -800; // a ratio of 0 is left to the long text
      const signs = r[dtype](n, -1, 1);
      for (const kept of [undefined, r.mask(n, 0.7)]) {
        const ofBound = (maxLogRatio?: number) =>
          tokenLoss({
            form: "clip",
            clipLow: 0.2,
            clipHigh: 0.28,
            maxLogRatio,
            shape: [1, n],
            mask: kept,
            logProbs: logRatios,
            oldLogProbs: logRatios.map(() => 0),
            advantages: signs,
            backend,
          });
        expect(Number.isFinite(ofBound().figures.loss)).toBe(true);
        expect(ofBound(1e300)).toEqual(ofBound());
      }
    });

    test(`${dtype}: a row alone, behind a shift of its arrays, has the bits it has among others`, () => {
      const together = run({});
      LENGTHS.forEach((length, b) => {
        const begin = OFFSETS[b]!;
        const row = [current, old, advantages].map((x) => {
          const moved = new (x.constructor as Float32ArrayConstructor)(length + 3);
          moved.set(x.subarray(begin, begin + length), 3);
          return moved.subarray(3);
        });
        const options = {
          ...CLIP,
          shape: [1, length] as const,
          rowWeights: rowWeights.slice(b, b + 1),
          advantagesPer: "token",
          backend,
        } as const;
        const alone = clippedObjective(row[0]!, row[1]!, row[2]!, {
          ...options,
          mask: mask.slice(begin, begin + length),
        });
        for (const name of ["ratios", "losses", "clipped", "gradLogProbs"] as const)
          expect(Array.from(alone[name])).toEqual(Array.from(together[name].subarray(begin, begin + length)));
        expect(alone.objective).toBe(together.objectives[b]);
      });
    });

    test(`${dtype}: what lies under the mask is not read`, () => {
      const poison = (x: typeof current) => x.map((value, i) => (mask[i] ? value : NaN));
      const poisoned = clippedObjective(poison(current), poison(old), poison(advantages), {
        ...CLIP,
        offsets: OFFSETS,
        rowWeights,
        mask,
        advantagesPer: "token",
        backend,
      });
      expect(poisoned).toEqual(run({}));
      const options = { level: "token", offsets: OFFSETS, mask, backend } as const;
      expect(logRatio(poison(current), poison(old), options)).toEqual(logRatio(current, old, options));
    });

    test(`${dtype}: a token's ratio is that of the log ratio, within 4 ulp, from the smallest to the largest`, () => {
      const exponents = Float64Array.from({ length: 1501 }, (_, i) => i - 750 + (i % 10) / 10);
      const x = dtype === "f32" ? Float32Array.from(exponents) : exponents;
      const { ratios } = logRatio(x, new (x.constructor as Float32ArrayConstructor)(x.length), {
        level: "token",
        shape: [1, x.length],
        backend,
      });
      const want = Float64Array.from(x, Math.exp);
      expect(ratios).toBeAllClose(dtype === "f32" ? Float32Array.from(want) : want, {
        rtol: dtype === "f32" ? 2 ** -23 : 4 * Number.EPSILON,
      });
    });
  }
});

test("a mask keeps what is not 0: 255 counts as 1, wherever the mask begins", () => {
  const n = 4 * 255 * 3 + 7;
  const zeros = new Float32Array(n);
  for (const begin of [0, 1, 4])
    for (const kept of [1, 2, 128, 255]) {
      const mask = new Uint8Array(n + begin).subarray(begin).map((_, i) => (i % 3 === 0 ? 0 : i % 5 === 0 ? kept : 1));
      const moved = new Uint8Array(n + begin).subarray(begin);
      moved.set(mask);
      const { objective } = clippedObjective(zeros, zeros, Float32Array.of(1), {
        ...CLIP,
        shape: [1, n],
        mask: moved,
        backend: "js",
      });
      expect(objective).toBeCloseTo(1, 12); // the kept tokens, each with one over their number
    }
});

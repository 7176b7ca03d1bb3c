import { modulateSpans, sequenceWeights, stepWeights } from "surprisal";
import { modulateSpansOracle, sequenceWeightsOracle, type Step, stepWeightsOracle } from "../oracle/modulate";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

// float64 throughout: the order of a few hundred additions, and exp() of another library.
const F64 = { atol: 1e-12, rtol: 1e-12 };
// One rounding to float32 at the end: half an ulp.
const F32 = { atol: 1e-7, rtol: 1e-7 };

const SCOPES = ["all", "mask", "segments"] as const;
const B = 5;
const T = 41; // no power of two, more than a warp

/** Random steps, some overlapping, none in row 3; sorted by row only. */
function randomSteps(seed: number): Step[] {
  const r = rng(seed);
  return [0, 0, 0, 1, 2, 2, 4, 4, 4, 4].map((row) => {
    const begin = Math.floor(r.uniform() * (T - 1));
    return { row, begin, finish: begin + 1 + Math.floor(r.uniform() * (T - begin)) };
  });
}

function batch(seed: number, float64: boolean) {
  const r = rng(seed);
  const advantages = float64 ? r.f64(B * T, -2, 2) : r.f32(B * T, -2, 2);
  const mask = r.mask(B * T, 0.6);
  const steps = randomSteps(seed);
  const spans = Int32Array.from(steps.flatMap(({ row, begin, finish }) => [row, begin, finish]));
  const rows = (array: ArrayLike<number>): number[][] =>
    Array.from({ length: B }, (_, b) => Array.from(array).slice(b * T, (b + 1) * T));
  return { advantages, mask, steps, spans, rows, scales: r.f64(steps.length, 0.3, 2), clarities: r.f64(steps.length) };
}

eachBackend((backend) => {
  describe("stepWeights", () => {
    test.each([
      [1, 1, 1e-8],
      [8, 3, 1e-8],
      [-1.5, -0.5, 1e-3],
      [0, 0, 0],
    ])("equals the definition for k %d, kFuture %d, epsilon %d", (k, kFuture, epsilon) => {
      const entropies = rng(11).f64(1500, 0, 4); // more steps than threads in a block
      const got = stepWeights(entropies, { k, kFuture, epsilon, backend });
      expect(got).toBeAllClose(stepWeightsOracle(entropies, k, kFuture, epsilon), F64);
    });

    test("the scale has mean 1 and falls with entropy", () => {
      const { scales } = stepWeights(rng(12).f32(777, 0, 3).sort(), { k: 2, backend });
      // epsilon 1e-8 over a mean of exp(-2 Hn), about 0.43.
      expect(scales.reduce((sum, x) => sum + x, 0) / scales.length).toBeCloseTo(1, 7);
      expect(scales.every((x, s) => s === 0 || x <= scales[s - 1]!)).toBe(true);
    });

    test("equal entropies, and a single step, give scale 1/(1 + epsilon) and clarity 1", () => {
      for (const entropies of [Float32Array.of(0.7), Float64Array.of(2, 2, 2, 2)]) {
        const { entropyNorms, scales, clarities } = stepWeights(entropies, { k: 3, backend });
        expect([...entropyNorms]).toEqual([...entropies].map(() => 0));
        expect([...scales]).toEqual([...entropies].map(() => 1 / (1 + 1e-8)));
        expect([...clarities]).toEqual([...entropies].map(() => 1));
      }
    });

    test("equal entropies and epsilon 0 are not 0 / 0", () => {
      const { entropyNorms, scales } = stepWeights(Float64Array.of(1, 1), { epsilon: 0, backend });
      expect([...entropyNorms, ...scales]).toEqual([0, 0, 1, 1]);
    });

    test("a permutation of the steps permutes the weights", () => {
      const entropies = rng(13).f64(100);
      const forward = stepWeights(entropies, { backend });
      const reversed = stepWeights(entropies.slice().reverse(), { backend });
      expect([...reversed.scales].reverse()).toBeAllClose(forward.scales, F64);
    });

    test("no steps give empty results", () => {
      expect(stepWeights(new Float32Array(0), { backend }).scales).toHaveLength(0);
    });

    test('nonFinite "propagate": NaN reaches every step, infinity every scale', () => {
      const nan = stepWeights(Float64Array.of(0.5, NaN, 1), { nonFinite: "propagate", backend });
      expect([...nan.entropyNorms, ...nan.scales, ...nan.clarities].every(Number.isNaN)).toBe(true);
      const infinite = stepWeights(Float64Array.of(0.5, Infinity, 1), { nonFinite: "propagate", backend });
      expect([...infinite.entropyNorms]).toEqual([0, NaN, 0]);
      expect([...infinite.scales]).toEqual([NaN, NaN, NaN]);
      expect([...infinite.clarities]).toEqual([1, NaN, 1]);
    });
  });

  describe("modulateSpans", () => {
    describe.each(SCOPES)("scope %s", (scope) => {
      test.each([
        ["float32", false, F32],
        ["float64", true, F64],
      ] as const)("equals the definition with overlapping spans (%s)", (_, float64, tolerance) => {
        const { advantages, mask, steps, spans, rows, scales, clarities } = batch(21, float64);
        const got = modulateSpans(advantages, spans, {
          shape: [B, T],
          scales,
          clarities,
          zeta: 0.3,
          scope,
          mask,
          backend,
        });
        const want = modulateSpansOracle(rows(advantages), rows(mask), steps, scales, clarities, 0.3, scope);
        expect(got.advantages).toBeAllClose(want.advantages.flat(), tolerance);
        expect(got.mean).toBeAllClose(want.mean, F64);
        expect(got.advantages).toBeInstanceOf(float64 ? Float64Array : Float32Array);
      });

      test("packed rows equal the same rows padded", () => {
        const { advantages, mask, spans, scales, clarities } = batch(22, false);
        const options = { scales, clarities, scope, mask, backend };
        const offsets = Int32Array.from({ length: B + 1 }, (_, b) => b * T);
        expect(modulateSpans(advantages, spans, { offsets, ...options })).toEqual(
          modulateSpans(advantages, spans, { shape: [B, T], ...options }),
        );
      });

      test("writing over the input gives the same bits", () => {
        const { advantages, mask, spans, scales, clarities } = batch(23, false);
        const options = { shape: [B, T] as const, scales, clarities, scope, mask, backend };
        const apart = modulateSpans(advantages, spans, options);
        const same = modulateSpans(advantages, spans, { ...options, out: { advantages } });
        expect(same.advantages).toBe(advantages);
        expect(same).toEqual(apart);
      });

      test("without spans nothing changes", () => {
        const { advantages, mask } = batch(24, false);
        const none = { scales: new Float64Array(0), clarities: new Float64Array(0) };
        const got = modulateSpans(advantages, new Int32Array(0), { shape: [B, T], ...none, scope, mask, backend });
        expect(got).toEqual({ advantages, mean: 0 });
      });
    });

    test("one step a row has no bonus, whatever zeta", () => {
      const got = modulateSpans(Float64Array.of(1, 1, 3, 3), Int32Array.of(0, 0, 2, 1, 0, 2), {
        shape: [2, 2],
        scales: Float64Array.of(1, 1),
        clarities: Float64Array.of(1, 1),
        zeta: 100,
        scope: "all",
        backend,
      });
      expect(got).toEqual({ advantages: Float64Array.of(-1, -1, 1, 1), mean: 2 });
    });

    test("a bonus comes from the next step of the same row", () => {
      const got = modulateSpans(new Float64Array(4), Int32Array.of(0, 0, 1, 0, 1, 2, 1, 0, 1), {
        shape: [2, 2],
        scales: Float64Array.of(1, 1, 1),
        clarities: Float64Array.of(7, 0.5, 9),
        zeta: 1,
        scope: "segments",
        backend,
      });
      expect(got.mean).toBeCloseTo(0.5 / 3, 15);
      expect(got.advantages).toBeAllClose([1 / 3, -0.5 / 3, -0.5 / 3, 0], F64);
    });

    test("values outside every span and under the mask reach nothing else", () => {
      const advantages = Float32Array.of(NaN, 1, 2, NaN, Infinity, 4);
      const got = modulateSpans(advantages, Int32Array.of(0, 1, 3, 1, 2, 3), {
        shape: [2, 3],
        scales: Float64Array.of(1, 1),
        clarities: Float64Array.of(1, 1),
        mask: Uint8Array.of(0, 1, 1, 0, 0, 1),
        backend,
      });
      expect(got).toEqual({ advantages: Float32Array.of(NaN, -1.5, -0.5, NaN, Infinity, 1.5), mean: 2.5 });
    });

    test("an empty batch gives empty results", () => {
      const none = { scales: new Float64Array(0), clarities: new Float64Array(0), mask: new Uint8Array(0) };
      for (const shape of [
        [0, 4],
        [4, 0],
      ] as const)
        expect(modulateSpans(new Float32Array(0), new Int32Array(0), { shape, ...none, backend })).toEqual({
          advantages: new Float32Array(0),
          mean: 0,
        });
    });
  });

  describe("sequenceWeights", () => {
    const labels = [7, 3, 7, 7, 3, 9, 3, 7, 5, 5]; // 9 is alone
    const rows = labels.length;
    const defaults = { form: "ratio", epsilon: 1e-6, beta: 1, zClip: 3, varianceFloor: 0, bounds: [0.5, 2] } as const;

    test.each([
      ["ratio", {}],
      ["zscore", { form: "zscore" }],
      ["zscore with slope and clip", { form: "zscore", beta: 0.5, zClip: 1, bounds: [0.1, 9] }],
      ["a variance floor", { form: "zscore", varianceFloor: 2, bounds: [0, 9] }],
      ["no upper bound", { epsilon: 1e-2, bounds: [0, Infinity] }],
      ["bounds the wrong way round", { bounds: [3, 0.25] }],
    ] as const)("equals the definition: %s", (_, changes) => {
      const options = { ...defaults, ...changes };
      for (const values of [rng(31).f32(rows * T, 0, 3), rng(32).f64(rows * T, 0, 3)]) {
        const mask = rng(33)
          .mask(rows * T, 0.4)
          .fill(0, 2 * T, 3 * T); // row 2 is empty
        const kept = labels.map((_, b) =>
          [...values].slice(b * T, (b + 1) * T).filter((_, t) => mask[b * T + t] === 1),
        );
        const got = sequenceWeights(values, { shape: [rows, T], groups: labels, mask, ...options, backend });
        expect(got).toBeAllClose(sequenceWeightsOracle(kept, labels, options), F64);
      }
    });

    test("weights stay within their bounds, by the sign of the row", () => {
      const positive = rng(34).mask(rows, 0.5);
      const { weights } = sequenceWeights(
        rng(35)
          .f32(rows * T, 0, 3)
          .map((x, i) => x * (1 + Math.floor(i / T))),
        { groups: "all", shape: [rows, T], bounds: [1, 1.2], negativeBounds: [0.8, 1], positive, backend },
      );
      weights.forEach((w, b) => {
        expect(w).toBeGreaterThanOrEqual(positive[b] ? 1 : 0.8);
        expect(w).toBeLessThanOrEqual(positive[b] ? 1.2 : 1);
      });
    });

    test("what lies under the mask cannot leak", () => {
      const values = rng(36).f32(rows * T, 0, 3);
      const mask = rng(37).mask(rows * T, 0.5);
      const options = { shape: [rows, T] as const, groups: labels, mask, backend };
      const poisoned = values.map((x, i) => (mask[i] ? x : NaN));
      expect(sequenceWeights(poisoned, options)).toEqual(sequenceWeights(values, options));
    });

    test("a permutation of the rows permutes the weights, bit for bit within a group's order", () => {
      const values = rng(38).f64(4 * T, 0, 3);
      const swapped = Float64Array.from([...values.subarray(2 * T), ...values.subarray(0, 2 * T)]);
      const ab = sequenceWeights(values, { shape: [4, T], groups: [0, 0, 1, 1], backend }).weights;
      const ba = sequenceWeights(swapped, { shape: [4, T], groups: [1, 1, 0, 0], backend }).weights;
      expect([...ba]).toEqual([...ab.subarray(2), ...ab.subarray(0, 2)]);
    });

    test("packed rows equal padded rows with a mask, offsets of groups their labels", () => {
      const values = Float32Array.of(1, 2, 3, 4, 5, 6);
      const padded = Float32Array.of(1, 2, NaN, 3, NaN, NaN, 4, 5, 6, NaN, NaN, NaN);
      const mask = Uint8Array.of(1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0);
      const packed = { offsets: Int32Array.of(0, 2, 3, 6, 6), groupOffsets: Int32Array.of(0, 2, 2, 4), backend };
      expect(sequenceWeights(values, packed)).toEqual(
        sequenceWeights(padded, { shape: [4, 3], mask, groups: [4, 4, -1, -1], backend }),
      );
    });

    test("log-probs are read as their negative", () => {
      const logProbs = rng(39).f32(rows * T, -3, 0);
      const options = { shape: [rows, T] as const, groups: labels, backend };
      expect(sequenceWeights(logProbs, { ...options, values: "logProbs" })).toBeAllClose(
        {
          ...sequenceWeights(
            logProbs.map((x) => -x),
            options,
          ),
        },
        { atol: 0, rtol: 0 },
      );
    });

    // Rows of one token: entropies 1 and 3, a row without tokens, a NaN; two singletons.
    const few = Float64Array.of(1, 3, 8, NaN, 2, 0);
    const hard = {
      shape: [6, 1] as const,
      mask: Uint8Array.of(1, 1, 0, 1, 1, 1),
      groups: [0, 0, 0, 0, 1, 2],
      epsilon: 0,
      bounds: [0, 100] as const,
    };

    test("rows without tokens, rows of NaN and singletons weigh 1 and change nobody", () => {
      const got = sequenceWeights(few, { ...hard, backend });
      expect([...got.weights]).toEqual([2, 2 / 3, 1, 1, 1, 1]);
      expect([...got.valid]).toEqual([1, 1, 0, 0, 1, 1]);
      expect([...got.groupMeanEntropies]).toEqual([2, 2, 2, 2, 2, 0]);
      expect([...got.lengths]).toEqual([1, 1, 0, 1, 1, 1]);
    });

    test.each([
      ["emptyRows zero", { emptyRows: "zero" }, [4 / 3, 4 / 9, 1, 1, 1, 1]],
      ["nonFinite group", { nonFinite: "group" }, [1, 1, 1, 1, 1, 1]],
      ["nonFinite propagate", { nonFinite: "propagate" }, [NaN, NaN, 1, NaN, 1, 1]],
      ["singleton own", { singleton: "own", zeroMean: "formula", epsilon: 1 }, [1, 0.5, 1, 1, 2 / 3, 0]],
      ["singleton standard, ratio", { singleton: "standard", zeroMean: "formula", epsilon: 1 }, [1, 0.5, 1, 1, 0, 0]],
      [
        "singleton standard, zscore",
        { singleton: "standard", form: "zscore", bounds: [-9, 9] },
        [1 + Math.SQRT1_2, 1 - Math.SQRT1_2, 1, 1, -1, 1],
      ],
    ] as const)("%s", (_, options, want) => {
      expect(sequenceWeights(few, { ...hard, ...options, backend }).weights).toBeAllClose(want, F64);
    });

    test("a group without a row that counts has no mean and weight 1", () => {
      const got = sequenceWeights(Float32Array.of(NaN, 5), {
        groups: "all",
        shape: [2, 1],
        mask: Uint8Array.of(1, 0),
        backend,
      });
      expect([...got.weights, ...got.groupMeanEntropies]).toEqual([1, 1, NaN, NaN]);
    });

    test("a group of zero entropy weighs 1 unless the formula is asked for", () => {
      const options = { groups: "all", shape: [3, 2], backend } as const;
      expect([...sequenceWeights(new Float32Array(6), options).weights]).toEqual([1, 1, 1]);
      expect([...sequenceWeights(new Float32Array(6), { ...options, zeroMean: "formula" }).weights]).toEqual([
        0.5, 0.5, 0.5,
      ]);
    });

    test("an empty batch gives empty results", () => {
      for (const groups of [{ groups: "all" }, { groups: [] }, { groupOffsets: Int32Array.of(0) }] as const)
        expect(sequenceWeights(new Float32Array(0), { shape: [0, 3], ...groups, backend }).weights).toHaveLength(0);
      expect([...sequenceWeights(new Float32Array(0), { groups: "all", shape: [2, 0], backend }).weights]).toEqual([
        1, 1,
      ]);
    });
  });
});

import { prefixSums, scoreNorms, SurprisalError, tailSums, vtrace } from "surprisal";
import { prefixSumsOracle, scoreNormOracle, type SumRow, tailSumsOracle } from "../oracle/scan-sums";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";
import { thrownBy } from "../support/thrown-by";

// Sums of a few dozen float64 terms in another order; float32 results: half an ulp and a little.
const F64 = { atol: 1e-13, rtol: 1e-12 };
const F32 = { atol: 1e-7, rtol: 1e-7 };

const [B, T] = [5, 37];
const shape = [B, T] as const;

function batch(seed: number) {
  const r = rng(seed);
  const values = r.f64(B * T, -1, 1);
  const mask = r.mask(B * T, 0.7);
  const rows = Array.from({ length: B }, (_, b): SumRow => ({
    values: [...values.subarray(b * T, (b + 1) * T)],
    kept: [...mask.subarray(b * T, (b + 1) * T)].map(Boolean),
  }));
  return { values, mask, rows };
}

eachBackend((backend) => {
  describe.each([0, 0.5, 0.97, 1])("gamma %p", (gamma) => {
    test.each(["skip", "steps"] as const)("tailSums equals its definition, %s", (maskMode) => {
      const { values, mask, rows } = batch(1);
      const got = tailSums(values, { shape, mask, maskMode, gamma, backend });
      const choices = { gamma, steps: maskMode === "steps", normalize: false, maskedWeight: 0 };
      expect(got).toBeAllClose(
        rows.flatMap((row) => tailSumsOracle(row, choices)),
        F64,
      );
    });

    test.each(["skip", "steps"] as const)("more columns of padding change no bit of tailSums, %s", (maskMode) => {
      const { values, mask } = batch(3);
      const widened = (width: number): number[][] => {
        const [wide, kept] = [new Float64Array(B * width), new Uint8Array(B * width)];
        for (let b = 0; b < B; ++b) {
          wide.set(values.subarray(b * T, (b + 1) * T), b * width);
          kept.set(mask.subarray(b * T, (b + 1) * T), b * width);
        }
        const got = Array.from(tailSums(wide, { shape: [B, width], mask: kept, maskMode, gamma, backend }));
        return Array.from({ length: B }, (_, b) => got.slice(b * width, b * width + T));
      };
      const narrow = widened(T);
      for (let width = T + 1; width <= T + 20; ++width) expect(widened(width)).toEqual(narrow);
    });

    test.each([0, 1e-4])("normalised tailSums are discounted means, masked weight %p", (maskedWeight) => {
      if (gamma === 0) return; // powers of 0: the quotient is defined by what cancels, see the next test
      const { values, mask, rows } = batch(2);
      const got = tailSums(values, { shape, mask, maskMode: "steps", gamma, normalize: true, maskedWeight, backend });
      const choices = { gamma, steps: true, normalize: true, maskedWeight };
      expect(got).toBeAllClose(
        rows.flatMap((row) => tailSumsOracle(row, choices)),
        F64,
      );
    });
  });

  test("a normalised tail does not underflow at the end of a long row", () => {
    const values = new Float64Array(5000).fill(3);
    const got = tailSums(values, { shape: [1, 5000], gamma: 0.5, normalize: true, backend });
    expect(got).toBeAllClose(values, F64);
    expect(tailSums(Float64Array.of(2, 7), { shape: [1, 2], gamma: 0, normalize: true, backend })).toEqual(
      Float64Array.of(2, 7),
    );
  });

  test.each([false, true])("prefixSums equals its definition, exclusive %p", (exclusive) => {
    const { values, mask, rows } = batch(3);
    const want = rows.flatMap((row) => prefixSumsOracle(row, exclusive));
    expect(prefixSums(values, { shape, mask, exclusive, backend })).toBeAllClose(want, F64);
    const single = prefixSums(Float32Array.from(values), { shape, mask, exclusive, backend });
    expect(single).toBeInstanceOf(Float32Array);
    expect(single).toBeAllClose(want, { atol: 3e-6, rtol: 1e-6 }); // the inputs were rounded: 37 times half an ulp
  });

  test("scoreNorms are the squared norms of onehot − p", () => {
    const r = rng(4);
    const rows = Array.from({ length: 6 }, () => {
      const raw = [...r.f64(9, 0.01, 1)];
      const total = raw.reduce((a, b) => a + b);
      return raw.map((x) => x / total);
    });
    const targets = [...r.i32(6, 0, 9)];
    const logProbs = Float64Array.from(rows, (p, i) => Math.log(p[targets[i]!]!));
    const squares = Float64Array.from(rows, (p) => p.reduce((sum, x) => sum + x * x, 0));
    const want = rows.map((p, i) => scoreNormOracle(p, targets[i]!));
    const plain = scoreNorms(logProbs, squares, { shape: [2, 3], backend });
    expect(plain.norms).toBeAllClose(want, F64);
    expect(plain.pathNorms[2]).toBeCloseTo(want[0]! + want[1]! + want[2]!, 12);
    const doubled = scoreNorms(logProbs, squares, { shape: [2, 3], weights: new Float64Array(6).fill(2), backend });
    expect(doubled.norms).toBeAllClose(
      want.map((x) => 4 * x),
      F64,
    );
  });

  test("with the reward form the weight leaves the values alone", () => {
    const r = rng(5);
    const rewards = r.f64(4, -1, 1);
    const values = r.f64(4, -1, 1);
    const weights = r.f64(4, 0, 2);
    const gamma = 0.9;
    const options = { shape: [1, 4], gamma, lambda: 0.8, backend } as const;
    const got = vtrace(rewards, values, weights, { ...options, delta: "reward" });
    const w = [...weights].map((x) => Math.min(x, 1));
    const delta = w.map((rho, t) => rho * rewards[t]! + gamma * (values[t + 1] ?? 0) - values[t]!);
    const want = delta.map((_, t) =>
      delta
        .slice(t)
        .reduce((sum, d, k) => sum + d * w.slice(t, t + k).reduce((product, c) => product * gamma * 0.8 * c, 1), 0),
    );
    expect(got.accumulated).toBeAllClose(want, F64);
    expect(got.targets).toBeAllClose(
      want.map((a, t) => a + values[t]!),
      F64,
    );
    const corrected = vtrace(rewards, values, weights, options);
    expect(corrected.accumulated).toBeAllClose(
      corrected.targets.map((x, t) => x - values[t]!),
      F64,
    );
  });

  test("what lies under the mask cannot leak", () => {
    const { values, mask } = batch(6);
    const poisoned = values.map((x, i) => (mask[i] ? x : NaN));
    for (const maskMode of ["skip", "steps"] as const) {
      const options = { shape, mask, maskMode, gamma: 0.9, normalize: true, maskedWeight: 0.1, backend } as const;
      expect(tailSums(poisoned, options)).toEqual(tailSums(values, options));
    }
    expect(prefixSums(poisoned, { shape, mask, backend })).toEqual(prefixSums(values, { shape, mask, backend }));
    expect(scoreNorms(poisoned, poisoned, { shape, mask, weights: poisoned, backend })).toEqual(
      scoreNorms(values, values, { shape, mask, weights: values, backend }),
    );
  });

  test("packed rows equal the same rows padded", () => {
    const { values } = batch(7);
    const lengths = [3, 0, 37, 12, 1];
    const offsets = Int32Array.from([0, ...lengths.map((_, b) => lengths.slice(0, b + 1).reduce((a, c) => a + c))]);
    const mask = Uint8Array.from(values, (_, i) => (i % T < lengths[Math.floor(i / T)]! ? 1 : 0));
    const packed = values.filter((_, i) => mask[i] !== 0);
    const compact = (array: Float32Array | Float64Array) => array.filter((_, i) => mask[i] !== 0);
    expect(tailSums(packed, { offsets, gamma: 0.9, backend })).toEqual(
      compact(tailSums(values, { shape, mask, gamma: 0.9, backend })),
    );
    expect(prefixSums(packed, { offsets, backend })).toEqual(compact(prefixSums(values, { shape, mask, backend })));
  });

  test("rows longer than what a device scans at once, few of them and beside many short ones", () => {
    const r = rng(8);
    for (const lengths of [
      [20_000, 0, 300, 8192],
      [...new Array<number>(300).fill(7), 8500],
    ]) {
      const offsets = new Int32Array(lengths.length + 1);
      lengths.forEach((length, b) => (offsets[b + 1] = offsets[b]! + length));
      const n = offsets[lengths.length]!;
      const values = r.f64(n, -1, 1);
      const mask = r.mask(n, 0.7);
      const sums = new Float64Array(n);
      const means = new Float64Array(n);
      const tails = new Float64Array(n);
      for (let b = 0; b < lengths.length; ++b) {
        let [sum, tail, weight, power] = [0, 0, 0, 1];
        for (let i = offsets[b]!; i < offsets[b + 1]!; ++i) if (mask[i]) sums[i] = sum += values[i]!;
        for (let i = offsets[b + 1]! - 1; i >= offsets[b]!; --i) {
          if (!mask[i]) continue;
          tails[i] = tail = values[i]! + 0.999 * tail;
          means[i] = tail / (weight = 1 + 0.999 * weight);
        }
        for (let i = offsets[b]!; i < offsets[b + 1]!; ++i) {
          if (!mask[i]) continue;
          tails[i]! *= power;
          power *= 0.999;
        }
      }
      // Some thousand terms in another order.
      const close = { atol: 1e-11, rtol: 1e-11 };
      expect(prefixSums(values, { offsets, mask, backend })).toBeAllClose(sums, close);
      expect(tailSums(values, { offsets, mask, gamma: 0.999, backend })).toBeAllClose(tails, close);
      expect(tailSums(values, { offsets, mask, gamma: 0.999, normalize: true, backend })).toBeAllClose(means, close);
    }
  });

  test("empty batches give empty results, NaN stays in its row", () => {
    expect(tailSums(new Float32Array(0), { shape: [0, 4], gamma: 1, backend })).toHaveLength(0);
    expect(prefixSums(new Float32Array(0), { shape: [4, 0], backend })).toHaveLength(0);
    const got = prefixSums(Float32Array.of(1, NaN, 1, 1, 1, 1), { shape: [2, 3], backend });
    expect([...got].map(Number.isNaN)).toEqual([false, true, true, false, false, false]);
    expect(tailSums(Float32Array.of(0.25, 0.5), { shape: [1, 2], gamma: 1, backend })).toBeAllClose([0.75, 0.5], F32);
  });

  describe("refuses, writing nothing:", () => {
    const values = Float32Array.of(1, 2, 3, 4);
    const rows = { shape: [2, 2], backend } as const;
    const good = { ...rows, gamma: 1 };
    const detached = new Float32Array(4);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    test.each([
      ["a wrong length", () => tailSums(values, { ...good, shape: [2, 3] }), "ERR_SURPRISAL_SHAPE"],
      ["a wrong element type", () => prefixSums(new Int32Array(4) as never, rows), "ERR_SURPRISAL_DTYPE"],
      ["a detached buffer", () => prefixSums(detached, rows), "ERR_SURPRISAL_BUFFER"],
      ["NaN as gamma", () => tailSums(values, { ...good, gamma: NaN }), "ERR_SURPRISAL_OPTION"],
      ["a gamma above 1", () => tailSums(values, { ...good, gamma: 1.1 }), "ERR_SURPRISAL_OPTION"],
      ["the mode cut", () => tailSums(values, { ...good, maskMode: "cut" as never }), "ERR_SURPRISAL_OPTION"],
      ["a negative weight", () => tailSums(values, { ...good, maskedWeight: -1 }), "ERR_SURPRISAL_OPTION"],
      ["an infinite weight", () => tailSums(values, { ...good, maskedWeight: Infinity }), "ERR_SURPRISAL_OPTION"],
      [
        "offsets that go down",
        () => prefixSums(values, { offsets: Int32Array.of(0, 3, 2, 4), backend }),
        "ERR_SURPRISAL_RANGE",
      ],
      ["an output over an input", () => tailSums(values, { ...good, out: { tails: values } }), "ERR_SURPRISAL_BUFFER"],
      [
        "an output over the input of a prefix",
        () => prefixSums(values, { ...rows, out: { sums: values } }),
        "ERR_SURPRISAL_BUFFER",
      ],
      [
        "an unknown delta",
        () => vtrace(values, values, values, { ...good, delta: "both" as never }),
        "ERR_SURPRISAL_OPTION",
      ],
      [
        "score weights of another length",
        () => scoreNorms(values, values, { ...rows, weights: new Float32Array(3) }),
        "ERR_SURPRISAL_SHAPE",
      ],
    ] as const)("%s", (_, call, code) => {
      const error = thrownBy(call);
      expect(error).toBeInstanceOf(SurprisalError);
      expect((error as SurprisalError).code).toBe(code);
      expect([...values]).toEqual([1, 2, 3, 4]);
    });
  });
});

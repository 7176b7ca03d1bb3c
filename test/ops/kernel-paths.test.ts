// Kernels take one of several ways by the shape of a call: few long rows are cut into strips, short ones share a block, logits that
// begin on 16 bytes are loaded otherwise than others. A row has the same bits on each.
import {
  affine,
  boundMismatch,
  clamp,
  discountedReturns,
  gae,
  gammaWeights,
  logprob,
  logprobBackward,
  logprobMerge,
  logprobPartial,
  measureMismatch,
  moments,
  prefixSums,
  quantileMask,
  shareWeights,
  tailSums,
  tokenLossFromLogits,
  topMask,
  vtrace,
  whiten,
} from "../../lib";
import type { FloatArray } from "../../lib";
import { type BackendName, eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const LONG = 20_001; // tokens: three strips of a scan, five pieces of a reduction
const MANY = 300; // rows: more than are cut into strips
const BEFORE = 81;

type Numbers = Float32ArrayConstructor | Float64ArrayConstructor;

/** The long row, alone or among others of one length. */
class Batch {
  readonly offsets: Int32Array;
  readonly row: number;
  readonly rows: number;
  private readonly begin: number;

  constructor(
    private readonly kind: Numbers,
    others?: number,
  ) {
    this.row = others === undefined ? 0 : BEFORE;
    this.rows = others === undefined ? 1 : MANY;
    this.offsets = new Int32Array(this.rows + 1);
    for (let b = 0; b < this.rows; ++b) this.offsets[b + 1] = this.offsets[b]! + (b === this.row ? LONG : others!);
    this.begin = this.offsets[this.row]!;
  }

  /** Numbers of tokens: those of the long row are always the same. */
  tokens(seed: number, low: number, high: number): FloatArray {
    const all = new this.kind(this.offsets[this.rows]!).fill((low + 2 * high) / 3);
    all.set(rng(seed).f64(LONG, low, high), this.begin);
    return all;
  }

  mask(): Uint8Array {
    const all = new Uint8Array(this.offsets[this.rows]!).fill(1);
    all.set(rng(9).mask(LONG, 0.7), this.begin);
    return all;
  }

  perRow(value: number): FloatArray {
    return this.kind.from(Array.from({ length: this.rows }, (_, b) => (b === this.row ? value : b)));
  }

  /** What a call gave the long row, of arrays of tokens and of rows. */
  own(results: object): Record<string, FloatArray> {
    const cut = (array: FloatArray): FloatArray => {
      if (array.length === this.offsets[this.rows]) return array.slice(this.begin, this.begin + LONG);
      const width = array.length / this.rows;
      return array.slice(this.row * width, (this.row + 1) * width);
    };
    return Object.fromEntries(Object.entries(results).map(([name, array]) => [name, cut(array as FloatArray)]));
  }
}

type Call = (batch: Batch, backend: BackendName) => object;

const layout = (batch: Batch, backend: BackendName) => ({ offsets: batch.offsets, mask: batch.mask(), backend });
const pair = (batch: Batch) => [batch.tokens(1, -3, 0), batch.tokens(2, -3, 0)] as const;
const mismatch = { statistic: "ratio", low: 0.5, high: 2 } as const;

const CALLS: Readonly<Record<string, Call>> = {
  gae: (batch, backend) =>
    gae(batch.tokens(1, -1, 1), batch.tokens(2, -1, 1), { gamma: 0.99, lambda: 0.95, ...layout(batch, backend) }),
  discountedReturns: (batch, backend) => ({
    returns: discountedReturns(batch.tokens(1, -1, 1), { gamma: 0.99, ...layout(batch, backend) }),
  }),
  vtrace: (batch, backend) =>
    vtrace(batch.tokens(1, -1, 1), batch.tokens(2, -1, 1), batch.tokens(3, 0, 2), {
      gamma: 0.99,
      ...layout(batch, backend),
    }),
  tailSums: (batch, backend) => ({
    tails: tailSums(batch.tokens(1, -1, 1), { gamma: 0.999, ...layout(batch, backend) }),
  }),
  prefixSums: (batch, backend) => ({ sums: prefixSums(batch.tokens(1, -1, 1), layout(batch, backend)) }),
  shareWeights: (batch, backend) => shareWeights(batch.tokens(1, -1, 1), { gain: 0.5, ...layout(batch, backend) }),
  moments: (batch, backend) => ({
    partials: moments(batch.tokens(1, -1, 1), { over: "row", ...layout(batch, backend) }).partials,
  }),
  whiten: (batch, backend) => ({
    whitened: whiten(batch.tokens(1, -1, 1), { over: "row", ...layout(batch, backend) }),
  }),
  affine: (batch, backend) => ({
    mapped: affine(batch.tokens(1, -1, 1), {
      center: batch.perRow(0.3),
      scale: batch.perRow(1.7),
      ...layout(batch, backend),
    }),
  }),
  clamp: (batch, backend) => clamp(batch.tokens(1, -1, 1), { low: -0.5, high: 0.5, ...layout(batch, backend) }),
  gammaWeights: (batch, backend) =>
    gammaWeights(batch.tokens(1, -1e-3, 1e-3), batch.perRow(1), {
      factors: batch.tokens(2, 0.999, 1.001),
      ...layout(batch, backend),
    }),
  measureMismatch: (batch, backend) => {
    const {
      moments: all,
      bounded,
      ...rest
    } = measureMismatch(...pair(batch), { ...mismatch, ...layout(batch, backend) });
    return { moments: all.partials, bounded: bounded.partials, ...rest };
  },
  boundMismatch: (batch, backend) => boundMismatch(...pair(batch), { ...mismatch, ...layout(batch, backend) }),
  quantileMask: (batch, backend) =>
    quantileMask(batch.tokens(1, -1, 1), { q: 0.37, over: "row", ...layout(batch, backend) }),
  topMask: (batch, backend) => topMask(batch.tokens(1, -1, 1), { share: 0.2, over: "row", ...layout(batch, backend) }),
};

/** Nine slices and a bit: alone, such a row is shared by blocks. And one of a single warp. */
const VOCABULARIES = [36_001, 1_003];

/** The row `times` over, each `stride` numbers behind the one before, which moves it against the 16 bytes of a load. */
function logitsOf(V: number, stride: number, times: number, dtype: "float32" | "bfloat16") {
  const numbers = rng(3).normal(V, 0, 2);
  const bits = new Uint16Array(numbers.buffer).filter((_, i) => i % 2 === 1); // the upper half of a float32
  const kept = dtype === "float32" ? numbers : bits;
  const all = dtype === "float32" ? new Float32Array(times * stride) : new Uint16Array(times * stride);
  for (let n = 0; n < times; ++n) all.set(kept, n * stride);
  return all;
}

eachBackend(
  (backend) => {
    describe.each([
      ["float32", Float32Array],
      ["float64", Float64Array],
    ] as const)("%s", (_, kind) => {
      test.each(Object.keys(CALLS))("%s: a row alone, among short ones and among longer ones", (name) => {
        const call = CALLS[name]!;
        const bits = (others?: number) => {
          const batch = new Batch(kind, others);
          return batch.own(call(batch, backend));
        };
        const alone = bits();
        expect(bits(7)).toEqual(alone);
        expect(bits(601)).toEqual(alone);
      });
    });

    describe.each(VOCABULARIES)("%i logits", (V) => {
      test.each(["float32", "bfloat16"] as const)("%s: however a row lies, and however many there are", (dtype) => {
        const run = (stride: number, rows: number) => {
          const logits = logitsOf(V, stride, rows, dtype);
          const targets = new Int32Array(rows).fill(17);
          const given = { shape: [rows, V], stride, dtype, backend } as const;
          const forward = logprob(logits, targets, given);
          const merged = logprobMerge([logprobPartial(logits, targets, { ...given, vocabStart: 0, vocabSize: V })], {
            rows,
            backend,
          });
          const gradLogProbs = new Float32Array(rows).fill(-0.3);
          const gradEntropies = new Float32Array(rows).fill(0.01);
          const backward = logprobBackward(logits, targets, forward, { ...given, gradLogProbs, gradEntropies });
          const fused = tokenLossFromLogits(logits, targets, {
            form: "linear",
            advantages: new Float32Array(rows).fill(0.3),
            advantagesPer: "token",
            shape: [1, rows],
            vocab: V,
            stride,
            dtype,
            backend,
          });
          const row = (array: ArrayLike<number>, n: number, width: number, count = width) =>
            Array.from(array).slice(n * width, n * width + count);
          return Array.from({ length: rows }, (_, n) => ({
            ...Object.fromEntries(Object.entries(forward).map(([key, all]) => [key, row(all, n, 1)])),
            merged: Object.values(merged).map((all) => row(all as Float32Array, n, 1)),
            backward: row(backward, n, stride, V),
            fused: row(fused.gradLogits, n, stride, V),
          }));
        };
        const [alone] = run(V + 7, 1);
        for (const rows of [run(V, 5), run(Math.ceil(V / 8) * 8, 2)])
          for (const one of rows) expect(one).toEqual(alone);
      });
    });
  },
  ["cuda", "emulated"],
);

import { logprob, logprobBackward, logprobMerge, logprobPartial } from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import { type Batch, batchOf, hardBatch, LOGIT_DTYPES, numbersOf, ROWS, someTargets } from "./rows";

// The whole and the merge round to float32 from sums that differ by the order of additions, and on a GPU by float32 terms.
const SAME = { rtol: 5e-7, atol: 1e-13 };
const MAPS = [{}, { temperature: 0.7, scale: 1.9 }, { softcap: 9, temperature: 1.5 }];

interface Shard {
  readonly logits: Float32Array | Uint16Array;
  readonly start: number;
  readonly width: number;
}

function split({ logits, N, V }: Batch, bounds: readonly number[]): Shard[] {
  const edges = [0, ...bounds, V];
  return edges.slice(1).map((end, s) => {
    const start = edges[s]!;
    const width = end - start;
    const part = logits.slice(0, N * width);
    for (let n = 0; n < N; ++n) part.set(logits.subarray(n * V + start, n * V + end), n * width);
    return { logits: part, start, width };
  });
}

eachBackend((backend) => {
  describe.each(LOGIT_DTYPES)("%s logits", (dtype) => {
    test.each([[[400]], [[100, 101]], [[1, 1024]], [[0, 500]]])(
      "shards cut at %j are as good as the whole",
      (bounds) => {
        const V = 1025;
        for (const map of MAPS) {
          const batch = hardBatch(V, dtype);
          const targets = someTargets(batch);
          const { N } = batch;
          const options = { dtype, backend, ...map };
          const shards = split(batch, bounds);
          const states = shards.map((s) =>
            logprobPartial(s.logits, targets, { ...options, shape: [N, s.width], vocabStart: s.start, vocabSize: V }),
          );
          const merged = logprobMerge(states, { rows: N, backend, ...map });
          const whole = logprob(batch.logits, targets, { ...options, shape: [N, V] });
          expect(merged).toBeAllClose(whole, SAME);

          const r = rng(3);
          const given = { gradLogProbs: r.normal(N), gradEntropies: r.normal(N) };
          const gradient = numbersOf(
            logprobBackward(batch.logits, targets, whole, { ...options, shape: [N, V], ...given }),
            dtype,
          );
          for (const s of shards) {
            const part = logprobBackward(s.logits, targets, merged, {
              ...options,
              shape: [N, s.width],
              vocabStart: s.start,
              vocabSize: V,
              ...given,
            });
            const want = Float32Array.from({ length: N * s.width }, (_, i) => {
              return gradient[Math.floor(i / s.width) * V + s.start + (i % s.width)]!;
            });
            // Each of the two is within 2e-6 of the row's largest (and, of a half type, rounded either way).
            const unit = { float32: 0, float16: 2 ** -10, bfloat16: 2 ** -7 }[dtype];
            const got = numbersOf(part, dtype);
            for (let n = 0; n < N; n++) {
              const row = want.subarray(n * s.width, (n + 1) * s.width);
              const largest = gradient.subarray(n * V, (n + 1) * V).reduce((m, g) => Math.max(m, Math.abs(g)), 0);
              const atol = 4e-6 * largest + (dtype === "float16" ? 2 ** -24 : 1e-38);
              expect(got.subarray(n * s.width, (n + 1) * s.width)).toBeAllClose(row, { rtol: unit, atol });
            }
          }
        }
      },
    );
  });

  test("a single shard is the whole, and several targets find their shards", () => {
    const batch = hardBatch(33, "float32");
    const K = 4;
    const targets = rng(7).i32(batch.N * K, 0, 33);
    const whole = logprob(batch.logits, targets, { shape: [batch.N, 33], backend });
    const one = logprobPartial(batch.logits, targets, { shape: [batch.N, 33], backend });
    expect(one).toHaveLength(batch.N * (4 + K));
    expect(logprobMerge([one], { rows: batch.N, backend })).toEqual(whole);
    const parts = split(batch, [10, 20]).map((s) =>
      logprobPartial(s.logits, targets, { shape: [batch.N, s.width], vocabStart: s.start, vocabSize: 33, backend }),
    );
    expect(logprobMerge(parts, { rows: batch.N, backend })).toBeAllClose(whole, SAME);
  });

  test("states are the sums of the header: the maximum, the others without it, and ∞ for absent targets", () => {
    const logits = Float32Array.of(0, 1, -Infinity, 3);
    const state = logprobPartial(logits, [1, 9], { shape: [2, 2], vocabStart: 0, vocabSize: 10, backend });
    const e = Math.exp(-1);
    expect(state.subarray(0, 5)).toBeAllClose([1, e, -e, e * e, 1], { rtol: 2e-7 });
    expect(Array.from(state.subarray(5))).toEqual([3, 0, 0, 0, Infinity]);
  });

  test("NaN, +∞ and rows without a finite logit come out as on the whole, wherever they lie", () => {
    const rows = [
      Float64Array.of(1, 2, NaN, 3),
      Float64Array.of(Infinity, 1, 2, 3),
      Float64Array.of(-Infinity, -Infinity, -Infinity, -Infinity),
      Float64Array.of(-Infinity, -Infinity, 1, 2),
      Float64Array.of(2, 1, -Infinity, -Infinity),
      Float64Array.of(1, 2, 3, Infinity),
    ];
    const batch = batchOf(rows, "float32");
    const targets = [0, 0, 0, 0, 0, 3];
    const whole = logprob(batch.logits, targets, { shape: [6, 4], backend });
    const states = split(batch, [2]).map((s) =>
      logprobPartial(s.logits, targets, { shape: [6, 2], vocabStart: s.start, vocabSize: 4, backend }),
    );
    expect(logprobMerge(states, { rows: 6, backend })).toBeAllClose(whole, SAME);
  });

  test("rows that a shard left out are left out of the merge", () => {
    const batch = batchOf([ROWS["random"]!(8, 1), ROWS["random"]!(8, 2), ROWS["random"]!(8, 3)], "float32");
    const targets = [3, -100, 6];
    const poisoned = { ...batch, logits: batch.logits.map((x, i) => (i >= 8 && i < 16 ? NaN : x)) as Float32Array };
    const states = split(poisoned, [5]).map((s) =>
      logprobPartial(s.logits, targets, {
        shape: [3, s.width],
        vocabStart: s.start,
        vocabSize: 8,
        ignoreIndex: -100,
        backend,
      }),
    );
    const merged = logprobMerge(states, { rows: 3, backend });
    expect(merged).toBeAllClose(logprob(poisoned.logits, targets, { shape: [3, 8], ignoreIndex: -100, backend }), SAME);
    expect(merged.entropies[1]).toBe(0);
  });

  test("the order of the shards is the order of the columns only for equal maxima: values do not depend on it", () => {
    const batch = hardBatch(65, "float32");
    const states = split(batch, [20, 40]).map((s) =>
      logprobPartial(s.logits, null, { shape: [batch.N, s.width], vocabStart: s.start, vocabSize: 65, backend }),
    );
    const merged = logprobMerge(states, { rows: batch.N, backend });
    expect(logprobMerge([...states].reverse(), { rows: batch.N, backend })).toBeAllClose(merged, SAME);
  });
});

import { logprob, type LogprobResult } from "surprisal";
import { rowOracle } from "../../oracle/logprob";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";
import {
  batchOf,
  type Batch,
  hardBatch,
  LARGE_VOCAB,
  LOGIT_DTYPES,
  type LogitDType,
  ROWS,
  SMALL_VOCABS,
  someTargets,
} from "./rows";

// The promise of the header. float32 results round to 6e-8; the rest is the argument and the terms of float32 kernels.
const PROMISE = { rtol: 1e-6, atol: 1e-12 };
const MAPS = [
  {},
  { temperature: 0.7 },
  { temperature: 2.5, scale: 0.0625 },
  { softcap: 30 },
  { softcap: 7, scale: 1.3, temperature: 0.6 },
];

/** What the definition gives for a batch, rows with NaN or +∞ or nothing finite by the rule. */
function expected(
  { rows }: Batch,
  targets: Int32Array,
  map: (typeof MAPS)[number],
): Record<keyof LogprobResult, number[]> {
  const K = rows.length === 0 ? 0 : targets.length / rows.length;
  const oracles = rows.map((x) => rowOracle(x, map));
  return {
    logProbs: oracles.flatMap((o, n) => Array.from(targets.subarray(n * K, (n + 1) * K), (id) => o.logprob(id))),
    entropies: oracles.map((o) => o.entropy),
    logSumExps: oracles.map((o) => o.logSumExp),
    maxLogits: rows.map((x) => x.reduce((a, b) => Math.max(a, b), -Infinity)),
    log1pSums: oracles.map((o) => o.log1pSum),
    meanGaps: oracles.map((o) => o.meanGap),
    sumSquares: oracles.map((o) => o.sumSquare),
  };
}

/** A real vocabulary's batch and what is expected of it, made once for all backends. */
const large = new Map<string, { batch: Batch; targets: Int32Array; want: ReturnType<typeof expected> }>();
function largeCase(dtype: LogitDType) {
  let made = large.get(dtype);
  if (!made) {
    const kinds = ["random", "nearly flat", "peaked, H of 1e-5", "peaked, H of 1e-9"];
    const batch = batchOf(
      kinds.map((kind, i) => ROWS[kind]!(LARGE_VOCAB, i)),
      dtype,
    );
    const targets = someTargets(batch);
    large.set(dtype, (made = { batch, targets, want: expected(batch, targets, { temperature: 0.9 }) }));
  }
  return made;
}

eachBackend((backend) => {
  describe.each(LOGIT_DTYPES)("%s logits", (dtype) => {
    test.each(MAPS)("every kind of row keeps the promised precision with %j", (map) => {
      for (const V of SMALL_VOCABS) {
        const batch = hardBatch(V, dtype);
        const targets = someTargets(batch);
        const got = logprob(batch.logits, targets, { shape: [batch.N, V], dtype, backend, ...map });
        expect(got).toBeAllClose(expected(batch, targets, map), PROMISE);
      }
    });

    test("a real vocabulary keeps it too", () => {
      const { batch, targets, want } = largeCase(dtype);
      const got = logprob(batch.logits, targets, { shape: [batch.N, LARGE_VOCAB], dtype, temperature: 0.9, backend });
      expect(got).toBeAllClose(want, PROMISE);
    });
  });

  test("a competitor at any distance costs no digits of the entropy", () => {
    // Odd gaps up to where H is 1e-9; the offset makes float32 differences of logits round.
    const rows = Array.from({ length: 400 }, (_, i) => {
      const gap = 0.1 + i * 0.0617;
      return Float64Array.of(-12345.678 - gap, -12345.678, -Infinity);
    });
    const batch = batchOf(rows, "float32");
    const targets = new Int32Array(batch.N);
    const got = logprob(batch.logits, targets, { shape: [batch.N, 3], temperature: 0.37, backend });
    expect(got).toBeAllClose(expected(batch, targets, { temperature: 0.37 }), PROMISE);
  });

  test("K targets a row give what K calls with one give", () => {
    const batch = hardBatch(33, "float32");
    const K = 7;
    const targets = rng(5).i32(batch.N * K, 0, 33);
    const all = logprob(batch.logits, targets, { shape: [batch.N, 33], backend });
    for (let k = 0; k < K; ++k) {
      const one = logprob(
        batch.logits,
        targets.filter((_, i) => i % K === k),
        { shape: [batch.N, 33], backend },
      );
      expect(one.logProbs).toEqual(all.logProbs.filter((_, i) => i % K === k));
      expect(one.entropies).toEqual(all.entropies);
    }
  });

  test("the log-probs of all ids sum to probability 1, and to the entropy and the sum of squares", () => {
    const V = 77;
    const batch = batchOf([ROWS["random"]!(V, 1), ROWS["peaked, H of 1e-2"]!(V, 2)], "float32");
    const ids = Int32Array.from({ length: 2 * V }, (_, i) => i % V);
    const { logProbs, entropies, sumSquares } = logprob(batch.logits, ids, { shape: [2, V], backend });
    for (let n = 0; n < 2; ++n) {
      const lp = Array.from(logProbs.subarray(n * V, (n + 1) * V));
      // 77 float32 log-probs of size 10: each p is off by up to 5e-7 of itself.
      expect(lp.reduce((s, x) => s + Math.exp(x), 0)).toBeCloseTo(1, 6);
      expect(lp.reduce((s, x) => s - Math.exp(x) * x, 0)).toBeCloseTo(entropies[n]!, 5);
      expect(lp.reduce((s, x) => s + Math.exp(2 * x), 0)).toBeCloseTo(sumSquares[n]!, 6);
    }
  });

  test("flat rows are exact: entropy ln V, nothing between the maximum and the mean", () => {
    const got = logprob(new Float32Array(3 * 32).fill(1e4), [0, 5, 31], { shape: [3, 32], backend });
    const ln = Math.fround(Math.log(32));
    expect(got.entropies).toEqual(Float32Array.of(ln, ln, ln));
    expect(got.logProbs).toEqual(Float32Array.of(-ln, -ln, -ln));
    expect(got.meanGaps).toEqual(new Float32Array(3));
  });

  test("a masked target has log-prob −∞ while the entropy of its row stays finite", () => {
    const logits = Float32Array.of(1, -Infinity, 2, 0);
    for (const softcap of [undefined, 5]) {
      const options = { shape: [1, 4] as const, backend, ...(softcap !== undefined && { softcap }) };
      const got = logprob(logits, [1], options);
      expect(got.logProbs[0]).toBe(-Infinity);
      expect(got.entropies).toBeAllClose(
        [rowOracle(Float64Array.from(logits), { softcap: softcap! }).entropy],
        PROMISE,
      );
    }
  });

  test.each(LOGIT_DTYPES)(
    "%s rows without a finite logit, with NaN or with +∞ are NaN and leave their neighbours alone",
    (dtype) => {
      const fine = Float64Array.of(1, 2, 3, 4);
      const rows = [
        fine,
        Float64Array.of(-Infinity, -Infinity, -Infinity, -Infinity),
        Float64Array.of(1, NaN, 2, 3),
        Float64Array.of(1, 2, Infinity, 3),
        Float64Array.of(-Infinity, NaN, Infinity, 0),
        fine,
      ];
      const batch = batchOf(rows, dtype);
      for (const softcap of [undefined, 5]) {
        const got = logprob(batch.logits, [3, 3, 3, 3, 3, 3], {
          shape: [6, 4],
          dtype,
          backend,
          ...(softcap && { softcap }),
        });
        const [first, ...rest] = Array.from(got.entropies);
        expect(first).toBeGreaterThan(0);
        expect(rest).toEqual([NaN, NaN, NaN, NaN, first]);
        for (const name of ["logProbs", "logSumExps", "log1pSums", "meanGaps", "sumSquares"] as const) {
          expect(Array.from(got[name].subarray(1, 5))).toEqual([NaN, NaN, NaN, NaN]);
          expect(got[name][5]).toBe(got[name][0]);
        }
        expect(Array.from(got.maxLogits)).toEqual([4, -Infinity, NaN, NaN, NaN, 4]);
      }
    },
  );

  test("columns of the padding are not read", () => {
    const batch = hardBatch(33, "float32");
    const padded = new Float32Array(batch.N * 40).fill(NaN);
    for (let n = 0; n < batch.N; ++n) padded.set(batch.logits.subarray(n * 33, (n + 1) * 33), n * 40);
    const targets = someTargets(batch);
    const options = { shape: [batch.N, 33] as const, temperature: 1.1, backend };
    expect(logprob(padded, targets, { ...options, stride: 40 })).toEqual(logprob(batch.logits, targets, options));
  });

  test("rows that mask or ignoreIndex leave out are not read and give zeros", () => {
    const batch = hardBatch(33, "float32");
    const targets = someTargets(batch);
    const options = { shape: [batch.N, 33] as const, backend };
    const whole = logprob(batch.logits, targets, options);
    const mask = Uint8Array.from(batch.rows, (_, n) => (n % 3 === 0 ? 0 : 1));
    const poisoned = batch.logits.map((x, i) => (mask[Math.floor(i / 33)] ? x : NaN)) as Float32Array;
    const unread = targets.map((id, n) => (mask[n] ? id : -100));
    const byKeep = logprob(poisoned, unread, { ...options, mask });
    for (const [name, values] of Object.entries(whole) as [keyof LogprobResult, Float32Array][])
      expect(byKeep[name]).toEqual(values.map((x, n) => (mask[n] ? x : 0)));
    expect(logprob(poisoned, unread, { ...options, ignoreIndex: -100 })).toEqual(byKeep);
  });

  test("ignoreIndex may be a real id, as a padding token is", () => {
    const logits = rng(3).normal(3 * 5);
    const got = logprob(logits, [0, 4, 0], { shape: [3, 5], ignoreIndex: 0, backend });
    expect(got.entropies[0]).toBe(0);
    expect(got.entropies[1]).toBeGreaterThan(0);
    expect(got.logProbs[2]).toBe(0);
  });

  test("without targets there are entropies and no log-probs", () => {
    const logits = rng(3).normal(3 * 5);
    const got = logprob(logits, null, { shape: [3, 5], backend });
    expect(got.logProbs).toHaveLength(0);
    expect(got.entropies).toEqual(logprob(logits, [0, 1, 2], { shape: [3, 5], backend }).entropies);
  });

  test("no rows give empty results, and a row of no ids has no finite logit", () => {
    expect(logprob(new Float32Array(0), [], { shape: [0, 5], backend }).entropies).toHaveLength(0);
    const got = logprob(new Float32Array(0), null, { shape: [2, 0], backend });
    expect([got.entropies[0], got.maxLogits[1]]).toEqual([NaN, -Infinity]);
  });

  test("the same call twice gives the same bits", () => {
    const batch = batchOf([ROWS["random"]!(5000, 1), ROWS["wide"]!(5000, 2)], "bfloat16");
    const call = () => logprob(batch.logits, [17, 4999], { shape: [2, 5000], dtype: "bfloat16", backend });
    expect(call()).toEqual(call());
  });

  test("adding a constant to a row changes neither its log-probs nor its entropy", () => {
    const logits = Float32Array.from({ length: 64 }, (_, j) => (j * 37) % 64); // integers: the sum with 4096 is exact
    const options = { shape: [1, 64] as const, temperature: 8, backend };
    const shifted = logprob(
      logits.map((x) => x + 4096),
      [9],
      options,
    );
    const plain = logprob(logits, [9], options);
    expect(shifted.logProbs).toEqual(plain.logProbs);
    expect(shifted.entropies).toEqual(plain.entropies);
  });

  test("more rows than the largest grid of blocks", () => {
    const N = 9000;
    const logits = rng(8).normal(N * 2);
    const got = logprob(logits, new Int32Array(N), { shape: [N, 2], backend });
    const want = Array.from({ length: N }, (_, n) => -Math.log1p(Math.exp(logits[2 * n + 1]! - logits[2 * n]!)));
    expect(got.logProbs).toBeAllClose(want, PROMISE);
  });
});

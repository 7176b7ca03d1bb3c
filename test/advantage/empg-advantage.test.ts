import { empgAdvantage, type EmpgAdvantageOptions, type EmpgBatch, SurprisalError } from "../../lib";
import { type SpanRules, spansOracle } from "../oracle/delim";
import { modulateSpansOracle, stepWeightsOracle } from "../oracle/modulate";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

// Advantages are rounded to float32 once; weights are float64, the order of a hundred additions and another exp().
const F32 = { atol: 2e-7, rtol: 2e-7 };
const F64 = { atol: 1e-12, rtol: 1e-12 };

const [START, END, HEAD] = [1, 2, 3];
const [B, T] = [6, 45];

/** Rollouts over ten ids, so that delimiters are frequent, nested and unclosed; the last tokens of each row are padding. */
function rollouts(seed: number) {
  const r = rng(seed);
  const tokens = r.i32(B * T, 0, 10);
  const mask = Uint8Array.from(tokens, (_, i) => (i % T < T - 1 - Math.floor(i / T) ? 1 : 0));
  return { shape: [B, T] as const, tokens, mask, entropies: r.f32(B * T, 0, 3), advantages: r.normal(B * T) };
}

function rowsOf(array: ArrayLike<number>): number[][] {
  return Array.from({ length: B }, (_, b) => Array.from(array).slice(b * T, (b + 1) * T));
}

eachBackend((backend) => {
  const delimiters = { start: [START], end: [END] };
  const literal = { overlapping: true, includeEnd: "first" } as const;
  const open = { startsOpen: true, unterminated: "keep" } as const;

  describe.each(["mask", "segments", "all"] as const)("scope %s", (scope) => {
    test.each([
      ["defaults", {}, {}],
      ["literal matching", { ...literal, head: [HEAD, 4] }, { ...literal, head: [[HEAD, 4]] }],
      ["rows that start open, ends kept", open, open],
      ["other constants", { k: 3, kFuture: -0.5, zeta: 2, epsilon: 1e-3, includeEnd: "none" }, { includeEnd: "none" }],
    ] as readonly [string, Partial<EmpgAdvantageOptions>, Partial<SpanRules>][])(
      "equals the definition: %s",
      (_, options, rules) => {
        const batch = rollouts(1);
        const { k = 1, kFuture = 1, zeta = 0.1, epsilon = 1e-8 } = options;
        const got = empgAdvantage(batch, { ...delimiters, ...options, scope, backend });

        // A row ends behind its last kept token.
        const valid = rowsOf(batch.tokens).map((row, b) => row.slice(0, T - 1 - b));
        const found = spansOracle(valid, { start: [[START]], end: [[END]], ...rules });
        const entropyRows = rowsOf(batch.entropies);
        const H = found.map(({ row, begin, finish }) => {
          const inside = entropyRows[row]!.slice(begin, finish);
          return inside.reduce((sum, h) => sum + h, 0) / inside.length;
        });
        const weights = stepWeightsOracle(H, k, kFuture, epsilon);
        const want = modulateSpansOracle(
          rowsOf(batch.advantages),
          rowsOf(batch.mask),
          found,
          weights.scales,
          weights.clarities,
          zeta,
          scope,
        );

        expect(found.length).toBeGreaterThan(5);
        expect([...got.spans]).toEqual(found.flatMap(({ row, begin, finish }) => [row, begin, finish]));
        expect(got.stepEntropies).toBeAllClose(H, F64);
        expect(got.entropyNorms).toBeAllClose(weights.entropyNorms, F64);
        expect(got.scales).toBeAllClose(weights.scales, F64);
        expect(got.clarities).toBeAllClose(weights.clarities, F64);
        expect(got.advantages).toBeAllClose(want.advantages.flat(), F32);
        expect(got.mean).toBeAllClose(want.mean, F64);
      },
    );
  });

  test('preset "empg-literal" is the pseudocode: overlapping, first end token, everywhere, NaN through', () => {
    const batch = rollouts(2);
    const spelled = { overlapping: true, includeEnd: "first", scope: "all", nonFinite: "propagate" } as const;
    expect(empgAdvantage(batch, { preset: "empg-literal", ...delimiters, backend })).toEqual(
      empgAdvantage(batch, { ...spelled, ...delimiters, backend }),
    );
    const poisoned = { ...batch, entropies: batch.entropies.map(() => NaN) };
    expect(empgAdvantage(poisoned, { preset: "empg-literal", ...delimiters, backend }).mean).toBeNaN();
  });

  test("a permutation of the rows permutes the advantages", () => {
    const batch = rollouts(3);
    const flip = <A extends Int32Array | Uint8Array | Float32Array>(array: A): A => {
      const out = array.slice() as A;
      for (let b = 0; b < B; ++b) out.set(array.subarray(b * T, (b + 1) * T), (B - 1 - b) * T);
      return out;
    };
    const there = empgAdvantage(batch, { ...delimiters, backend });
    const { tokens, mask, entropies, advantages } = batch;
    const flipped = {
      ...batch,
      tokens: flip(tokens),
      mask: flip(mask),
      entropies: flip(entropies),
      advantages: flip(advantages),
    };
    const back = empgAdvantage(flipped, { ...delimiters, backend });
    expect(flip(back.advantages)).toBeAllClose(there.advantages, F32);
  });

  test("equal entropies only remove the mean and add the bonus", () => {
    const batch = { ...rollouts(4), entropies: new Float32Array(B * T).fill(0.8) };
    const { scales, clarities } = empgAdvantage(batch, { ...delimiters, backend });
    expect(new Set(scales)).toEqual(new Set([1 / (1 + 1e-8)]));
    expect(new Set(clarities)).toEqual(new Set([1]));
  });

  test("one step a row has no bonus", () => {
    const batch = {
      shape: [2, 3] as const,
      tokens: [START, 7, END, START, 8, END],
      mask: new Uint8Array(6).fill(1),
      entropies: Float64Array.of(9, 1, 1, 9, 1, 1),
      rowAdvantages: Float64Array.of(2, -1),
    };
    const once = empgAdvantage(batch, { ...delimiters, zeta: 50, epsilon: 0, backend });
    expect([...once.advantages]).toEqual([1.5, 1.5, 1.5, -1.5, -1.5, -1.5]);
  });

  test("entropies outside every step and advantages of others are not read", () => {
    const batch = rollouts(5);
    const { spans, advantages } = empgAdvantage(batch, { ...delimiters, backend });
    const inside = new Set<number>();
    for (let s = 0; s < spans.length; s += 3)
      for (let t = spans[s + 1]!; t < spans[s + 2]!; ++t) inside.add(spans[s]! * T + t);
    const poisoned = {
      ...batch,
      entropies: batch.entropies.map((h, i) => (inside.has(i) ? h : NaN)),
      advantages: batch.advantages.map((a, i) => (batch.mask[i] ? a : NaN)),
    };
    const again = empgAdvantage(poisoned, { ...delimiters, backend });
    expect(again.advantages.filter((_, i) => batch.mask[i])).toEqual(advantages.filter((_, i) => batch.mask[i]));
  });

  test("row advantages are spread over the kept tokens", () => {
    const batch = rollouts(6);
    const rowAdvantages = rng(7).normal(B);
    const { advantages: _, ...rest } = batch;
    const tokens = Float32Array.from(batch.mask, (flag, i) => (flag ? rowAdvantages[Math.floor(i / T)]! : 0));
    expect(empgAdvantage({ ...rest, rowAdvantages }, { ...delimiters, backend })).toEqual(
      empgAdvantage({ ...rest, advantages: tokens }, { ...delimiters, backend }),
    );
  });

  test("packed rows equal padded rows", () => {
    const batch = rollouts(8);
    const kept = <A extends Int32Array | Float32Array>(array: A): A => array.filter((_, i) => batch.mask[i]) as A;
    const offsets = new Int32Array(B + 1);
    for (let b = 0; b < B; ++b) offsets[b + 1] = offsets[b]! + T - 1 - b;
    const packed = {
      offsets,
      tokens: kept(batch.tokens),
      entropies: kept(batch.entropies),
      advantages: kept(batch.advantages),
      mask: new Uint8Array(offsets[B]!).fill(1),
    };
    const padded = empgAdvantage(batch, { ...delimiters, backend });
    expect(empgAdvantage(packed, { ...delimiters, backend })).toEqual({
      ...padded,
      advantages: kept(padded.advantages),
    });
  });

  test("an unterminated step that is kept ends where the mask ends, or where lengths say", () => {
    const batch = {
      shape: [1, 5] as const,
      tokens: [START, 7, 7, 0, 0],
      mask: Uint8Array.of(1, 1, 1, 0, 0),
      entropies: new Float32Array(5),
      advantages: new Float32Array(5),
    };
    const spans = (lengths?: readonly number[]): number[] =>
      Array.from(
        empgAdvantage({ ...batch, ...(lengths && { lengths }) }, { ...delimiters, unterminated: "keep", backend })
          .spans,
      );
    expect(spans()).toEqual([0, 1, 3]);
    expect(spans([5])).toEqual([0, 1, 5]);
  });

  test("without steps the advantages come back unchanged", () => {
    const batch = { ...rollouts(9), tokens: new Int32Array(B * T) };
    const got = empgAdvantage(batch, { ...delimiters, scope: "all", backend });
    expect(got.advantages).toEqual(batch.advantages);
    expect([got.mean, got.spans.length, got.scales.length]).toEqual([0, 0, 0]);
  });

  test("results may be written over the advantages", () => {
    const batch = rollouts(10);
    const apart = empgAdvantage(batch, { ...delimiters, backend }).advantages;
    const { advantages } = batch;
    expect(empgAdvantage(batch, { ...delimiters, out: { advantages }, backend }).advantages).toBe(advantages);
    expect(advantages).toEqual(apart);
  });

  test.each([[[0, 4]], [[3, 0]]] as const)("an empty batch %j gives empty results", (shape) => {
    const none = new Float32Array(0);
    const batch = { shape, tokens: new Int32Array(0), mask: new Uint8Array(0), entropies: none, advantages: none };
    expect(empgAdvantage(batch, { ...delimiters, backend }).advantages).toHaveLength(0);
  });

  test("a NaN entropy names its step", () => {
    const batch = {
      shape: [1, 6] as const,
      tokens: [START, 7, END, START, 7, END],
      mask: new Uint8Array(6).fill(1),
      entropies: Float32Array.of(1, 1, 1, 1, NaN, 1),
      advantages: new Float32Array(6),
    };
    expect(() => empgAdvantage(batch, { ...delimiters, backend })).toThrow(
      "entropy of step 1 (row 0, tokens 4 to 5) is NaN",
    );
  });

  describe("refuses, writing nothing:", () => {
    const batch: EmpgBatch = {
      shape: [1, 3],
      tokens: [START, 7, END],
      mask: new Uint8Array(3).fill(1),
      entropies: Float32Array.of(1, 1, 1),
      advantages: Float32Array.of(1, 1, 1),
    };
    const out = { advantages: new Float32Array(3) };

    test.each([
      ["too few tokens", { tokens: [1] }, {}, "SHAPE", "tokens has 1"],
      ["entropies of integers", { entropies: new Int32Array(3) }, {}, "DTYPE", "entropies"],
      ["too few advantages", { advantages: new Float32Array(2) }, {}, "SHAPE", "advantages has 2"],
      ["two kinds of advantages", { rowAdvantages: new Float32Array(1) }, {}, "OPTION", "rowAdvantages"],
      ["no advantages", { advantages: undefined }, {}, "OPTION", "rowAdvantages"],
      ["a length outside its row", { lengths: [4] }, {}, "RANGE", "lengths[0]"],
      ["an infinite entropy", { entropies: Float32Array.of(1, Infinity, 1) }, {}, "VALUE", "step 0"],
      ["scope mask without a mask", { mask: undefined }, { scope: "mask" }, "OPTION", "mask"],
      ["no start", {}, { start: undefined }, "DTYPE", "start"],
      ["an empty end", {}, { end: [] }, "SHAPE", "end"],
      ["an empty head", {}, { head: [] }, "SHAPE", "head"],
      ["NaN as k", {}, { k: NaN }, "OPTION", "empgAdvantage: k is NaN"],
      ["an infinite zeta", {}, { zeta: Infinity }, "OPTION", "empgAdvantage: zeta"],
      ["an unknown nonFinite", {}, { nonFinite: "skip" }, "OPTION", '"propagate"'],
      ["an unknown preset", {}, { preset: "verl" }, "OPTION", '"empg-literal"'],
      ["an output of another type", {}, { out: { advantages: new Float64Array(3) } }, "DTYPE", "out.advantages"],
      ["an output over the entropies", {}, { out: { advantages: batch.entropies } }, "BUFFER", "overlaps entropies"],
    ] as const)("%s", (_, changes, options, code, text) => {
      const call = () =>
        empgAdvantage({ ...batch, ...changes } as never, { ...delimiters, out, backend, ...options } as never);
      expect(call).toThrow(SurprisalError);
      expect(call).toThrow(
        expect.objectContaining({ code: `ERR_SURPRISAL_${code}`, message: expect.stringContaining(text) as string }),
      );
      expect([...out.advantages]).toEqual([0, 0, 0]);
    });
  });
});

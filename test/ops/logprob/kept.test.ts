// Log-probs over kept ids, against their definition and finite differences.
import { keptLogprob, keptLogprobBackward, logprob } from "../../../lib";
import { toHalfBits } from "../../../lib/core/half";
import { eachBackend } from "../../support/each-backend";

const V = 5;
const logits = Float32Array.of(1, -2, 0.5, 3, -1, 0, 0.25, 2, -3, 1, 4, 0, -1, 0.5, 2);
const targets = Int32Array.of(2, 0, 4);
// Row 0 keeps its target as well, row 1 does not list it, row 2 lists nothing.
const kept = { ids: Int32Array.of(3, 2, 0, 2, 4), offsets: Int32Array.of(0, 3, 5, 5) };
const sets = [[3, 2, 0], [2, 4, 0], [4]];
const layout = { shape: [3, V] as const, temperature: 0.7 };

const scores = (x: ArrayLike<number>, b: number): number[] => Array.from({ length: V }, (_, j) => x[b * V + j]! / 0.7);
const logSum = (z: number[]): number => Math.log(z.reduce((sum, y) => sum + Math.exp(y), 0));

function definition(x: ArrayLike<number>, b: number): { logProb: number; entropy: number } {
  const z = scores(x, b);
  const all = z.map((y) => y - logSum(z));
  return {
    logProb: z[targets[b]!]! - logSum(sets[b]!.map((j) => z[j]!)),
    entropy: -all.reduce((sum, l) => sum + Math.exp(l) * l, 0),
  };
}

eachBackend((backend) => {
  const options = { ...layout, backend };

  test(`${backend}: the softmax is over the kept ids and the target, the entropy over all`, () => {
    const { logProbs, entropies } = keptLogprob(logits, targets, kept, options);
    for (let b = 0; b < 3; ++b) {
      expect(logProbs[b]).toBeCloseTo(definition(logits, b).logProb, 5);
      expect(entropies![b]).toBeCloseTo(definition(logits, b).entropy, 5);
    }
    expect(logProbs[2]).toBe(0);
  });

  test(`${backend}: all ids kept is the ordinary log-prob`, () => {
    const all = {
      ids: Int32Array.from({ length: 3 * V }, (_, i) => i % V),
      offsets: Int32Array.of(0, V, 2 * V, 3 * V),
    };
    const whole = logprob(logits, targets, options);
    const { logProbs } = keptLogprob(logits, targets, all, { ...options, entropies: false });
    logProbs.forEach((l, b) => expect(l).toBeCloseTo(whole.logProbs[b]!, 6));
  });

  test(`${backend}: the gradient is that of the definition`, () => {
    const [gradLogProbs, gradEntropies] = [Float32Array.of(1, -2, 3), Float32Array.of(0.5, 0, -1)];
    const { state } = keptLogprob(logits, targets, kept, options);
    const gradient = keptLogprobBackward(logits, targets, kept, state, { ...options, gradLogProbs, gradEntropies });
    const value = (i: number, h: number): number => {
      const x = Float64Array.from(logits);
      x[i]! += h;
      const b = Math.floor(i / V);
      const { logProb, entropy } = definition(x, b);
      return gradLogProbs[b]! * logProb + gradEntropies[b]! * entropy;
    };
    gradient.forEach((g, i) => expect(Math.abs(g - (value(i, 1e-5) - value(i, -1e-5)) / 2e-5)).toBeLessThan(2e-5));
    const alone = keptLogprobBackward(logits, targets, kept, state, { ...options, gradLogProbs });
    expect([alone[1], alone[4], ...alone.subarray(2 * V)]).toEqual([0, 0, 0, 0, 0, 0, 0]);
  });

  test(`${backend}: what lies under the mask is not read, and a row alone is what it was among others`, () => {
    const mask = Uint8Array.of(1, 0, 1);
    const grads = { gradLogProbs: Float32Array.of(1, -2, 3), gradEntropies: Float32Array.of(0.5, 2, -1) };
    const all = { ...options, mask };
    const run = (x: Float32Array, of: Int32Array, ids: Int32Array, by: typeof grads) => {
      const given = { ids, offsets: kept.offsets };
      const { logProbs, entropies, state } = keptLogprob(x, of, given, all);
      return { logProbs, entropies, gradient: keptLogprobBackward(x, of, given, state, { ...all, ...by }) };
    };
    const want = run(logits, targets, kept.ids, grads);
    const poison = (values: Float32Array, width: number) =>
      values.map((x, i) => (mask[Math.floor(i / width)] === 0 ? NaN : x));
    const poisoned = { gradLogProbs: poison(grads.gradLogProbs, 1), gradEntropies: poison(grads.gradEntropies, 1) };
    const got = run(poison(logits, V), Int32Array.of(2, -9, 4), Int32Array.of(3, 2, 0, 99, 99), poisoned);
    expect(got).toEqual(want);
    expect([want.logProbs[1], want.entropies![1], ...want.gradient.subarray(V, 2 * V)]).toEqual(new Array(7).fill(0));

    for (const b of [0, 2]) {
      const alone = {
        ids: kept.ids.slice(kept.offsets[b], kept.offsets[b + 1]),
        offsets: Int32Array.of(0, sets[b]!.length),
      };
      if (b === 2) alone.offsets[1] = 0; // its target alone, which is not listed
      const x = logits.slice(b * V, (b + 1) * V);
      const where = { ...options, shape: [1, V] as const };
      const { logProbs, entropies, state } = keptLogprob(x, targets.slice(b, b + 1), alone, where);
      const gradient = keptLogprobBackward(x, targets.slice(b, b + 1), alone, state, {
        ...where,
        gradLogProbs: grads.gradLogProbs.slice(b, b + 1),
        gradEntropies: grads.gradEntropies.slice(b, b + 1),
      });
      expect([logProbs[0], entropies![0]]).toEqual([want.logProbs[b], want.entropies![b]]);
      expect(gradient).toEqual(want.gradient.slice(b * V, (b + 1) * V));
    }
  });

  test(`${backend}: neither the order of the kept ids nor that of the rows matters`, () => {
    const { logProbs } = keptLogprob(logits, targets, kept, options);
    const turned = { ...kept, ids: Int32Array.of(2, 0, 3, 4, 2) };
    keptLogprob(logits, targets, turned, options).logProbs.forEach((l, b) => expect(l).toBeCloseTo(logProbs[b]!, 6));
    const order = [2, 0, 1];
    const rows = Float32Array.from(order.flatMap((b) => [...logits.subarray(b * V, (b + 1) * V)]));
    const moved = { ids: Int32Array.of(3, 2, 0, 2, 4), offsets: Int32Array.of(0, 0, 3, 5) };
    const other = keptLogprob(
      rows,
      targets.map((_, k) => targets[order[k]!]!),
      moved,
      options,
    );
    expect([...other.logProbs]).toEqual(order.map((b) => logProbs[b]));
  });

  test(`${backend}: a softcap comes first, and the gradient may lie where the logits do`, () => {
    const softcap = 2;
    const capped = logits.map((x) => 2 * Math.tanh(x / 2));
    const [gradLogProbs, gradEntropies] = [Float32Array.of(1, -2, 3), Float32Array.of(0.5, 0, -1)];
    const { logProbs, state } = keptLogprob(logits, targets, kept, { ...options, softcap });
    for (let b = 0; b < 3; ++b) expect(logProbs[b]).toBeCloseTo(definition(capped, b).logProb, 5);
    const by = { ...options, softcap, gradLogProbs, gradEntropies };
    const gradient = keptLogprobBackward(logits, targets, kept, state, by);
    const plain = keptLogprob(capped, targets, kept, options).state;
    const inside = keptLogprobBackward(capped, targets, kept, plain, { ...options, gradLogProbs, gradEntropies });
    gradient.forEach((g, i) => expect(g).toBeCloseTo(inside[i]! * (1 - Math.tanh(logits[i]! / 2) ** 2), 5));
    const place = logits.slice();
    expect(keptLogprobBackward(place, targets, kept, state, { ...by, out: place })).toBe(place);
    expect(place).toEqual(gradient);
  });

  test(`${backend}: half types give what their numbers give`, () => {
    const dtype = "bfloat16";
    const halves = toHalfBits(logits, dtype); // exact: few bits each
    const given = { ...options, dtype } as const;
    const { logProbs, state } = keptLogprob(halves, targets, kept, given);
    expect(Array.from(logProbs)).toEqual(Array.from(keptLogprob(logits, targets, kept, options).logProbs));
    const gradient = keptLogprobBackward(halves, targets, kept, state, {
      ...given,
      gradLogProbs: Float32Array.of(1, 1, 1),
    });
    expect(gradient).toBeInstanceOf(Uint16Array);
    expect([gradient[1], gradient[4]]).toEqual([0, 0]);
  });
});

test("ids and offsets that do not fit are refused, by name", () => {
  const call = (changes: object) => () => keptLogprob(logits, targets, { ...kept, ...changes }, layout);
  expect(call({ offsets: Int32Array.of(0, 3, 5) })).toThrow(/kept\.offsets/);
  expect(call({ offsets: Int32Array.of(0, 3, 4, 4) })).toThrow(/kept\.offsets/);
  expect(call({ ids: Int32Array.of(3, 2, 9, 2, 4) })).toThrow(/kept\.ids\[2\] is 9/);
  expect(call({ ids: Int32Array.of(3, 2, 3, 2, 4) })).toThrow(
    /kept\.ids\[2\] is 3, expected 0\.\.4 \(vocab\), once a row/,
  );
  expect(() => keptLogprob(logits, Int32Array.of(0, 7, 0), kept, layout)).toThrow(/targets\[1\] is 7/);
  expect(() => keptLogprob(logits, new Int32Array(6), kept, layout)).toThrow(/targets/);
  const { state } = keptLogprob(logits, targets, kept, { ...layout, entropies: false });
  expect(() => keptLogprobBackward(logits, targets, kept, state, layout)).toThrow(
    /gradLogProbs, gradEntropies or both/,
  );
  const gradEntropies = new Float32Array(3);
  expect(() => keptLogprobBackward(logits, targets, kept, state, { ...layout, gradEntropies })).toThrow(
    /entropies: false/,
  );
});

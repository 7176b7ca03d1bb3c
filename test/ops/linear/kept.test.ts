// A linear head over kept ids, against its definition in float64 and differences of its value.
import {
  keptLinearLogprob,
  keptLinearLogprobBackward,
  linearLogprob,
  linearLogprobBackward,
  toDevice,
} from "../../../lib";
import { fromHalfBits, toHalfBits } from "../../../lib/core/half";
import { eachBackend } from "../../support/each-backend";
import { eachDeviceBackend } from "../../support/each-device";
import { rng } from "../../support/rng";

const [N, D, V, padded] = [4, 6, 9, 11];
const random = rng(31);
const hidden = random.f64(N * D, -1, 1);
const weight = random.f64(padded * D, -1, 1);
const bias = random.f64(padded, -1, 1);
const targets = Int32Array.of(2, 0, -100, 8);
const mask = Uint8Array.of(1, 1, 0, 1);
// The target listed, not listed, under the mask, and alone.
const kept = { ids: Int32Array.of(5, 2, 7, 3, 8, 99, 99), offsets: Int32Array.of(0, 3, 5, 7, 7) };
const sets = [[5, 2, 7], [3, 8, 0], [], [8]];
const layout = { shape: [N, D] as const, vocab: V, temperature: 0.7, mask };
const grads = { gradLogProbs: Float64Array.of(1, -2, NaN, 3), gradEntropies: Float64Array.of(0.5, -1, NaN, 2) };

type Head = { hidden: ArrayLike<number>; weight: ArrayLike<number>; bias: ArrayLike<number> };

function definition(head: Head, b: number): { logProb: number; entropy: number } {
  const z = Array.from({ length: V }, (_, j) => {
    let x = head.bias[j]!;
    for (let d = 0; d < D; ++d) x += head.hidden[b * D + d]! * head.weight[j * D + d]!;
    return x / 0.7;
  });
  const logSum = (of: number[]): number => Math.log(of.reduce((sum, y) => sum + Math.exp(y), 0));
  const all = z.map((y) => y - logSum(z));
  return {
    logProb: z[targets[b]!]! - logSum(sets[b]!.map((j) => z[j]!)),
    entropy: -all.reduce((sum, l) => sum + Math.exp(l) * l, 0),
  };
}

const value = (head: Head): number =>
  [0, 1, 3].reduce((sum, b) => {
    const { logProb, entropy } = definition(head, b);
    return sum + grads.gradLogProbs[b]! * logProb + grads.gradEntropies[b]! * entropy;
  }, 0);

/** d value / d head[name][i], by differences. */
function slopes(name: keyof Head): number[] {
  const all = { hidden, weight, bias };
  return Array.from(all[name], (_, i) => {
    const at = (h: number): number => value({ ...all, [name]: all[name].map((x, k) => (k === i ? x + h : x)) });
    return (at(1e-5) - at(-1e-5)) / 2e-5;
  });
}

const near = (got: ArrayLike<number>, want: readonly number[], within: number): void => {
  expect(got).toHaveLength(want.length);
  want.forEach((w, i) => expect(Math.abs(got[i]! - w)).toBeLessThan(within));
};

eachBackend((backend) => {
  const options = { ...layout, bias, backend };

  test(`${backend}: values and gradients are those of the definition`, () => {
    const { logProbs, entropies, state } = keptLinearLogprob(hidden, weight, targets, kept, options);
    for (const b of [0, 1, 3]) {
      expect(logProbs[b]).toBeCloseTo(definition({ hidden, weight, bias }, b).logProb, 10);
      expect(entropies![b]).toBeCloseTo(definition({ hidden, weight, bias }, b).entropy, 10);
    }
    expect([logProbs[2], entropies![2]]).toEqual([0, 0]);
    const got = keptLinearLogprobBackward(hidden, weight, targets, state, { ...options, ...grads });
    near(got.gradHidden!, slopes("hidden"), 1e-7);
    near(got.gradWeight!, slopes("weight"), 1e-7);
    near(got.gradBias!, slopes("bias"), 1e-7);
    const twice = keptLinearLogprobBackward(hidden, weight, targets, state, {
      ...options,
      ...grads,
      accumulate: true,
      out: { gradWeight: got.gradWeight!.slice(), gradBias: got.gradBias!.slice() },
    });
    near(
      twice.gradWeight!,
      slopes("weight").map((g) => 2 * g),
      1e-6,
    );
  });

  test(`${backend}: without entropies, ids that were not kept have no gradient`, () => {
    const { entropies, state } = keptLinearLogprob(hidden, weight, targets, kept, { ...options, entropies: false });
    expect(entropies).toBeNull();
    const { gradHidden, gradWeight, gradBias } = keptLinearLogprobBackward(hidden, weight, targets, state, {
      ...options,
      gradLogProbs: grads.gradLogProbs,
      gradients: ["weight"],
    });
    expect([gradHidden, gradBias]).toEqual([null, null]);
    for (const id of [1, 4, 6, 9, 10])
      expect(Array.from(gradWeight!.subarray(id * D, (id + 1) * D))).toEqual(new Array(D).fill(0));
    const { gradEntropies } = grads;
    const call = { ...options, gradEntropies };
    expect(() => keptLinearLogprobBackward(hidden, weight, targets, state, call)).toThrow(/entropies: false/);
  });

  test(`${backend}: what lies under the mask is not read, rows in another order and apart are what they were together`, () => {
    const run = (rows: readonly number[], poison = false) => {
      const of = (array: Float64Array, width = 1): Float64Array =>
        Float64Array.from(
          rows.flatMap((b) =>
            Array.from(array.subarray(b * width, (b + 1) * width), (x) => (poison && mask[b] === 0 ? NaN : x)),
          ),
        );
      const lists = rows.map((b) => kept.ids.subarray(kept.offsets[b], kept.offsets[b + 1]));
      const given = {
        ids: Int32Array.from(lists.flatMap((list) => [...list])),
        offsets: Int32Array.from([
          0,
          ...lists.map((_, k) => lists.slice(0, k + 1).flatMap((list) => [...list]).length),
        ]),
      };
      const call = { ...options, shape: [rows.length, D] as const, mask: Uint8Array.from(rows, (b) => mask[b]!) };
      const [x, own] = [of(hidden, D), Int32Array.from(rows, (b) => targets[b]!)];
      const { logProbs, entropies, state } = keptLinearLogprob(x, weight, own, given, call);
      const by = { gradLogProbs: of(grads.gradLogProbs), gradEntropies: of(grads.gradEntropies) };
      const gradients = keptLinearLogprobBackward(x, weight, own, state, { ...call, ...by });
      return { logProbs: Array.from(logProbs), entropies: Array.from(entropies!), gradients };
    };
    const all = run([0, 1, 2, 3]);
    expect(run([0, 1, 2, 3], true)).toEqual(all);
    const rowOf = ({ gradients }: typeof all, k: number) =>
      Array.from(gradients.gradHidden!.subarray(k * D, (k + 1) * D));
    const parts = [
      [3, 1],
      [2, 0],
    ].map((rows) => {
      const part = run(rows);
      rows.forEach((b, k) => {
        expect([part.logProbs[k], part.entropies[k]]).toEqual([all.logProbs[b], all.entropies[b]]);
        expect(rowOf(part, k)).toEqual(rowOf(all, b));
      });
      return part.gradients;
    });
    for (const name of ["gradWeight", "gradBias"] as const) {
      const sums = Array.from(all.gradients[name]!, (_, i) => parts[0]![name]![i]! + parts[1]![name]![i]!);
      near(all.gradients[name]!, sums, 1e-12);
    }
  });

  test(`${backend}: all ids kept is the whole head, in every type`, () => {
    const all = {
      ids: Int32Array.from({ length: N * V }, (_, i) => i % V),
      offsets: Int32Array.from({ length: N + 1 }, (_, b) => b * V),
    };
    for (const dtype of ["float32", "bfloat16"] as const) {
      const cast = (x: Float64Array) => (dtype === "float32" ? Float32Array.from(x) : toHalfBits(x, dtype));
      const [x, w] = [cast(hidden), cast(weight)];
      const given = { ...layout, dtype, backend };
      const { logProbs, state } = keptLinearLogprob(x, w, targets, all, given);
      const whole = linearLogprob(
        x,
        w,
        targets.map((id) => Math.max(id, 0)),
        given,
      );
      near(logProbs, Array.from(whole.logProbs), 1e-5);
      const by = { ...given, gradLogProbs: Float32Array.of(1, -2, 0, 3) };
      const got = keptLinearLogprobBackward(x, w, targets, state, by);
      const want = linearLogprobBackward(
        x,
        w,
        targets.map((id) => Math.max(id, 0)),
        whole,
        by,
      );
      near(got.gradWeight!, Array.from(want.gradWeight!), 1e-4);
      const numbers = (view: ArrayLike<number>) =>
        dtype === "float32" ? Array.from(view) : Array.from(fromHalfBits(view, dtype));
      near(numbers(got.gradHidden as Float32Array), numbers(want.gradHidden as Float32Array), 0.05);
    }
  });
});

eachDeviceBackend((backend) => {
  test("arrays on a device are refused, with the reason and what to do", () => {
    const there = toDevice(hidden, { backend, shape: [N, D] }) as never;
    const refusal = /hidden is a DeviceArray.*gathered in host memory.*array\.read\(\).*keptLogprob/s;
    expect(() => keptLinearLogprob(there, weight, targets, kept, { vocab: V })).toThrow(refusal);
  });
});

test("lists that do not fit are refused, by name", () => {
  const call = (changes: object) => () => keptLinearLogprob(hidden, weight, targets, { ...kept, ...changes }, layout);
  expect(call({ offsets: Int32Array.of(0, 3, 5, 7) })).toThrow(/keptLinearLogprob: kept\.offsets/);
  expect(call({ ids: Int32Array.of(3, 2, 9, 3, 8, 99, 99) })).toThrow(/kept\.ids\[2\] is 9/);
  expect(() => keptLinearLogprob(hidden, weight, null as never, kept, layout)).toThrow(/targets/);
});

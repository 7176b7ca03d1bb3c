import { logprob, logprobBackward, type Float16View } from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { toHalfBits } from "../../../lib/core/half";
import { rng } from "../../support/rng";

// Node has Float16Array from version 24 on: a suite without it is skipped, visibly.
const { Float16Array } = globalThis as unknown as { Float16Array?: new (values: Iterable<number>) => Float16View };

eachBackend((backend) => {
  const logits = rng(1).normal(6 * 5, 0, 3);
  const targets = [0, 1, 2, 3, 4, 0];
  const plain = () => logprob(logits, targets, { shape: [6, 5], backend });

  test("tensors of other libraries are taken with their own shape and type", () => {
    expect(logprob({ data: logits, dims: [2, 3, 5], type: "float32" }, targets, { backend })).toEqual(plain());
    expect(logprob({ data: logits, shape: [6, 5], dtype: "float32" }, targets, { backend })).toEqual(plain());
    const bits = toHalfBits(logits, "float16");
    const half = logprob(bits, targets, { shape: [6, 5], dtype: "float16", backend });
    expect(logprob({ data: bits, dims: [6, 5], type: "float16" }, targets, { backend })).toEqual(half);
  });

  test("a tensor with a padded vocabulary is read by the shape of the options", () => {
    const padded = new Float32Array(6 * 8).fill(NaN);
    for (let n = 0; n < 6; ++n) padded.set(logits.subarray(n * 5, (n + 1) * 5), n * 8);
    expect(logprob({ data: padded, dims: [6, 8], type: "float32" }, targets, { shape: [6, 5], backend })).toEqual(
      plain(),
    );
  });

  test("ids come as int32, int64, uint32 or plain numbers", () => {
    const kinds = [
      Int32Array.from(targets),
      BigInt64Array.from(targets, BigInt),
      Uint32Array.from(targets),
      targets.map(BigInt),
    ];
    for (const ids of kinds) expect(logprob(logits, ids, { shape: [6, 5], backend })).toEqual(plain());
  });

  test("results go into the caller's arrays where given", () => {
    const out = { entropies: new Float32Array(6), logProbs: new Float32Array(6) };
    const got = logprob(logits, targets, { shape: [6, 5], out, backend });
    expect(got.entropies).toBe(out.entropies);
    expect(got).toEqual(plain());
  });

  test("views into the middle of a buffer, shared and resizable memory are read where they are", () => {
    const into = (buffer: ArrayBufferLike) => {
      const view = new Float32Array(buffer, 12, 30);
      view.set(logits);
      return view;
    };
    const Resizable = ArrayBuffer as unknown as new (size: number, options: { maxByteLength: number }) => ArrayBuffer;
    for (const buffer of [new ArrayBuffer(200), new SharedArrayBuffer(200), new Resizable(200, { maxByteLength: 400 })])
      expect(logprob(into(buffer), targets, { shape: [6, 5], backend })).toEqual(plain());
  });

  (Float16Array ? test : test.skip)("a Float16Array is its bits, and so is its gradient (needs Node 24)", () => {
    const numbers = new Float16Array!(logits);
    const bits = toHalfBits(logits, "float16");
    const options = { shape: [6, 5] as const, backend };
    const state = logprob(bits, targets, { ...options, dtype: "float16" });
    expect(logprob(numbers, targets, options)).toEqual(state);
    const given = { gradLogProbs: rng(2).normal(6) };
    const want = logprobBackward(bits, targets, state, { ...options, ...given, dtype: "float16" });
    const got = logprobBackward(numbers, targets, state, { ...options, ...given });
    expect(new Uint16Array(got.buffer)).toEqual(want);
  });
});

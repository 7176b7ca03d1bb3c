import { type AggregationName, aggregateLoss, type AggregationOptions, aggregationWeights } from "../../lib";
import { AGGREGATIONS } from "../../lib/presets/aggregations";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

/** [6, 9] with row 2 fully masked and row 4 fully kept. */
const [B, T] = [6, 9];
const mask = rng(1)
  .mask(B * T, 0.6)
  .fill(0, 2 * T, 3 * T)
  .fill(1, 4 * T, 5 * T);
const kept = Array.from({ length: B }, (_, b) =>
  Array.from(mask.subarray(b * T, (b + 1) * T)).reduce((sum, m) => sum + m, 0),
);
const N = kept.reduce((sum, c) => sum + c, 0);
const alive = kept.filter((c) => c > 0).length;
const layout = { shape: [B, T], mask } as const;
/** All that a trainer knows of the larger batch. */
const counts = { tokens: 500, rows: 40, length: 128, workers: 4, accumulation: 2, stepsPerGeneration: 1 };

function weights(options: AggregationOptions): number[] {
  return Array.from(aggregationWeights(options));
}

const live = (weight: (c: number) => number): number[] => kept.map((c) => (c > 0 ? weight(c) : 0));
const CLOSE = { rtol: 1e-15 };

test.each<[AggregationOptions["mode"], (c: number) => number, (c: number) => number]>([
  ["tokenMean", () => 1 / N, () => 2 / 500],
  ["rowMean", (c) => 1 / c / alive, (c) => 2 / c / 40],
  ["rowSum", () => 1 / alive, () => 2 / 40],
  ["fixedLength", () => 1 / T / alive, () => 2 / 128 / 40],
  ["verl/token-mean", () => 1 / N, () => 4 / 500],
  ["verl/seq-mean-token-sum", () => 1 / alive, () => 4 / 40],
  ["verl/seq-mean-token-mean", (c) => 1 / c / alive, (c) => 4 / c / 40],
  ["tokenSum", () => 1, () => 2],
  ["verl/seq-mean-token-sum-norm", () => 1 / T / alive, () => 4 / 128 / 40],
  ["verl/token-sum", () => 1, () => 4],
  ["verl-2026-01/token-mean", () => 1 / N, () => 4 / 500],
  ["verl-2026-01/seq-mean-token-sum", () => 1 / alive, () => 4 / 40],
  ["verl-2026-01/seq-mean-token-mean", (c) => 1 / c / alive, (c) => 4 / c / 40],
  ["verl-2026-01/seq-mean-token-sum-norm", () => 1 / T, () => 1 / 128],
  ["openrlhf/token", () => 1 / N, () => 4 / 500],
  ["openrlhf/sample", (c) => 1 / c / alive, (c) => 4 / c / 40],
  ["trl/grpo", (c) => 1 / c / B, (c) => 1 / c / B / 2],
  ["trl/sapo", (c) => 1 / c / B, (c) => 1 / c / B / 2],
  ["trl/bnpo", () => 1 / N, () => 1 / N / 2],
  ["trl/dr_grpo", () => 1 / B / T, () => 1 / B / 128 / 2],
  ["trl/dapo", () => 1 / N, () => 4 / (500 * 2)],
  ["trl/cispo", () => 1 / N, () => 4 / (500 * 2)],
  ["trl/vespo", () => 1 / N, () => 4 / (500 * 2)],
  ["trl/luspo", () => 1 / B, () => 1 / B / 2],
  ["lightrft/policy", (c) => 1 / c / B, (c) => 1 / c / B],
])("%s weighs as its formula says, alone and with the counts of the larger batch", (mode, own, larger) => {
  expect(weights({ ...layout, mode })).toBeAllClose(live(own), CLOSE);
  expect(weights({ ...layout, mode, ...counts })).toBeAllClose(live(larger), CLOSE);
});

test("tokens of several batches: this one has its share, or a step its own", () => {
  const given = { tokens: 480, accumulation: 2, stepsPerGeneration: 8 };
  expect(weights({ ...layout, mode: "trl/dapo", ...given })).toBeAllClose(
    live(() => 1 / (480 * (2 / 8))),
    CLOSE,
  );
  // Each batch has 60, and two are added: 120 again.
  expect(weights({ ...layout, mode: "tokenMean", ...given })).toBeAllClose(
    live(() => 1 / 120),
    CLOSE,
  );
  expect(weights({ ...layout, mode: "trl/dapo", tokens: 480, stepsPerGeneration: 8 })).toBeAllClose(
    live(() => 1 / 60),
    CLOSE,
  );
  // Without tokens of a larger batch there is nothing to share.
  expect(weights({ ...layout, mode: "trl/dapo", stepsPerGeneration: 8 })).toBeAllClose(
    live(() => 1 / N),
    CLOSE,
  );
});

test("verl's names ask for the counts of all workers where there are several", () => {
  expect(() => weights({ ...layout, mode: "verl/token-mean", workers: 2 })).toThrow(/tokens is undefined/);
  expect(() => weights({ ...layout, mode: "verl/seq-mean-token-sum-norm", workers: 2 })).toThrow(/rows is undefined/);
  expect(weights({ ...layout, mode: "verl/token-sum", workers: 2 })).toHaveLength(B);
});

test("every name of a framework is one of those above", () => {
  const names = Object.keys(AGGREGATIONS) as AggregationName[];
  expect(names).toHaveLength(20);
  for (const mode of names) expect(weights({ ...layout, mode })).toHaveLength(B);
});

test("rows without a kept token are counted or not, and weigh nothing", () => {
  expect(weights({ ...layout, mode: "rowSum", emptyRows: "count" })).toEqual(live(() => 1 / B));
  expect(weights({ ...layout, mode: "trl/grpo", emptyRows: "skip" })).toBeAllClose(
    live((c) => 1 / c / alive),
    CLOSE,
  );
});

test("nothing kept, or nothing at all, weighs nothing", () => {
  for (const mode of ["tokenMean", "rowMean", "rowSum", "fixedLength"] as const) {
    expect(weights({ shape: [2, 3], mask: new Uint8Array(6), mode })).toEqual([0, 0]);
    expect(weights({ shape: [0, 3], mode })).toEqual([]);
    expect(weights({ shape: [2, 0], mode })).toEqual([0, 0]);
  }
});

test("packed rows weigh as the padded rows they are, and say the fixed length themselves", () => {
  const offsets = Int32Array.from([0, ...kept]);
  for (let b = 1; b <= B; ++b) offsets[b]! += offsets[b - 1]!;
  for (const mode of Object.keys(AGGREGATIONS) as AggregationName[])
    expect(weights({ offsets, mode, length: T })).toEqual(weights({ ...layout, mode, length: T }));
  expect(() => aggregationWeights({ offsets, mode: "fixedLength" })).toThrow("aggregationWeights: length is undefined");
});

test("what is not a mode or a count is refused", () => {
  const code = (options: object) => expect.objectContaining({ code: "ERR_SURPRISAL_OPTION", ...options }) as Error;
  expect(() => weights({ ...layout, mode: "mean" as "rowMean" })).toThrow(code({}));
  expect(() => weights({ ...layout, mode: "toString" as "rowMean" })).toThrow(code({}));
  expect(() => weights({ ...layout, mode: "rowMean", emptyRows: "keep" as "skip" })).toThrow(code({}));
  for (const name of Object.keys(counts))
    for (const value of [0, -1, NaN, Infinity, "4"])
      for (const mode of ["rowMean", "lightrft/policy"] as const)
        expect(() => weights({ ...layout, mode, [name]: value })).toThrow(code({}));
});

eachBackend((backend) => {
  test.each([
    ["float32", Float32Array],
    ["float64", Float64Array],
  ] as const)("the loss is the weighted sum, and its gradient the weights: %s", (_, Floats) => {
    const losses = Floats.from(rng(2).normal(B * T, 0.5));
    for (const mode of ["tokenMean", "rowMean", "rowSum", "fixedLength", "trl/dr_grpo"] as const) {
      const { loss, rowWeights, gradients } = aggregateLoss(losses, { ...layout, mode, backend });
      expect(rowWeights).toEqual(aggregationWeights({ ...layout, mode }));
      const tokenWeights = Array.from(mask, (m, i) => m * rowWeights[Math.floor(i / T)]!);
      expect(gradients).toEqual(Floats.from(tokenWeights));
      expect(loss).toBeAllClose(
        tokenWeights.reduce((sum, w, i) => sum + w * losses[i]!, 0),
        { rtol: 1e-13, atol: 1e-14 },
      );
    }
  });

  test("what lies under the mask is not read, and nothing kept has loss 0", () => {
    const losses = Float32Array.from(mask, (m) => (m ? 2 : NaN));
    expect(aggregateLoss(losses, { ...layout, mode: "tokenMean", backend }).loss).toBeAllClose(2, { rtol: 1e-15 });
    const nothing = aggregateLoss(Float32Array.of(NaN, NaN), {
      shape: [1, 2],
      mask: new Uint8Array(2),
      mode: "rowMean",
      backend,
    });
    expect(nothing).toEqual({ loss: 0, rowWeights: Float64Array.of(0), gradients: new Float32Array(2) });
  });

  test("the parts of a batch add up to the whole when they know its counts", () => {
    const losses = rng(3).normal(B * T);
    const whole = { tokens: N, rows: alive } as const;
    for (const mode of ["tokenMean", "rowMean", "rowSum"] as const) {
      const parts = [0, 2, 5].map((begin, k, begins) => {
        const end = begins[k + 1] ?? B;
        const part = { shape: [end - begin, T], mask: mask.subarray(begin * T, end * T) } as const;
        return aggregateLoss(losses.subarray(begin * T, end * T), { ...part, mode, ...whole, backend }).loss;
      });
      const { loss } = aggregateLoss(losses, { ...layout, mode, backend });
      expect(parts.reduce((sum, part) => sum + part, 0)).toBeAllClose(loss, { rtol: 1e-12, atol: 1e-14 });
    }
  });

  test("losses of the wrong kind or length", () => {
    const code = (wanted: string) => expect.objectContaining({ code: wanted }) as Error;
    const options = { ...layout, mode: "rowMean", backend } as const;
    expect(() => aggregateLoss(new Float32Array(5), options)).toThrow(code("ERR_SURPRISAL_SHAPE"));
    expect(() => aggregateLoss(new Int16Array(B * T) as unknown as Float32Array, options)).toThrow(
      code("ERR_SURPRISAL_DTYPE"),
    );
    expect(() => aggregateLoss(new Float32Array(B * T), { ...options, mask: new Uint8Array(2) })).toThrow(
      code("ERR_SURPRISAL_SHAPE"),
    );
  });
});

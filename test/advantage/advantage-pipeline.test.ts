import {
  advantagePipeline,
  type AdvantagePipelineOptions,
  estimateAdvantages,
  type EstimateAdvantagesOptions,
  klShapedReward,
  NO_MOMENTS,
  type PipelineBatch,
  scaleByMoments,
  shapeGroupRewards,
  updateRunningMoments,
  whiten,
} from "../../lib";
import { eachBackend } from "../support/each-backend";
import { errorCode } from "../support/error-code";
import { rng } from "../support/rng";

function batchOf(seed: number, rows: number, width: number) {
  const r = rng(seed);
  const n = rows * width;
  const shape = [rows, width] as const;
  return { shape, mask: r.mask(n, 0.8), rewards: r.f64(rows, -2, 2), kl: r.f64(n, -0.1, 0.3), values: r.f64(n, -1, 1) };
}

const batches = [batchOf(1, 4, 5), batchOf(2, 2, 9)];
const groups = [0, 0, 0, 1, 1, 1];

eachBackend((backend) => {
  test("the pipeline is its stages, one after the other", () => {
    const options = { estimator: "reinforcePlusPlusBaseline", gamma: 0.9, backend } as const;
    const got = advantagePipeline(batches, {
      ...options,
      groups,
      klCoefficient: 0.1,
      rewardClip: [-1, 1],
      runningMoments: NO_MOMENTS,
    });

    const all = Float64Array.from(batches.flatMap(({ rewards }) => Array.from(rewards)));
    const shaped = shapeGroupRewards(all, { estimator: "reinforcePlusPlusBaseline", groups, backend }).rewards;
    let state = NO_MOMENTS;
    const estimated = batches.map(({ shape, mask, kl }, i) => {
      const own = shaped.slice(i === 0 ? 0 : 4, i === 0 ? 4 : 6);
      state = updateRunningMoments(state, own).moments;
      const rewards = scaleByMoments(own, state);
      const tokenRewards = klShapedReward(rewards, kl, {
        shape,
        mask,
        klCoefficient: 0.1,
        rewardClip: [-1, 1],
        backend,
      });
      return { tokenRewards, ...estimateAdvantages({ shape, mask, tokenRewards }, options) };
    });
    const mask = Uint8Array.from(batches.flatMap((batch) => Array.from(batch.mask)));
    const advantages = Float64Array.from(estimated.flatMap((result) => Array.from(result.advantages)));
    const normalized = whiten(advantages, {
      mask,
      offsets: Int32Array.of(0, 5, 10, 15, 20, 29, 38),
      over: "all",
      ddof: 0,
      varianceFloor: 1e-8,
      backend,
    });

    expect(got.runningMoments).toEqual(state);
    got.batches.forEach((result, i) => {
      expect(result.tokenRewards).toEqual(estimated[i]!.tokenRewards);
      expect(result.returns).toEqual(estimated[i]!.returns);
    });
    expect(got.batches.flatMap((result) => Array.from(result.advantages))).toEqual(Array.from(normalized));
  });

  test("gamma is the same in every batch", () => {
    const options = { estimator: "reinforcePlusPlus", gamma: 0.5, normalized: [], backend } as const;
    const alone = batches.map((batch) => advantagePipeline([batch], options).batches[0]!);
    expect(advantagePipeline(batches, options).batches).toEqual(alone);
  });

  test("one batch in two pieces gives the whole, but for what is measured per batch", () => {
    const [whole] = batches;
    const rows = (begin: number, end: number): PipelineBatch => ({
      shape: [end - begin, 5],
      mask: whole!.mask.slice(5 * begin, 5 * end),
      rewards: whole!.rewards.slice(begin, end),
      kl: whole!.kl.slice(5 * begin, 5 * end),
      values: whole!.values.slice(5 * begin, 5 * end),
    });
    const options = { estimator: "gae", gamma: 0.95, lambda: 0.9, klCoefficient: 0.1, backend } as const;
    const pieces = advantagePipeline([rows(0, 1), rows(1, 4)], options).batches.flatMap((batch) =>
      Array.from(batch.advantages),
    );
    expect(pieces).toEqual(Array.from(advantagePipeline([whole!], options).batches[0]!.advantages));
  });

  test("gamma counts as 1 where a preset says so, and only there", () => {
    const [batch] = batches;
    const run = (options: Partial<AdvantagePipelineOptions>) =>
      advantagePipeline([batch!], { estimator: "rloo", shapeGroups: false, gamma: 0.5, backend, ...options })
        .batches[0]!.returns;
    expect(run({ preset: "openrlhf", maskMode: "skip" })).toEqual(run({ gamma: 1 }));
    expect(run({ preset: "lightrft", maskMode: "skip" })).toEqual(run({}));
    expect(run({ preset: "lightrft", maskMode: "skip", estimator: "reinforcePlusPlusBaseline" })).toEqual(
      run({ gamma: 1 }),
    );
  });

  test("rewards are clipped with a fraction, and negative KL coefficients count as 0", () => {
    const batch = { shape: [2, 1], rewards: Float64Array.of(3, 0.5), kl: Float64Array.of(1, 1) } as const;
    const [result] = advantagePipeline([batch], {
      estimator: "grpo",
      shapeGroups: false,
      klCoefficient: -1,
      rewardClip: [-1, 1],
      backend,
    }).batches;
    expect(Array.from(result!.tokenRewards)).toEqual([1, 0.5]);
    expect(Array.from(result!.sequenceReturns)).toEqual([1, 0.5]);
    expect(result!.rewardClipFraction).toBe(0.5);
  });

  test("the advantage clip comes after whitening, its fraction before it", () => {
    const tokenRewards = Float64Array.of(0, 0, 10, 0, 0, 99);
    const batch = { shape: [6, 1], mask: Uint8Array.of(1, 1, 1, 1, 1, 0), tokenRewards } as const;
    const run = (options: Partial<EstimateAdvantagesOptions>) =>
      estimateAdvantages(batch, {
        estimator: "reinforcePlusPlus",
        whiten: true,
        advantageClip: 1,
        backend,
        ...options,
      });
    const { advantages, returns, clipFraction } = run({});
    expect(advantages[2]).toBe(1);
    expect(Array.from(returns)).toEqual([0, 0, 10, 0, 0, 0]);
    expect(clipFraction).toBe(1 / 5);
    expect(run({ clipFractionOver: "all" }).clipFraction).toBe(1 / 6);
    expect(run({ neverWhitened: ["reinforcePlusPlus"] }).advantages).toEqual(Float64Array.of(0, 0, 1, 0, 0, 0));
  });

  test("one kept token whitens to 0, none and no batch to nothing", () => {
    const one = { shape: [1, 2], mask: Uint8Array.of(0, 1), tokenRewards: Float64Array.of(NaN, 4) } as const;
    expect(
      Array.from(estimateAdvantages(one, { estimator: "reinforcePlusPlus", whiten: true, backend }).advantages),
    ).toEqual([0, 0]);
    const none: PipelineBatch = { shape: [1, 2], mask: new Uint8Array(2), rewards: Float64Array.of(4) };
    expect(
      Array.from(advantagePipeline([none], { estimator: "reinforcePlusPlus", backend }).batches[0]!.advantages),
    ).toEqual([0, 0]);
    expect(advantagePipeline([], { estimator: "reinforcePlusPlus", backend }).batches).toEqual([]);
  });

  test("float32 batches give float32 results, each by its own inputs", () => {
    const single: PipelineBatch = { shape: [1, 2], rewards: Float32Array.of(1) };
    const double: PipelineBatch = { shape: [1, 2], rewards: Float64Array.of(1) };
    const [a, b] = advantagePipeline([single, double], { estimator: "reinforcePlusPlus", backend }).batches;
    expect([a!.advantages, b!.advantages].map((x) => x.BYTES_PER_ELEMENT)).toEqual([4, 8]);
  });
});

test("bad input is refused by name", () => {
  const [batch] = batches;
  const run = (options: object, given: object = {}) =>
    errorCode(() =>
      advantagePipeline([{ ...batch!, ...given }], { estimator: "gae", gamma: 1, lambda: 1, ...options }),
    );
  expect(run({ estimator: "ppo" })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ gamma: 1.5 })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ lambda: NaN })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ klCoefficient: Infinity })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ rewardClip: [0] })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ advantageClip: 0 })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ scale: "batch" })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ varianceFloor: -1 })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({ groups: [0] })).toBe("ERR_SURPRISAL_SHAPE");
  expect(run({ estimator: "cpgd", groups: [0, 0, 0, 0] })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({}, { values: undefined })).toBe("ERR_SURPRISAL_OPTION");
  expect(run({}, { kl: Float64Array.of(1) })).toBe("ERR_SURPRISAL_SHAPE");
  expect(run({}, { rewards: Int32Array.of(1, 2, 3, 4) })).toBe("ERR_SURPRISAL_DTYPE");
  expect(run({}, { offsets: Int32Array.of(0, 20) })).toBe("ERR_SURPRISAL_OPTION");
});

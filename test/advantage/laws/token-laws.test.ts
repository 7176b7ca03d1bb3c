// What holds for the pipelines from rewards to token advantages, on generated batches; every-estimator.test.ts has the estimators.
import fc from "fast-check";
import { advantagePipeline, estimateAdvantages, NO_MOMENTS, type PipelineEstimator } from "../../../lib";
import { type BackendName, eachBackend } from "../../support/each-backend";
import { back, packed, poisoned, reversed, type TokenBatch, tokenCase, widened } from "./token-batch";

/** Per-token results of an estimator, by name. */
type Estimator = (batch: TokenBatch, backend: BackendName) => Readonly<Record<string, ArrayLike<number>>>;

type Preset = "lightrft" | "openrlhf" | undefined;

const estimates =
  (estimator: PipelineEstimator, whiten: boolean, preset?: Preset): Estimator =>
  ({ layout, mask, tokens, rewards }, backend) => {
    const { advantages, returns } = estimateAdvantages(
      { ...layout, mask, rewards, tokenRewards: tokens.a, values: tokens.b },
      { estimator, gamma: 0.9, lambda: 0.8, whiten, advantageClip: 1.5, backend, ...(preset && { preset }) },
    );
    return { advantages, returns };
  };

const pipeline =
  (estimator: PipelineEstimator, preset?: Preset): Estimator =>
  ({ layout, mask, tokens, rewards }, backend) => {
    const { batches } = advantagePipeline([{ ...layout, mask, rewards, kl: tokens.a, values: tokens.b }], {
      estimator,
      gamma: 0.9,
      klCoefficient: 0.1,
      shapeGroups: false,
      rewardClip: [-0.8, 0.8],
      runningMoments: NO_MOMENTS,
      backend,
      ...(preset && { preset }),
    });
    const { advantages, returns, tokenRewards } = batches[0]!;
    return { advantages, returns, tokenRewards };
  };

const estimators: Readonly<Record<string, Estimator>> = {
  "estimateAdvantages, gae": estimates("gae", true),
  "estimateAdvantages, reinforcePlusPlus": estimates("reinforcePlusPlus", false),
  "estimateAdvantages, cpgd": estimates("cpgd", false),
  'estimateAdvantages, gae, preset "lightrft"': estimates("gae", true, "lightrft"),
  "advantagePipeline, gae": pipeline("gae"),
  'advantagePipeline, gae, preset "openrlhf"': pipeline("gae", "openrlhf"),
  'advantagePipeline, reinforcePlusPlusBaseline, preset "lightrft"': pipeline("reinforcePlusPlusBaseline", "lightrft"),
  "advantagePipeline, reinforcePlusPlus": pipeline("reinforcePlusPlus"),
  "advantagePipeline, grpo": pipeline("grpo"),
};

const cases = fc
  .record({ seed: fc.integer(), rows: fc.integer({ min: 1, max: 5 }), width: fc.integer({ min: 1, max: 40 }) })
  .map(({ seed, rows, width }) => tokenCase(seed, rows, width));
const runs = { numRuns: 20 };

eachBackend((backend) => {
  describe.each(Object.entries(estimators))("%s", (name, estimate) => {
    // These presets have what the steps and the whitening come to under the mask, still without reading what lies there.
    const transformed = /preset/.test(name);

    test(`what lies under the mask changes no bit${transformed ? "" : ", and the result there is 0"}`, () => {
      fc.assert(
        fc.property(cases, (given) => {
          const clean = estimate(given.padded, backend);
          expect(estimate(poisoned(given), backend)).toEqual(clean);
          for (const values of transformed ? [] : Object.values(clean))
            expect(Array.from(values).filter((x, i) => given.padded.mask[i] === 0 && x !== 0)).toEqual([]);
        }),
        runs,
      );
    });

    test("more columns of padding change no bit", () => {
      fc.assert(
        fc.property(cases, fc.integer({ min: 1, max: 9 }), (given, extra) => {
          const clean = estimate(given.padded, backend);
          const { batch, place } = widened(given, extra);
          for (const [name, values] of Object.entries(estimate(batch, backend)))
            expect(back(given, values, place)).toEqual(Array.from(clean[name]!));
        }),
        runs,
      );
    });

    test("packed rows are the padded ones without their padding", () => {
      fc.assert(
        fc.property(cases, (given) => {
          const clean = estimate(given.padded, backend);
          const { batch, place } = packed(given);
          const shared = (b: number, t: number) => (place(b, t) === undefined ? undefined : b * given.width + t);
          for (const [result, values] of Object.entries(estimate(batch, backend)))
            expect(back(given, values, place)).toEqual(back(given, clean[result]!, shared));
        }),
        runs,
      );
    });

    test("rows in another order give their results in that order", () => {
      fc.assert(
        fc.property(cases, (given) => {
          const clean = estimate(given.padded, backend);
          const { batch, place } = reversed(given);
          // Sums over the batch are added up in another order: a few ulps of float64, times 1/std.
          for (const [name, values] of Object.entries(estimate(batch, backend)))
            expect(back(given, values, place)).toBeAllClose(clean[name]!, { rtol: 1e-9, atol: 1e-9 });
        }),
        runs,
      );
    });
  });
});

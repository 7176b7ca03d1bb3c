// What holds for every function that compares the rewards of rows, on generated batches; every-estimator.test.ts has the estimators.
import fc from "fast-check";
import { clipFilterWeights, shapeGroupRewards } from "../../../lib";
import { type BackendName, eachBackend } from "../../support/each-backend";

interface Rows {
  readonly rewards: Float64Array;
  readonly groups: readonly string[];
}

/** One number per row. */
type Estimator = (rows: Rows, backend: BackendName) => ArrayLike<number>;

const advantages: Readonly<Record<string, Estimator>> = {
  "shapeGroupRewards, grpo": ({ rewards, groups }, backend) =>
    shapeGroupRewards(rewards, { estimator: "grpo", groups: groups, backend }).rewards,
  "shapeGroupRewards, rloo": ({ rewards, groups }, backend) =>
    shapeGroupRewards(rewards, { estimator: "rloo", groups: groups, backend }).rewards,
};

const estimators: Readonly<Record<string, Estimator>> = {
  ...advantages,
  clipFilterWeights: ({ rewards, groups }, backend) => clipFilterWeights(rewards, { groups: groups, backend }).weights,
};

// Rewards on a grid, as graders give them: stds are either exactly 0 or far from it.
const grid = fc.integer({ min: -10, max: 10 }).map((x) => x / 10);
const cases: fc.Arbitrary<Rows> = fc
  .array(fc.tuple(grid, fc.integer({ min: 0, max: 3 })), { minLength: 1, maxLength: 24 })
  .map((rows) => ({
    rewards: Float64Array.from(rows, ([reward]) => reward),
    groups: rows.map(([, group]) => String(group)),
  }));
const runs = { numRuns: 30 };
const close = { rtol: 1e-9, atol: 1e-9 }; // sums in another order: ulps of float64, times 1/std

eachBackend((backend) => {
  describe.each(Object.entries(estimators))("%s", (_, estimate) => {
    test("rows in another order give their results in that order", () => {
      fc.assert(
        fc.property(cases, ({ rewards, groups }) => {
          const mirrored = { rewards: rewards.slice().reverse(), groups: [...groups].reverse() };
          expect(Array.from(estimate(mirrored, backend)).reverse()).toBeAllClose(
            estimate({ rewards, groups }, backend),
            close,
          );
        }),
        runs,
      );
    });

    test("the names of the groups do not matter", () => {
      fc.assert(
        fc.property(cases, ({ rewards, groups }) => {
          const renamed = groups.map((group) => `prompt ${(7 * Number(group)) % 5}`);
          expect(estimate({ rewards, groups: renamed }, backend)).toEqual(estimate({ rewards, groups }, backend));
        }),
        runs,
      );
    });
  });

  test.each(Object.entries(advantages))("%s: a group of equal rewards gives exact zeros", (_, estimate) => {
    fc.assert(
      fc.property(
        fc.float({ noNaN: true, noDefaultInfinity: true, min: -1000, max: 1000 }),
        fc.integer({ min: 1, max: 17 }),
        (reward, size) => {
          const rewards = new Float64Array(size).fill(reward);
          expect(
            Array.from(estimate({ rewards, groups: new Array<string>(size).fill("p") }, backend)).every((x) => x === 0),
          ).toBe(true);
        },
      ),
      runs,
    );
  });
});

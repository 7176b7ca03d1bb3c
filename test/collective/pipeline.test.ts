// The advantage pipeline with several micro-batches a worker, and the state of controllers.
import * as surprisal from "../../lib";
import { broadcastState } from "../../lib";
import { openCollective } from "../../lib/collective";
import { eachBackend } from "../support/each-backend";
import { errorCode as code } from "../support/error-code";
import { valuesOfRanks } from "../support/run-ranks";
import { pipelineInput, pipelineParts, runPipeline } from "./batches";

eachBackend((backend) => {
  test.each(["gae", "reinforcePlusPlus", "reinforcePlusPlusBaseline", "grpo"] as const)(
    "%s: batches of all workers have the bits of one worker",
    async (estimator) => {
      const input = pipelineInput(backend, estimator);
      const expected = runPipeline(undefined, surprisal, input);
      expect(runPipeline(openCollective("single"), surprisal, input)).toEqual(expected);
      for (const cuts of [
        [0, 1, 4],
        [0, 2, 2, 4],
      ]) {
        const got = await valuesOfRanks(pipelineParts(input, cuts), runPipeline);
        expect(got.flatMap(({ batches }) => batches)).toEqual(expected.batches);
        for (const { runningMoments } of got) expect(runningMoments).toEqual(expected.runningMoments);
      }
    },
  );
});

test("a controller that one rank updated is the same on all, to the bit", async () => {
  const controllers = [0.1, 0.2, 0.3].map((coefficient) => ({ coefficient, logTau: null as number | null, drift: 0 }));
  const got = await valuesOfRanks(controllers, (c, s, state) => {
    let own = state;
    if (c.rank === 1) {
      const next = s.updateKlController(state, { kl: 0.07, steps: 3 }, { target: 0.05, horizon: 1000 });
      own = { ...state, ...next, drift: -0 };
    } else own = { ...state, logTau: c.rank };
    return s.broadcastState(own, c, 1);
  });
  const { coefficient } = surprisal.updateKlController(
    { coefficient: 0.2 },
    { kl: 0.07, steps: 3 },
    { target: 0.05, horizon: 1000 },
  );
  for (const state of got) expect(state).toEqual({ coefficient, logTau: null, drift: -0 });
});

test("states with different fields are refused on all ranks, others by name", async () => {
  const got = await valuesOfRanks([0, 1], (c, s) => {
    try {
      return s.broadcastState(c.rank === 0 ? { tau: 1 } : { beta: 1 }, c);
    } catch (error) {
      return (error as { code: string }).code;
    }
  });
  expect(got).toEqual(["ERR_SURPRISAL_SHAPE", "ERR_SURPRISAL_SHAPE"]);
  expect(code(() => broadcastState({ name: "tau" }, openCollective("single")))).toBe("ERR_SURPRISAL_OPTION");
  expect(broadcastState({ tau: NaN }, openCollective("single"))).toEqual({ tau: NaN });
});

test("input that one rank refuses is an error on every rank", async () => {
  const got = await valuesOfRanks([0.5, NaN], (c, s, entropy) => {
    try {
      s.stepWeights(Float64Array.of(0.1, entropy), { collective: c, backend: "js" });
    } catch (error) {
      return (error as Error).message;
    }
    return "nothing";
  });
  expect(got[0]).toBe("stepWeights: rank 1 refused its input; the error there says why");
  expect(got[1]).toMatch(/^stepWeights: entropies\[1\] is NaN/);
});

test("labels that are no integers, and layouts that differ, are refused", async () => {
  const got = await valuesOfRanks([0, 1], (c, s) => {
    const refused = (call: () => unknown): string => {
      try {
        call();
      } catch (error) {
        return (error as { code: string }).code;
      }
      return "nothing";
    };
    const rewards = Float64Array.of(1, 2);
    const options = { collective: c, backend: "js" } as const;
    return [
      refused(() => s.grpoAdvantage({ rewards, groups: ["a", "b"] }, options)),
      refused(() => s.grpoAdvantage({ rewards, groups: c.rank === 0 ? [1, 2] : "all" }, options)),
    ];
  });
  expect(got).toEqual(Array(2).fill(["ERR_SURPRISAL_VALUE", "ERR_SURPRISAL_SHAPE"]));
});

test("groups by offsets stay on their worker, and bigint labels span them", async () => {
  const got = await valuesOfRanks([1, 2], (c, s, first) => {
    const rewards = Float64Array.of(first, 4, 5);
    const options = { collective: c, backend: "js", scale: "none" } as const;
    const byOffsets = s.grpoAdvantage({ rewards, groupOffsets: Int32Array.of(0, 2, 3) }, options);
    const byLabel = s.grpoAdvantage({ rewards, groups: [7n, 8n, 8n] }, options);
    return { means: byOffsets.means, ids: byOffsets.groupIds, advantages: byLabel.advantages };
  });
  for (const [rank, { means, ids }] of got.entries()) {
    expect(means).toEqual(Float64Array.of(2.5, 5, 3, 5));
    expect(ids).toEqual(Int32Array.of(0, 0, 1).map((g) => g + 2 * rank));
  }
  expect(got.map(({ advantages }) => Array.from(advantages))).toEqual([
    [-0.5, -0.5, 0.5],
    [0.5, -0.5, 0.5],
  ]);
});

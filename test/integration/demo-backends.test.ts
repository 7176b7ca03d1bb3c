// The demo's training on two backends, and twice on one.
import { METHOD_NAMES, type MethodName } from "../../examples/demo/methods";
import { startJax } from "../../examples/demo/network";
import { train } from "../../examples/demo/train";
import { backendInfo, type BackendName } from "../../lib";

const { backends } = backendInfo();
const MINUTE = 60_000;

describe("the first 20 steps on js and on cpu", () => {
  const cpu = backends.find(({ name }) => name === "cpu");
  const SEED = 2;

  async function trajectory(method: MethodName, backend: BackendName) {
    const tokens: Int32Array[] = [];
    const rewards: Float64Array[] = [];
    const parameters = await train({ method, seed: SEED, steps: 20, backend }, ({ experience }) => {
      tokens.push(experience.tokenIds);
      rewards.push(experience.scores);
    });
    return { tokens, rewards, parameters };
  }

  if (!cpu?.available) {
    test.skip(`cpu is not available: ${cpu?.reason ?? "no reason given"}`, () => undefined);
    return;
  }

  beforeAll(startJax);

  test.each(METHOD_NAMES)(
    "%s: the same tokens and rewards, nearly the same parameters",
    async (method) => {
      const js = await trajectory(method, "js");
      const native = await trajectory(method, "cpu");
      expect(native.tokens).toEqual(js.tokens);
      expect(native.rewards).toEqual(js.rewards);
      // Adam divides by the gradient's own size, so it enlarges noise in small ones: relative noise of 2e-7 on every
      // element of the logits' gradient moved a parameter by up to 3.3e-5 within 50 steps of this seed.
      expect(native.parameters).toBeAllClose(js.parameters, { rtol: 0, atol: 1e-4 });
    },
    2 * MINUTE,
  );
});

test("a run on the same backend repeats to the last bit", async () => {
  await startJax();
  const run = () => train({ method: "egpo", seed: 7, steps: 10, backend: "js" }, () => undefined);
  expect(await run()).toEqual(await run());
});

import fc from "fast-check";
import {
  applyMaxentController,
  boundMaxentTau,
  maxentController,
  type MaxentController,
  maxentEntropyTarget,
  maxentTauRate,
  maxentTemperature,
  packMaxentController,
  type TauUpdateOptions,
  updateMaxentBeta,
  updateMaxentMeta,
  updateMaxentTau,
} from "../../lib";
import { errorCode } from "../support/error-code";
import { rng } from "../support/rng";
import { valuesOfRanks } from "../support/run-ranks";

const start = maxentController({ tau: 0.5, beta: 0.25 });
const steer: TauUpdateOptions = { target: 1, learningRate: 0.2 };
const at = (entropy: number | null, step = 1) => ({ entropy, step });

describe("tau", () => {
  test("moves its logarithm by rate times error: too little entropy raises it, too much lowers it", () => {
    // ln 0.5 + 0.2·(1 − 0.5) and ln 0.5 + 0.2·(1 − 1.5): factors e^±0.1.
    expect(updateMaxentTau(start, at(0.5), steer).tau).toBeCloseTo(0.5 * Math.exp(0.1), 14);
    expect(updateMaxentTau(start, at(1.5), steer).tau).toBeCloseTo(0.5 * Math.exp(-0.1), 14);
    expect(updateMaxentTau(start, at(1), steer).tau).toBeCloseTo(0.5, 15);
  });

  test("answers the average: nine tenths of the old one and a tenth of the new entropy", () => {
    const first = updateMaxentTau(start, at(2), steer);
    expect(first.entropyAverage).toBe(2);
    expect(updateMaxentTau(first, at(1), steer).entropyAverage).toBeCloseTo(1.9, 14);
    expect(updateMaxentTau(first, at(1), { ...steer, decay: 0 }).entropyAverage).toBe(1);
  });

  test("a bound stops it and nothing winds up behind the bound", () => {
    let state = start;
    for (let step = 1; step <= 50; ++step) state = updateMaxentTau(state, at(0, step), { ...steer, max: 0.6 });
    expect(state).toMatchObject({ tau: 0.6, logTau: Math.log(0.6) });
    // The first error of the other sign already moves it.
    expect(updateMaxentTau(state, at(50, 51), { ...steer, max: 0.6 }).tau).toBeLessThan(0.6);
  });

  test("stands still during the warm-up, and its average too", () => {
    const options = { ...steer, warmupSteps: 3 };
    let state = start;
    for (let step = 0; step <= 3; ++step) state = updateMaxentTau(state, at(step + 0.25, step), options);
    expect(state).toMatchObject({ tau: 0.5, entropyAverage: 0.25 });
    expect(updateMaxentTau(state, at(0.25, 4), options).tau).toBeGreaterThan(0.5);
  });

  test("the average stays unset until an entropy is measured", () => {
    const waited = updateMaxentTau(start, at(null), steer);
    expect(waited).toMatchObject({ tau: 0.5, entropyAverage: null });
    expect(updateMaxentTau(waited, at(NaN, 2), steer).entropyAverage).toBeNull();
    expect(updateMaxentTau(waited, at(0.75, 3), steer).entropyAverage).toBe(0.75);
  });

  test("a tau of 0 can grow again, and a new tau is not overruled by an old logarithm", () => {
    const grown = updateMaxentTau(maxentController({ tau: 0, beta: 0 }), at(0), steer);
    expect(grown.tau).toBeCloseTo(1e-8 * Math.exp(0.2), 20);
    const moved = updateMaxentTau(start, at(0), steer);
    const fresh = maxentController({ tau: 3, beta: moved.beta, entropyAverage: moved.entropyAverage });
    expect(updateMaxentTau(fresh, at(1), { ...steer, learningRate: 0 }).tau).toBeCloseTo(3, 14);
  });

  test("growth without a bound stays finite", () => {
    const wild = updateMaxentTau(start, at(0), { target: 1, learningRate: 1e6 });
    expect(wild.tau).toBe(Math.exp(700));
    expect(updateMaxentTau(wild, at(30, 2), steer).tau).toBeLessThan(wild.tau);
  });

  test("its target moves in a straight line, and a scale multiplies its rate", () => {
    const line = { target: 1, targetStart: 2, targetFinal: 0.5, targetHorizon: 3 };
    expect([-4, 0, 1, 2, 3, 9].map((step) => maxentEntropyTarget(step, line))).toEqual([2, 2, 1.5, 1, 0.5, 0.5]);
    expect(maxentEntropyTarget(1, { targetFinal: 0.5 })).toBe(0.5);
    expect(maxentEntropyTarget(1, {})).toBeNull();
    expect([1, 0.5, -1, NaN, null].map((rateScale) => maxentTauRate({ learningRate: 0.2, rateScale }))).toEqual([
      0.2, 0.1, 0, 0.2, 0.2,
    ]);
  });

  test("boundMaxentTau brings a loaded tau within bounds, with its logarithm", () => {
    const far = maxentController({ tau: 9, beta: 1, logTau: -0.5 });
    expect(boundMaxentTau(far, { min: 0.2, max: 0.4 })).toMatchObject({ tau: 0.4, logTau: Math.log(0.4), beta: 1 });
    expect(boundMaxentTau(maxentController({ tau: 0, beta: 1 }), {}).tau).toBe(1e-8);
  });
});

describe("beta", () => {
  const options = { target: 0.1, horizon: 10, stepSize: 0.2 };

  test("grows while the KL is above its target, by at most stepSize / horizon", () => {
    expect(updateMaxentBeta(start, { kl: 0.11 }, options).beta).toBeCloseTo(0.25 * 1.01, 14);
    expect(updateMaxentBeta(start, { kl: 50 }, options).beta).toBeCloseTo(0.25 * 1.02, 14);
    expect(updateMaxentBeta(start, { kl: 0 }, options).beta).toBeCloseTo(0.25 * 0.98, 14);
  });

  test("never turns negative, stays 0 at 0, and is off without all three settings", () => {
    expect(updateMaxentBeta(start, { kl: 0 }, { target: 0.1, horizon: 1, stepSize: 1.5 }).beta).toBeCloseTo(2.5e-7, 20);
    expect(updateMaxentBeta(maxentController({ tau: 1, beta: 0 }), { kl: 9 }, options).beta).toBe(0);
    for (const off of [{}, { ...options, target: 0 }, { ...options, horizon: 0 }, { ...options, stepSize: 0 }])
      expect(updateMaxentBeta(start, { kl: 9 }, off)).toEqual(start);
    for (const kl of [NaN, Infinity, null]) expect(updateMaxentBeta(start, { kl }, options)).toEqual(start);
  });
});

describe("gradients", () => {
  const meta = { enabled: true, learningRate: 0.1 };
  const ready = maxentController({ tau: 0.5, beta: 0.25, meta });

  test("tau goes down its gradient, beta up", () => {
    const next = updateMaxentMeta(ready, { tau: 0.5, beta: 0.5 });
    expect(next).toMatchObject({
      tau: 0.45,
      beta: 0.3,
      meta: { lastTauGradient: 0.5, lastBetaGradient: 0.5, tauProjected: false, betaProjected: false },
    });
    expect(next.logTau).toBe(Math.log(0.45));
  });

  test("bounds are reported, the clip is beta's alone", () => {
    const next = updateMaxentMeta(
      maxentController({ ...ready, meta: { ...meta, betaGradientClip: 0.5 } }),
      { tau: 50, beta: -50 },
      { min: 0.2 },
    );
    expect(next).toMatchObject({
      tau: 0.2,
      beta: 0.2,
      meta: { tauProjected: true, betaProjected: false, lastBetaGradient: -50 },
    });
    expect(updateMaxentMeta(ready, { beta: -50 })).toMatchObject({ beta: 0, meta: { betaProjected: true } });
    expect(updateMaxentMeta(ready, { tau: 50 })).toMatchObject({ tau: 1e-8, meta: { tauProjected: true } });
  });

  test("a tau that ends on its lower bound met it; on the upper one, it did not", () => {
    const { tau } = updateMaxentMeta(ready, { tau: 0.5 });
    expect(updateMaxentMeta(ready, { tau: 0.5 }, { min: tau })).toMatchObject({ tau, meta: { tauProjected: true } });
    expect(updateMaxentMeta(ready, { tau: 0.5 }, { max: tau })).toMatchObject({ tau, meta: { tauProjected: false } });
  });

  test("answers the state itself where nothing moves", () => {
    expect(updateMaxentMeta(start, { tau: 1, beta: 1 })).toBe(start);
    expect(updateMaxentMeta(ready, { tau: NaN, beta: null })).toBe(ready);
    expect(updateMaxentMeta(ready, { tau: 1 }, { rateScale: 0 })).toBe(ready);
  });

  test("steps between the intervals move nothing, where the step is told", () => {
    const slow = maxentController({ ...ready, meta: { ...meta, updateInterval: 4 } });
    const moved = [0, 1, 2, 3, 4, 5, 8].filter((step) => updateMaxentMeta(slow, { tau: 1 }, { step }) !== slow);
    expect(moved).toEqual([0, 4, 8]);
    expect(updateMaxentMeta(slow, { tau: 1 }).tau).toBe(0.4);
    expect(updateMaxentMeta(slow, { tau: 1 }, { step: 1 })).toBe(slow);
  });

  test("a method that nobody knows is refused, or ignored as its source does", () => {
    const strange = maxentController({ ...ready, meta: { ...meta, method: "mystery" } });
    expect(errorCode(() => updateMaxentMeta(strange, { tau: 1 }))).toBe("ERR_SURPRISAL_OPTION");
    expect(updateMaxentMeta(strange, { tau: 1 }, { preset: "maxent" })).toBe(strange);
  });
});

/** Entropy of the policy that follows the weights softmax(utility / tau), a little every step. */
class Policy {
  private readonly logits = new Float64Array(8);
  constructor(private readonly utilities: Float64Array) {}

  private static softmax(x: Float64Array, temperature: number): Float64Array {
    const top = Math.max(...x);
    const e = x.map((v) => Math.exp((v - top) / temperature));
    const sum = e.reduce((a, b) => a + b, 0);
    return e.map((v) => v / sum);
  }

  follow(tau: number): number {
    const [weights, policy] = [Policy.softmax(this.utilities, tau), Policy.softmax(this.logits, 1)];
    this.logits.forEach((x, i) => (this.logits[i] = x + 2 * (weights[i]! - policy[i]!)));
    return -Policy.softmax(this.logits, 1).reduce((sum, p) => sum + p * Math.log(p), 0);
  }
}

test.each([0.05, 0.5, 4])("from tau %d, 10⁴ steps on a simulated policy stay in bounds and reach the target", (tau) => {
  const r = rng(11);
  const noise = r.f64(10_000, -0.2, 0.2);
  const policy = new Policy(r.f64(8, 0, 1));
  const options = { target: 1.4, learningRate: 0.01, min: 0.02, max: 5, warmupSteps: 20 };
  let state = maxentController({ tau, beta: 0.1 });
  let late = 0;
  let outside = 0;
  for (let step = 1; step <= 10_000; ++step) {
    const entropy = policy.follow(state.tau);
    const next = updateMaxentTau(state, { entropy: entropy + noise[step - 1]!, step }, options);
    if (!(next.tau >= 0.02 && next.tau <= 5)) ++outside;
    state = next;
    if (step > 9000) late += entropy / 1000;
  }
  expect(outside).toBe(0);
  // Noise of ±0.2 through an average over ten.
  expect(Math.abs(late - 1.4)).toBeLessThan(0.02);
});

test("a target out of reach ends on the bound, for 10⁴ steps", () => {
  const policy = new Policy(rng(3).f64(8, 0, 1));
  let state = start;
  for (let step = 1; step <= 10_000; ++step)
    state = updateMaxentTau(
      state,
      { entropy: policy.follow(state.tau), step },
      { target: 3, learningRate: 0.05, max: 2 },
    );
  expect(state.tau).toBe(2);
});

test("beta keeps a KL that answers to it on its target for 10⁴ steps", () => {
  const noise = rng(4).f64(10_000, 0.8, 1.2);
  let state = start;
  let late = 0;
  let smallest = Infinity;
  for (let i = 0; i < 10_000; ++i) {
    const kl = 0.05 / (0.1 + state.beta);
    state = updateMaxentBeta(state, { kl: kl * noise[i]! }, { target: 0.08, horizon: 100, stepSize: 0.2 });
    smallest = Math.min(smallest, state.beta);
    if (i >= 9000) late += kl / 1000;
  }
  expect(smallest).toBeGreaterThan(0);
  expect(Math.abs(late - 0.08)).toBeLessThan(0.002);
});

test("whatever is measured, tau stays in bounds and the state stays valid", () => {
  const entropies = fc.array(fc.oneof(fc.double({ min: -50, max: 50 }), fc.constantFrom(null, NaN, Infinity)), {
    maxLength: 40,
  });
  fc.assert(
    fc.property(entropies, fc.double({ min: 0, max: 5, noNaN: true }), (measured, learningRate) => {
      let state: MaxentController = start;
      measured.forEach((entropy, step) => {
        const before = JSON.stringify(state);
        const next = updateMaxentTau(state, { entropy, step }, { target: 1, learningRate, min: 0.1, max: 2 });
        expect(JSON.stringify(state)).toBe(before);
        state = next;
      });
      expect(state.tau).toBeGreaterThanOrEqual(0.1);
      expect(state.tau).toBeLessThanOrEqual(2);
      expect(maxentController(state)).toEqual(state);
    }),
  );
});

test("κ follows one rule: the sum, tau alone, or 1", () => {
  expect((["tau+beta", "tau", "one"] as const).map((mode) => maxentTemperature(0.5, 0.25, mode))).toEqual([
    0.75, 0.5, 1,
  ]);
});

test("four numbers carry a state over any transport", () => {
  const moved = updateMaxentTau(start, at(0.3), steer);
  const copy = applyMaxentController(maxentController({ tau: 7, beta: 7 }), packMaxentController(moved));
  expect(copy).toEqual(moved);
  // Numbers that are not set elsewhere leave those here.
  expect(applyMaxentController(moved, packMaxentController(start)).entropyAverage).toBe(moved.entropyAverage);
  expect(errorCode(() => applyMaxentController(moved, Float64Array.of(1, -1, 0, 0)))).toBe("ERR_SURPRISAL_OPTION");
  expect(errorCode(() => applyMaxentController(moved, Float64Array.of(1, NaN, 0, 0)))).toBe("ERR_SURPRISAL_OPTION");
  expect(errorCode(() => applyMaxentController(moved, Float64Array.of(1, 1)))).toBe("ERR_SURPRISAL_SHAPE");
  expect(errorCode(() => applyMaxentController(moved, Int32Array.of(1, 1, 1, 1) as never))).toBe("ERR_SURPRISAL_DTYPE");
});

test.each([1, 2, 3])("on %i workers the last rank's state is everybody's, to the last bit", async (size) => {
  const moved = updateMaxentTau(
    maxentController({ ...start, meta: { lastTauGradient: -0, lastBetaGradient: 0.1 } }),
    at(0.1 + 0.2),
    steer,
  );
  const states = Array.from({ length: size }, (_, rank) =>
    rank === size - 1 ? moved : maxentController({ tau: rank, beta: 1, entropyAverage: 3 }),
  );
  const got = await valuesOfRanks(states, (c, s, state) => [
    s.broadcastMaxentController(state, c, c.size - 1),
    s.broadcastMaxentController(s.maxentController({ tau: 1, beta: 0 }), c),
  ]);
  for (const [state, unset] of got) {
    expect(state).toEqual(moved);
    expect(unset).toMatchObject({ tau: 1, logTau: null, entropyAverage: null });
  }
});

test.each([
  ["a negative tau", () => maxentController({ tau: -1, beta: 0 }), "tau"],
  ["a NaN tau", () => maxentController({ tau: NaN, beta: 0 }), "tau"],
  ["a negative beta", () => maxentController({ tau: 1, beta: -1 }), "beta"],
  ["a NaN average", () => updateMaxentTau({ ...start, entropyAverage: NaN }, at(1), steer), "state.entropyAverage"],
  ["no state", () => updateMaxentTau(null as never, at(1), steer), "state"],
  ["half a step", () => updateMaxentTau(start, at(1, 0.5), steer), "step"],
  ["a negative horizon", () => maxentEntropyTarget(1, { targetHorizon: -1 }), "targetHorizon"],
  ["crossed bounds", () => updateMaxentTau(start, at(1), { ...steer, min: 2, max: 1 }), "max"],
  ["a decay above 1", () => updateMaxentTau(start, at(1), { ...steer, decay: 1.5 }), "decay"],
  ["a negative rate", () => maxentTauRate({ learningRate: -1 }), "learningRate"],
  ["a negative KL target", () => updateMaxentBeta(start, { kl: 1 }, { target: -1 }), "target"],
  [
    "a negative clip",
    () => maxentController({ tau: 1, beta: 1, meta: { betaGradientClip: -1 } }),
    "meta.betaGradientClip",
  ],
  ["half a step of an update", () => updateMaxentMeta(start, { tau: 1 }, { step: 0.5 }), "step"],
  [
    "a setting that nothing reads",
    () => maxentController({ tau: 1, beta: 1, meta: { optimizer: "sgd" } as never }),
    "meta.optimizer",
  ],
  ["foreign settings of no kind", () => maxentController({ tau: 1, beta: 1, foreign: { a: [] } as never }), "foreign"],
  ["a setting of no meaning", () => maxentController({ tau: 1, beta: 1, meta: { speed: 1 } as never }), "meta.speed"],
])("%s is refused by name", (_, call, name) => {
  expect(call).toThrow(
    expect.objectContaining({
      code: "ERR_SURPRISAL_OPTION",
      details: expect.objectContaining({ name }) as unknown,
    }) as Error,
  );
});

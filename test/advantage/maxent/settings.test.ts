import { maxentSettings } from "../../../lib";

test("a configuration of two numbers has the defaults of all functions, and κ by the rule of its mode", () => {
  const settings = maxentSettings({ tau: 0.5, beta: 0.25 });
  expect(settings).toMatchObject({
    mode: "tau+beta",
    temperature: 0.75,
    lengthNormalize: true,
    distribution: { temperature: 1, floor: 1e-6 },
  });
  expect(settings.tauUpdate).toMatchObject({
    target: null,
    learningRate: 0,
    min: 0,
    max: 0,
    warmupSteps: 0,
    decay: 0.9,
  });
  expect(maxentSettings({ tau: 0.5, beta: 0.25, mode: "tau" }).temperature).toBe(0.5);
  expect(maxentSettings({ tau: 0.5, beta: 0.25, mode: "one" }).temperature).toBe(1);
  expect(maxentSettings({ tau: 0.5, beta: 0.25, temperature: 3 }).temperature).toBe(3);
});

test.each([
  ["tau", { tau: NaN, beta: 0 }],
  ["beta", { tau: 1, beta: -1 }],
  ["temperature", { tau: 1, beta: 0, temperature: -1 }],
  ["distribution.floor", { tau: 1, beta: 0, distribution: { floor: -1 } }],
  ["distribution.temperature", { tau: 1, beta: 0, distribution: { temperature: NaN } }],
  ["tauUpdate.max", { tau: 1, beta: 0, tauUpdate: { min: 2, max: 1 } }],
  ["tauUpdate.warmupSteps", { tau: 1, beta: 0, tauUpdate: { warmupSteps: -2 } }],
  ["tauUpdate.targetHorizon", { tau: 1, beta: 0, tauUpdate: { targetHorizon: 0.5 } }],
  ["betaUpdate.target", { tau: 1, beta: 0, betaUpdate: { target: -1 } }],
  ["scale", { tau: 1, beta: 0, scale: "group" as "std" }],
])("%s out of its range is refused by name", (name, configuration) => {
  expect(() => maxentSettings(configuration)).toThrow(
    expect.objectContaining({
      code: "ERR_SURPRISAL_OPTION",
      details: expect.objectContaining({ name }) as unknown,
    }) as Error,
  );
});

import { klController, SurprisalError, updateKlController } from "surprisal";
import { thrownBy } from "../support/thrown-by";

const options = { target: 0.1, horizon: 1000 };

test("a KL on target leaves the coefficient alone, one above raises it, one below lowers it", () => {
  const state = klController(0.5);
  const after = (kl: number) => updateKlController(state, { kl, steps: 100 }, options).coefficient;
  expect(after(0.1)).toBe(0.5);
  // 10 % above target, a tenth of the horizon: 1 % more.
  expect(after(0.11)).toBeCloseTo(0.505, 12);
  expect(after(0.09)).toBeCloseTo(0.495, 12);
});

test("the error of one update is bounded, by 0.2 or by what is said", () => {
  const state = klController(1);
  expect(updateKlController(state, { kl: 50, steps: 1000 }, options).coefficient).toBeCloseTo(1.2, 12);
  expect(updateKlController(state, { kl: 0, steps: 1000 }, options).coefficient).toBeCloseTo(0.8, 12);
  expect(updateKlController(state, { kl: 50, steps: 1000 }, { ...options, errorLimit: 0.5 }).coefficient).toBeCloseTo(
    1.5,
    12,
  );
});

test("an update returns a new state and leaves the old one", () => {
  const state = Object.freeze(klController(0.1));
  expect(updateKlController(state, { kl: 1, steps: 64 }, options)).not.toBe(state);
  expect(state.coefficient).toBe(0.1);
});

test("the state survives JSON", () => {
  const state = updateKlController(klController(0.1), { kl: 0.3, steps: 7 }, options);
  expect(JSON.parse(JSON.stringify(state))).toEqual(state);
});

test.each([
  ["a NaN KL", () => updateKlController(klController(1), { kl: NaN, steps: 1 }, options), "measured.kl"],
  ["an infinite KL", () => updateKlController(klController(1), { kl: Infinity, steps: 1 }, options), "measured.kl"],
  ["negative steps", () => updateKlController(klController(1), { kl: 1, steps: -1 }, options), "measured.steps"],
  [
    "a target of 0",
    () => updateKlController(klController(1), { kl: 1, steps: 1 }, { ...options, target: 0 }),
    "target",
  ],
  [
    "a horizon of 0",
    () => updateKlController(klController(1), { kl: 1, steps: 1 }, { ...options, horizon: 0 }),
    "horizon",
  ],
  [
    "a negative limit",
    () => updateKlController(klController(1), { kl: 1, steps: 1 }, { ...options, errorLimit: -1 }),
    "errorLimit",
  ],
  ["a NaN coefficient", () => klController(NaN), "coefficient"],
])("%s is refused by name", (_, call, name) => {
  const error = thrownBy(call);
  expect(error).toBeInstanceOf(SurprisalError);
  expect(error).toMatchObject({ code: "ERR_SURPRISAL_OPTION", details: { name } });
});

// The adaptive coefficient of the entropy bonus, step by step.
import { appliedEntropyCoefficient, entropyCoefficient, updateEntropyCoefficient } from "../../lib";
import { errorCode } from "../support/error-code";

test("before the first measurement the coefficient is in force", () => {
  const state = entropyCoefficient(0.01);
  expect(state).toEqual({ coefficient: 0.01, lastEntropy: null });
  expect(appliedEntropyCoefficient(state)).toBe(0.01);
});

test("up by a step at or below the target, down above it; in force only at or below", () => {
  const options = { target: 0.5, step: 0.25 };
  const low = updateEntropyCoefficient(entropyCoefficient(0.25), 0.4, options);
  expect(low).toEqual({ coefficient: 0.5, lastEntropy: 0.4 });
  expect(appliedEntropyCoefficient(low, options)).toBe(0.5);
  const at = updateEntropyCoefficient(low, 0.5, options);
  expect(at).toEqual({ coefficient: 0.75, lastEntropy: 0.5 });
  expect(appliedEntropyCoefficient(at, options)).toBe(0.75);
  const high = updateEntropyCoefficient(at, 0.500001, options);
  expect(high).toEqual({ coefficient: 0.5, lastEntropy: 0.500001 });
  expect(appliedEntropyCoefficient(high, options)).toBe(0);
});

test("it stays within its bounds, also where it started outside", () => {
  const options = { target: 1, step: 0.3, min: 0.1, max: 0.4 };
  expect(updateEntropyCoefficient(entropyCoefficient(0.2), 0, options).coefficient).toBe(0.4);
  expect(updateEntropyCoefficient(entropyCoefficient(0.2), 2, options).coefficient).toBe(0.1);
  expect(updateEntropyCoefficient(entropyCoefficient(7), 0, options).coefficient).toBe(0.4);
});

test("the defaults are a target of 0.2, steps of 0.005 and bounds 0 and 1", () => {
  expect(updateEntropyCoefficient(entropyCoefficient(0.5), 0.2).coefficient).toBe(0.505);
  expect(updateEntropyCoefficient(entropyCoefficient(0.5), 0.21).coefficient).toBe(0.495);
  expect(updateEntropyCoefficient(entropyCoefficient(0.001), 1).coefficient).toBe(0);
  expect(updateEntropyCoefficient(entropyCoefficient(0.999), 0).coefficient).toBe(1);
});

test("an update makes a new state, and one stored as JSON goes on as if nothing had happened", () => {
  const state = Object.freeze(entropyCoefficient(0.1));
  const next = updateEntropyCoefficient(state, 0.1);
  expect(state).toEqual({ coefficient: 0.1, lastEntropy: null });
  const restored = JSON.parse(JSON.stringify(next)) as typeof next;
  expect(updateEntropyCoefficient(restored, 0.3)).toEqual(updateEntropyCoefficient(next, 0.3));
});

test.each([
  [() => entropyCoefficient(NaN), /entropyCoefficient: coefficient is NaN/],
  [() => updateEntropyCoefficient(entropyCoefficient(0), NaN), /updateEntropyCoefficient: entropy is NaN/],
  [
    () => updateEntropyCoefficient({ coefficient: NaN, lastEntropy: null }, 1),
    /updateEntropyCoefficient: state\.coefficient/,
  ],
  [() => updateEntropyCoefficient(entropyCoefficient(0), 1, { step: -1 }), /updateEntropyCoefficient: step is -1/],
  [() => updateEntropyCoefficient(entropyCoefficient(0), 1, { min: 2, max: 1 }), /updateEntropyCoefficient: max is 1/],
  [() => appliedEntropyCoefficient(entropyCoefficient(0), { target: -1 }), /appliedEntropyCoefficient: target is -1/],
  [
    () => appliedEntropyCoefficient({ coefficient: 0, lastEntropy: Infinity }),
    /appliedEntropyCoefficient: state\.lastEntropy/,
  ],
])("a number that would not let it recover is refused (%#)", (call, message) => {
  expect(errorCode(call)).toBe("ERR_SURPRISAL_OPTION");
  expect(call).toThrow(message);
});

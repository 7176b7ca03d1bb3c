// A call of native code gets its numbers and arrays in the addon's order, whatever order its caller names them in.
import type { Addon } from "../../lib/backend/addon";
import { hostBackend } from "../../lib/backend/native";

const SESSION = 7;

/** A backend of one op, and what its calls were given. */
function listening() {
  const numbers = new Float64Array(4);
  const calls: { readonly numbers: readonly number[]; readonly values: readonly unknown[] }[] = [];
  const call = (...values: unknown[]): number => {
    calls.push({ numbers: [...numbers.subarray(0, 2)], values });
    return 0;
  };
  const op = { numbers: ["n", "gamma"], arrays: ["a", "b", "c"], call, callAsync: () => 0 };
  const addon = { numbers, ops: { run: op }, lastError: () => "" } as unknown as Addon;
  const { run } = hostBackend("cpu", addon, SESSION).ops as unknown as Record<string, (args: object) => void>;
  return { run: run!, calls };
}

const [A, B] = [Float32Array.of(1), Float32Array.of(2)];
const EXPECTED = { numbers: [3, 0.5], values: [SESSION, A, B, null] };

test("in every order, again and again, and when orders change from call to call", () => {
  const { run, calls } = listening();
  const orders = [
    { n: 3, gamma: 0.5, a: A, b: B, c: null },
    { c: null, b: B, gamma: 0.5, a: A, n: 3 },
    { a: A, n: 3, b: B, gamma: 0.5, c: null },
    { gamma: 0.5, c: null, n: 3, b: B, a: A },
    { b: B, a: A, c: null, gamma: 0.5, n: 3 },
    { n: 3, a: A, gamma: 0.5, b: B, c: null },
  ];
  for (const order of [...orders, ...orders.reverse(), ...orders.flatMap((one) => [one, one])]) run(order);
  expect(calls).toHaveLength(24);
  for (const one of calls) expect(one).toEqual(EXPECTED);
});

test("a field that the op does not have is passed over; what a call lacks is never that of the call before", () => {
  const { run, calls } = listening();
  const whole = { n: 3, gamma: 0.5, a: A, b: B, c: null };
  for (let i = 0; i < 3; ++i) run({ ...whole, beside: 1 });
  run(whole);
  run({ n: 3, a: A, b: B });
  run({ n: 3, gamma: 0.5, a: A });
  run({});
  for (const one of calls.slice(0, 4)) expect(one).toEqual(EXPECTED);
  expect(calls.slice(4)).toEqual([
    { numbers: [3, NaN], values: [SESSION, A, B, undefined] },
    { numbers: [3, 0.5], values: [SESSION, A, undefined, undefined] },
    { numbers: [NaN, NaN], values: [SESSION, undefined, undefined, undefined] },
  ]);
});

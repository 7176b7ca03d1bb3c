// The reduced set of `npm run accuracy`: every op within the budget of its header, and a table that would say if it were not.
import { FAMILIES } from "../../bench/accuracy/families";
import { exact, unstated } from "../../bench/accuracy/budgets";
import { type Case, compare, isOutside, measure, type Measurement } from "../../bench/accuracy/measure";
import { toMarkdown } from "../../bench/accuracy/table";
import { jsBackend } from "../../lib/backend/js";
import { eachBackend } from "../support/each-backend";

const CASES = Object.fromEntries(Object.entries(FAMILIES).map(([family, cases]) => [family, cases(true)]));

/** What the report of a failure shows. */
function findingOf({ op, output, dtype, input, used, maxAbs }: Measurement): string {
  return `${op}: ${output}, ${dtype}, ${input}: ${maxAbs} is ${used ?? NaN} of the budget`;
}

/** The case with one element of each output moved by `error`. */
function spoiled(one: Case, error: (x: number) => number): Case {
  return {
    ...one,
    run: (backend) =>
      Object.fromEntries(
        Object.entries(one.run(backend)).map(([name, values]) => {
          const numbers = Array.from(values);
          numbers[numbers.length - 1] = error(numbers[numbers.length - 1]!);
          return [name, numbers];
        }),
      ),
  };
}

eachBackend((backend) => {
  test.each(Object.keys(CASES))("every figure of %s is within its budget", (family) => {
    const measured = CASES[family]!.flatMap((one) => measure(one, backend));
    expect(measured.length).toBeGreaterThan(0);
    expect(measured.filter(isOutside).map(findingOf)).toEqual([]);
  });

  test.each(Object.keys(CASES))("a wrong value of %s is outside", (family) => {
    for (const one of CASES[family]!) {
      const promised = Object.values(one.want).filter(({ budget }) => budget.allowed).length;
      const wrong = measure(
        spoiled(one, (x) => 1.01 * x + (x < 0 ? -1e32 : 1e32)),
        backend,
      );
      // A number of 1e150 does not notice 1e32, but the hundredth.
      expect(wrong.filter(isOutside)).toHaveLength(promised);
      expect(
        measure(
          spoiled(one, () => NaN),
          backend,
        ).every(isOutside),
      ).toBe(true);
    }
  });
});

/** Ops without a case of their own, and why. */
const NO_CASE: Readonly<Record<string, string>> = {};

test("every op of the table runs in some case, or says why not", () => {
  const table = jsBackend.ops as unknown as Record<string, (args: unknown) => void>;
  const seen = new Set<string>();
  const spies = Object.keys(table).map((op) => {
    const run = table[op]!;
    return jest.spyOn(table, op).mockImplementation((args) => {
      seen.add(op);
      run(args);
    });
  });
  for (const cases of Object.values(CASES)) for (const one of cases) one.run("js");
  for (const spy of spies) spy.mockRestore();
  expect(
    Object.keys(table)
      .filter((op) => !seen.has(op))
      .sort(),
  ).toEqual(Object.keys(NO_CASE).sort());
});

test("an error beyond the budget is outside, at it within, without one neither", () => {
  const budget = { says: "1e-3", allowed: () => 1e-3 };
  expect(compare([1.002], { values: [1], budget })).toMatchObject({ within: false });
  expect(compare([1 + 2 ** -10], { values: [1], budget })).toMatchObject({
    within: true,
    maxRel: 2 ** -10,
    maxAbs: 2 ** -10,
  });
  expect(compare([1 + 2 ** -52], { values: [1], budget: exact })).toMatchObject({ within: false, used: Infinity });
  expect(compare([2], { values: [1], budget: unstated })).toMatchObject({ within: undefined, used: undefined });
});

test("NaN and infinities are right or infinitely wrong", () => {
  expect(compare([NaN, Infinity], { values: [NaN, Infinity], budget: exact })).toMatchObject({
    within: true,
    maxAbs: 0,
  });
  for (const [got, want] of [
    [NaN, 1],
    [1, NaN],
    [Infinity, 1],
    [-Infinity, Infinity],
  ] as const)
    expect(compare([got], { values: [want], budget: unstated })).toMatchObject({ within: false, maxAbs: Infinity });
  expect(() => compare([1], { values: [1, 2], budget: exact })).toThrow("1 results, the definition has 2");
});

test("the page names what is outside and what was not measured", () => {
  const one: Case = {
    op: "op",
    dtype: "float32",
    input: "a|b",
    want: { y: { values: [1], budget: exact } },
    run: () => ({ y: [1.5] }),
  };
  const page = toMarkdown({
    node: "20.0.0",
    backends: [
      { name: "js", available: true },
      { name: "cuda", available: false },
    ],
    families: { family: measure(one, "js") },
  });
  const figure = "op: y | float32 | js | a\\|b | 5.0e-1 | 5.0e-1 | **outside** |";
  expect(page).toContain(`| family | exact | 0 of 1 | ${figure}`);
  expect(page).toContain(`| exact | ${figure}`);
  expect(page).toContain("Backends measured: js; not available: cuda.");
  expect(page).toContain("## Outside their budget");
});

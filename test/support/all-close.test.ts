import "./all-close";

const loose = { rtol: 1e-3, atol: 0 };

/** The message of the failed expectation, or undefined when it held. */
function failure(check: () => void): string | undefined {
  try {
    check();
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}

test("equal numbers, arrays and nestings are close with no tolerance at all", () => {
  expect(1).toBeAllClose(1, {});
  expect(new Float32Array([1, 2])).toBeAllClose([1, 2], {});
  expect({ a: [new Float64Array([1]), 2], b: "text" }).toBeAllClose({ a: [[1], 2], b: "text" }, {});
  expect([]).toBeAllClose(new Int32Array(0), {});
  expect(0).toBeAllClose(-0, {});
});

test("the allowance is atol + rtol * |want|", () => {
  expect(100.09).toBeAllClose(100, loose);
  expect(100.11).not.toBeAllClose(100, loose);
  expect(0.5).toBeAllClose(0, { atol: 0.5 });
  expect(0.5).not.toBeAllClose(0, { rtol: 1 });
  expect(-100.15).toBeAllClose(-100, { rtol: 1e-3, atol: 0.06 });
});

test("NaN equals NaN only, an infinity only the same infinity", () => {
  expect([NaN, Infinity, -Infinity]).toBeAllClose([NaN, Infinity, -Infinity], {});
  const huge = { rtol: 1e30, atol: Infinity };
  expect(NaN).not.toBeAllClose(1, huge);
  expect(1).not.toBeAllClose(NaN, huge);
  expect(Infinity).not.toBeAllClose(-Infinity, huge);
  expect(1e308).not.toBeAllClose(Infinity, huge);
  expect(Infinity).not.toBeAllClose(1, { rtol: 1, atol: 1 });
});

test("structure counts: lengths, keys, kinds", () => {
  expect([1, 2]).not.toBeAllClose([1], loose);
  expect([1]).not.toBeAllClose([1, 2], loose);
  expect({ a: 1 }).not.toBeAllClose({ a: 1, b: 2 }, loose);
  expect({ a: 1, b: 2 }).not.toBeAllClose({ a: 1 }, loose);
  expect([[1, 2]]).not.toBeAllClose([1, 2], loose);
  expect(undefined).not.toBeAllClose(1, loose);
  expect(null).not.toBeAllClose(0, loose);
  expect("1").not.toBeAllClose(1, loose);
  expect(true).not.toBeAllClose(1, loose);
});

test("the message names the count, the worst element, both values and what was allowed", () => {
  const message = failure(() => expect([1, 2.5, 4, 8]).toBeAllClose([1, 2, 3, 8], { rtol: 0, atol: 0.25 }));
  expect(message).toContain("value: 2 of 4 differ; worst at [2]: got 4, expected 3, difference 1, allowed 0.25");
});

test("a wrong NaN is worse than any wrong number", () => {
  expect(failure(() => expect([1e9, NaN]).toBeAllClose([0, 0], {}))).toContain("worst at [1]: got NaN");
});

test("the path of a nested mismatch is given", () => {
  const message = failure(() => expect({ a: [new Float32Array([1]), 3] }).toBeAllClose({ a: [[1], 2] }, {}));
  expect(message).toContain("value.a[1]: 1 of 1 differ");
  expect(failure(() => expect({ a: [1] }).toBeAllClose({ a: [1, 2] }, {}))).toContain(
    "value.a: length is 1, expected 2",
  );
});

test("the negated form explains itself too", () => {
  expect(failure(() => expect([1]).not.toBeAllClose([1], {}))).toContain("value: all 1 close");
});

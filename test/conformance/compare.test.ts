import { compareOutputs } from "./compare";
import type { GoldenArray, GoldenCase, GoldenRecord } from "./golden";

const matrix: GoldenArray = { dtype: "float64", shape: [2, 2], data: Float64Array.of(1, 2, NaN, Infinity) };

function compare(got: Record<string, unknown>, outputs: GoldenRecord, more: Partial<GoldenCase> = {}) {
  const golden: GoldenCase = {
    name: "c",
    inputs: {},
    outputs,
    rtol: 0,
    atol: 0.01,
    failure: undefined,
    upstreamOnly: false,
    upstreamOnlyOutputs: [],
    ...more,
  };
  return compareOutputs(got, golden);
}

const messages = (got: Record<string, unknown>, outputs: GoldenRecord, more?: Partial<GoldenCase>) =>
  compare(got, outputs, more).differences.map(({ path, message }) => `${path}: ${message}`);

test("numbers, arrays, lists, records and words that agree leave no difference", () => {
  const got = {
    a: Float32Array.of(1.005, 2, NaN, Infinity),
    shaped: { data: [1, 2, NaN, Infinity], shape: [2, 2] },
    n: 3,
    list: [[1], "x"],
    record: { "a/b": 1, extra: 2 },
    word: "yes",
    nothing: null,
    flag: true,
    more: 1,
  };
  const want = {
    a: matrix,
    shaped: matrix,
    n: 3,
    list: [[1], "x"],
    record: { "a/b": 1 },
    word: "yes",
    nothing: null,
    flag: true,
  };
  expect(messages(got, want)).toEqual([]);
});

test("a wrong number names the worst element, what was wanted and how many differ", () => {
  expect(compare({ a: [1, 2.5, 0, Infinity] }, { a: matrix }).differences).toEqual([
    {
      path: "a",
      message: "got 0, expected NaN within 0 at [2], 2 of 4 differ",
      numbers: { mismatches: 2, compared: 4, index: 2, got: 0, want: NaN, allowed: 0 },
    },
  ]);
  expect(messages({ n: 1.02 }, { n: 1 })).toEqual(["n: got 1.02, expected 1 within 0.01"]);
});

test("missing outputs, wrong lengths, shapes and kinds are differences", () => {
  expect(messages({}, { a: matrix })).toEqual(["a: the mapping does not return it"]);
  expect(messages({ a: [1] }, { a: matrix })).toEqual(["a: length is 1, expected 4 (shape [2, 2])"]);
  expect(messages({ a: { data: [1, 2, NaN, Infinity], shape: [4] } }, { a: matrix })).toEqual([
    "a: shape is [4], expected [2, 2]",
  ]);
  expect(messages({ a: "x" }, { a: matrix })).toEqual(['a: got "x", expected numbers of shape [2, 2]']);
  expect(messages({ n: undefined }, { n: null })).toEqual(["n: got undefined, expected null"]);
  expect(messages({ n: 1 }, { n: true })).toEqual(["n: got 1, expected true"]);
  expect(messages({ r: { a: 1 } }, { r: { b: 1 } })).toEqual(['r["b"]: the mapping does not return it']);
  expect(messages({ l: [[1], [2, 3]] }, { l: [[1], [2]] })).toEqual(["l[1]: length is 2, expected 1"]);
});

test("outputs that only the source gives are not compared", () => {
  expect(messages({ n: 1 }, { n: 1, a: matrix }, { upstreamOnlyOutputs: ["a"] })).toEqual([]);
});

test("undefined positions are counted and not compared", () => {
  const golden: GoldenCase = {
    name: "c",
    inputs: {},
    outputs: { a: matrix, n: 1 },
    rtol: 0,
    atol: 0,
    failure: undefined,
    upstreamOnly: false,
    upstreamOnlyOutputs: [],
  };
  const got = { a: [1, 99, NaN, 99], n: 1 };
  expect(compareOutputs(got, golden, { a: [1, 0, 1, 0] })).toMatchObject({ differences: [], maskedNotCompared: 2 });
  expect(compareOutputs(got, golden, { a: [1, 0, 1, 1] }).differences[0]?.message).toContain("1 of 3 differ");
  expect(compareOutputs(got, golden, { a: [1, 0] }).differences[0]?.message).toContain(
    "2 flags of defined elements for 4",
  );
  expect(compareOutputs(got, golden, { n: [0] }).differences.at(-1)?.message).toContain("is not an array");
  expect(compareOutputs(got, golden, { a: [[1, 0]] }).differences.at(-1)?.message).toContain("is not an array");
});

test("a list of arrays has flags for each", () => {
  const golden: GoldenCase = {
    name: "c",
    inputs: {},
    outputs: { a: [matrix, matrix] },
    rtol: 0,
    atol: 0,
    failure: undefined,
    upstreamOnly: false,
    upstreamOnlyOutputs: [],
  };
  const got = { a: [matrix.data, [1, 99, NaN, 99]] };
  const all = [1, 1, 1, 1];
  expect(compareOutputs(got, golden, { a: [all, [1, 0, 1, 0]] })).toMatchObject({
    differences: [],
    maskedNotCompared: 2,
  });
  expect(compareOutputs(got, golden, { a: [all, all] }).differences[0]?.path).toBe("a[1]");
  expect(compareOutputs(got, golden, { a: [all] }).differences[0]?.message).toContain(
    "flags for 1 arrays, expected for 2",
  );
});

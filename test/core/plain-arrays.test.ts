// Plain arrays, nested rows and tensors of other libraries in the place of typed arrays.
import { readFileSync } from "node:fs";
import * as path from "node:path";
import * as surprisal from "../../lib";
import { CASES, type Send } from "../support/device-cases";
import { errorCode } from "../support/error-code";

const {
  advantagePipeline,
  computeAdvantages,
  findSpans,
  gae,
  groupNormalize,
  linearLogprob,
  logprob,
  logRatio,
  policyLoss,
  whiten,
} = surprisal;

type Functions = Readonly<Record<string, (...args: unknown[]) => unknown>>;
const functions = surprisal as unknown as Functions;

/** All numbers of a result, in order. */
function numbersOf(value: unknown): number[] {
  if (typeof value === "number" || typeof value === "bigint") return [Number(value)];
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<number>, Number);
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(numbersOf) : [];
}

const isHalf = (array: ArrayBufferView) => array instanceof Uint16Array;
const listed = ((array: ArrayLike<number> & ArrayBufferView) =>
  isHalf(array) ? array : Array.from(array)) as unknown as Send;
const TYPES: Readonly<Record<string, string>> = {
  Float32Array: "float32",
  Float64Array: "float64",
  Int32Array: "int32",
  Uint8Array: "bool",
};
const tensor = ((array: ArrayLike<number> & ArrayBufferView) =>
  isHalf(array)
    ? array
    : { data: array, dims: [array.length], type: TYPES[array.constructor.name] }) as unknown as Send;
const asGiven = ((array: unknown) => array) as Send;

describe("every op on arrays", () => {
  const onJs = "js" as never;
  // What another call returned comes back as it was.
  const RETURNED = [
    "logprobBackward",
    "keptLogprobBackward",
    "linearLogprobBackward",
    "mergeMoments",
    "whiten, given moments",
  ];
  const cases = CASES.filter(({ title }) => !RETURNED.includes(title)).map((one) => [one.title, one] as const);
  // The tensor of a matrix has two dimensions, and the ones made here have one.
  const flat = cases.filter(([, { op }]) => !/^(logprob|kept|linear|divergence|topLogits)/.test(op));

  test.each(cases)("%s takes plain arrays", (_, { run }) => {
    const want = numbersOf(run(asGiven, onJs));
    const got = numbersOf(run(listed, onJs));
    expect(got).toHaveLength(want.length);
    got.forEach((x, i) => {
      if (Number.isFinite(want[i]!))
        expect(Math.abs(x - want[i]!)).toBeLessThanOrEqual(1e-4 * (1 + Math.abs(want[i]!)));
      else expect(x).toBe(want[i]);
    });
  });

  test.each(flat)("%s takes tensors of ONNX Runtime, with the bits of typed arrays", (_, { run }) => {
    expect(numbersOf(run(tensor, onJs))).toEqual(numbersOf(run(asGiven, onJs)));
  });
});

describe("every public function that takes arrays", () => {
  const text = readFileSync(path.join(__dirname, "../../lib/index.ts"), "utf8");
  const entries = [...text.matchAll(/checked(?:Async)?\(\s*"(\w+)",\s*\(\) => from\.\w+,\s*"([^"]*:[^"]*)"/g)].map(
    ([, name, takes]) => [name!, takes!] as const,
  );

  test("are found", () => {
    expect(entries.length).toBeGreaterThan(60);
  });

  test.each(entries)("%s refuses no plain array for being one", async (name, takes) => {
    // Arrays of two numbers everywhere: sizes may be wrong then, and nothing is of the wrong type.
    const plain = (kind: string) => (kind === "l" ? [[1, 0]] : [1, 0]);
    const args = takes.match(/\w+\??(?::\w|\*|""|\[\]|\(\)|<[^<>]*>|\{(?:[^{}]|\{[^{}]*\})*\})?/g)!.map((argument) => {
      const [, kind] = /^\w+\??:(\w)/.exec(argument) ?? [];
      if (kind) return plain(kind);
      if (!argument.includes("{")) return undefined;
      const fields = argument.replace(/\w+\{[^{}]*\}/g, "").matchAll(/(\w+):(\w)/g);
      return Object.fromEntries([...fields].map(([, field, of]) => [field, plain(of!)])) as object;
    });
    let code: unknown;
    try {
      await functions[name]!(...args);
    } catch (error) {
      const { details } = error as { details?: { got?: unknown } };
      code = Array.isArray(details?.got) && (details.got as unknown[]).length === 2 ? errorCodeOf(error) : undefined;
    }
    expect(code).not.toBe("ERR_SURPRISAL_DTYPE");
  });
});

const errorCodeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

describe("worked examples as they are printed", () => {
  test("two episodes of different lengths", () => {
    const { advantages, offsets } = gae(
      [
        [0, 0, 1],
        [0, 1],
      ],
      [
        [0.5, 0.6, 0.7],
        [0.1, 0.2],
      ],
      { gamma: 0.9, lambda: 0.9 },
    );
    const packed = gae(Float64Array.of(0, 0, 1, 0, 1), Float64Array.of(0.5, 0.6, 0.7, 0.1, 0.2), {
      offsets: Int32Array.of(0, 3, 5),
      gamma: 0.9,
      lambda: 0.9,
    });
    expect(advantages).toEqual(packed.advantages);
    expect(offsets).toEqual(Int32Array.of(0, 3, 5));
  });

  test("rewards of groups, with responses of their own lengths", () => {
    const { advantages, rowAdvantages } = computeAdvantages("grpo", {
      rewards: [1, 0, 1, 1],
      groups: ["a", "a", "b", "b"],
      mask: [[1, 1], [1], [true, false], [1]],
    });
    expect(Array.from(rowAdvantages, (x) => Number(x.toFixed(4)))).toEqual([0.7071, -0.7071, 0, 0]);
    expect(Array.from(advantages, (x) => Number(x.toFixed(4)))).toEqual([0.7071, 0.7071, -0.7071, 0, 0, 0]);
  });

  test("each batch of a pipeline has rows of its own", () => {
    const options = { estimator: "grpo", groups: "all" } as const;
    const { batches } = advantagePipeline(
      [
        { rewards: [1, 0], mask: [[1, 1], [1]] },
        { rewards: [1], mask: [[1, 0]] },
      ],
      options,
    );
    const typed = advantagePipeline(
      [
        { rewards: Float64Array.of(1, 0), mask: Uint8Array.of(1, 1, 1), offsets: Int32Array.of(0, 2, 3) },
        { rewards: Float64Array.of(1), mask: Uint8Array.of(1, 0), offsets: Int32Array.of(0, 2) },
      ],
      options,
    );
    expect(batches).toEqual(typed.batches);
    expect(Array.from(batches[1]!.advantages, (x) => Number(x.toFixed(4)))).toEqual([0.5774, 0]);
  });

  test("a policy loss over rows", () => {
    const rows = { logProbs: [[-1, -2], [-0.5]], oldLogProbs: [[-1.1, -2], [-0.7]], advantages: [[1, 1], [-1]] };
    const want = policyLoss(
      "ppo",
      {
        logProbs: Float64Array.of(-1, -2, -0.5),
        oldLogProbs: Float64Array.of(-1.1, -2, -0.7),
        advantages: Float64Array.of(1, 1, -1),
        offsets: Int32Array.of(0, 2, 3),
      },
      { clip: 0.2 },
    );
    expect(policyLoss("ppo", rows, { clip: 0.2 })).toMatchObject({ loss: want.loss, gradLogProbs: want.gradLogProbs });
  });

  test("logits are a matrix, in float32", () => {
    const logits = [
      [1, 2, 3],
      [0, 0, 0],
    ];
    expect(logprob(logits, [2, 1])).toEqual(logprob(Float32Array.from(logits.flat()), [2, 1], { shape: [2, 3] }));
    const head = linearLogprob(logits, [[1, 0, 0], [0, 1, 0]], [0, 1]); // oxfmt-ignore
    expect(head.logProbs).toBeInstanceOf(Float32Array);
    expect(Array.from(head.logProbs, (x) => Number(x.toFixed(4)))).toEqual([-1.3133, -0.6931]);
  });

  test("token ids are rows too", () => {
    const { spans, offsets } = findSpans([[5, 1, 2, 6, 5], [5, 6]], { start: [5], end: [6] }); // oxfmt-ignore
    expect(Array.from(spans)).toEqual([0, 1, 4, 1, 1, 2]);
    expect(offsets).toEqual(Int32Array.of(0, 5, 7));
  });

  test("a tensor of several dimensions says where its rows lie, and a mask of int64 is one", () => {
    const values = { data: Float32Array.of(1, 2, 3, 4), dims: [2, 2], type: "float32" };
    const mask = { data: BigInt64Array.of(1n, 1n, 1n, 0n), dims: [2, 2], type: "int64" };
    expect(whiten(values, { over: "row", mask })).toEqual(
      whiten(values.data, { over: "row", mask: Uint8Array.of(1, 1, 1, 0), shape: [2, 2] }),
    );
  });
});

describe("types", () => {
  const shape = [1, 2] as const;
  test("float64 alone, else the widest of the typed arrays of the call", () => {
    expect(groupNormalize([1, 0], { groups: "all" }).normalized).toBeInstanceOf(Float64Array);
    expect(logRatio([-1, -2], [-1, -1], { shape, level: "token" }).ratios).toBeInstanceOf(Float64Array);
    expect(logRatio(Float32Array.of(-1, -2), [-1, -1], { shape, level: "token" }).ratios).toBeInstanceOf(Float32Array);
    expect(logRatio([-1, -2], Float64Array.of(-1, -1), { shape, level: "token" }).ratios).toBeInstanceOf(Float64Array);
  });
  test("the caller's arrays stay as they are", () => {
    const batch = { rewards: [1, 0], groups: [0, 0], mask: [[1, 1], [1]] };
    const before = JSON.stringify(batch);
    computeAdvantages("grpo", batch);
    expect(JSON.stringify(batch)).toBe(before);
  });
});

describe("refused", () => {
  const two = [[1, 2], [3]];
  const run = functions;
  test.each<[string, () => unknown, string, RegExp]>([
    [
      "rows of other lengths",
      () => run["gae"]!(two, [[1, 2], [3, 4]], { gamma: 1, lambda: 1 }), // oxfmt-ignore
      "ERR_SURPRISAL_SHAPE",
      /^gae: values\[1\] has 2 elements, expected 1, as row 1 of rewards has/,
    ],
    [
      "another number of rows",
      () => run["gae"]!(two, [[1, 2]], { gamma: 1, lambda: 1 }),
      "ERR_SURPRISAL_SHAPE",
      /^gae: values has 1 rows, expected 2, as rewards has/,
    ],
    [
      "rows that the shape has not",
      () => run["gae"]!(two, [1, 2, 3, 4], { gamma: 1, lambda: 1, shape: [2, 2] }),
      "ERR_SURPRISAL_SHAPE",
      /^gae: rewards\[1\] has 1 elements, expected 2, as row 1 of shape has/,
    ],
    [
      "something that is no number",
      () => run["whiten"]!([1, "2"]),
      "ERR_SURPRISAL_VALUE",
      /^whiten: values\[1\] is "2", expected a number/,
    ],
    [
      "an offset that no int32 holds",
      () => run["gae"]!([1, 2], [1, 2], { gamma: 1, lambda: 1, offsets: [0, 2 ** 31] }),
      "ERR_SURPRISAL_RANGE",
      /^gae: offsets\[1\] is 2147483648, expected an int32/,
    ],
    [
      "something that is no flag",
      () => run["whiten"]!([1, 2], { mask: [1, null] }),
      "ERR_SURPRISAL_VALUE",
      /^whiten: mask\[1\] is null, expected 0, 1, true or false/,
    ],
    [
      "a number among rows",
      () => run["gae"]!([[1, 2], 3], two, { gamma: 1, lambda: 1 }),
      "ERR_SURPRISAL_VALUE",
      /^gae: rewards\[1\] is 3, expected an array/,
    ],
    [
      "ragged logits",
      () => run["logprob"]!([[1, 2], [3]], [0, 0]),
      "ERR_SURPRISAL_SHAPE",
      /^logprob: logits\[1\] has 1 elements, expected 2, as logits\[0\] has/,
    ],
    [
      "an array of another library, whose numbers are to be waited for",
      () => run["whiten"]!({ data: () => Promise.resolve(), shape: [2], dtype: "float32" }),
      "ERR_SURPRISAL_DTYPE",
      /^whiten: values is an object, expected .*; await values\.data\(\) gives its numbers/,
    ],
    [
      "the same in the place of logits",
      () => run["logprob"]!({ data: () => Promise.resolve(), shape: [1, 2], dtype: "float32" }, [0]),
      "ERR_SURPRISAL_DTYPE",
      /^logprob: logits is an object, expected .*; await logits\.data\(\) gives its numbers/,
    ],
    [
      "a text in the place of token ids",
      () => run["findSpans"]!([1, 2], { start: "<step>", end: [2], shape: [1, 2] }),
      "ERR_SURPRISAL_DTYPE",
      /start is "<step>", expected token ids; delimiterVariants\("<step>", encode\)/,
    ],
  ])("%s", (_, call, code, message) => {
    expect(errorCode(call)).toBe(code);
    expect(call).toThrow(message);
  });
});

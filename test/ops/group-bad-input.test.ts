// What callers get wrong: each with its code, nothing written, the process alive.
import { groupBroadcast, groupNormalize, groupSoftmax, groupTop2 } from "../../lib/ops/group";
import { eachBackend } from "../support/each-backend";

function code(call: () => unknown): string | undefined {
  try {
    call();
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return undefined;
}

const x = Float32Array.of(1, 2, 4);

function detached(): Float32Array {
  const array = new Float32Array(3);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

eachBackend((backend) => {
  // Every op on groups of items, with options that would be right.
  const ops = {
    groupNormalize: (values: Float32Array, options: object) =>
      groupNormalize(values, { groups: "all", backend, ...options }),
    groupSoftmax: (values: Float32Array, options: object) =>
      groupSoftmax(values, { groups: "all", backend, ...options }),
    groupTop2: (values: Float32Array, options: object) => groupTop2(values, { groups: "all", backend, ...options }),
  };

  describe.each(Object.entries(ops))("%s", (_, op) => {
    test("values of the wrong kind", () => {
      for (const values of [[1, 2, 3], Int32Array.of(1), new DataView(new ArrayBuffer(8)), null, undefined, "abc"])
        expect(code(() => op(values as unknown as Float32Array, {}))).toBe("ERR_SURPRISAL_DTYPE");
    });

    test("a detached buffer", () => {
      expect(code(() => op(detached(), {}))).toBe("ERR_SURPRISAL_BUFFER");
    });

    test("labels", () => {
      expect(code(() => op(x, { groups: [0, 1] }))).toBe("ERR_SURPRISAL_SHAPE");
      expect(code(() => op(x, { groups: Float32Array.of(0, 1, 2) }))).toBe("ERR_SURPRISAL_DTYPE");
      expect(code(() => op(x, { groups: [0, 1.5, 2] }))).toBe("ERR_SURPRISAL_VALUE");
      expect(code(() => op(x, { groups: [0, 0, 0], groupOffsets: Int32Array.of(0, 3) }))).toBe("ERR_SURPRISAL_OPTION");
    });

    test("offsets that go down, past the end, or do not reach it", () => {
      for (const offsets of [
        [0, 2, 1, 3],
        [0, 4],
        [0, 2],
        [1, 3],
        [-1, 3],
      ])
        expect(code(() => op(x, { groups: undefined, groupOffsets: Int32Array.from(offsets) }))).toBe(
          "ERR_SURPRISAL_RANGE",
        );
      expect(code(() => op(x, { groups: undefined, groupOffsets: new Int32Array(0) }))).toBe("ERR_SURPRISAL_SHAPE");
      expect(code(() => op(x, { groups: undefined, groupOffsets: Float32Array.of(0, 3) }))).toBe("ERR_SURPRISAL_DTYPE");
    });

    test("a backend that does not exist", () => {
      expect(code(() => op(x, { backend: "gpu" }))).toBe("ERR_SURPRISAL_OPTION");
    });

    test("shared and resizable buffers are accepted", () => {
      const shared = new Float32Array(new SharedArrayBuffer(12));
      const resizable = new Float32Array(Reflect.construct(ArrayBuffer, [12, { maxByteLength: 64 }]) as ArrayBuffer);
      shared.set(x);
      resizable.set(x);
      expect(op(shared, {})).toEqual(op(x, {}));
      expect(op(resizable, {})).toEqual(op(x, {}));
    });
  });

  test.each(["ddof", "epsilon", "varianceFloor"])("groupNormalize: %s that is no finite number >= 0", (name) => {
    const normalized = new Float32Array(3).fill(9);
    for (const value of [NaN, Infinity, -Infinity, -1e-9, "1"])
      expect(code(() => groupNormalize(x, { groups: "all", [name]: value, out: { normalized }, backend }))).toBe(
        "ERR_SURPRISAL_OPTION",
      );
    expect(Array.from(normalized)).toEqual([9, 9, 9]);
  });

  test.each(["center", "scale", "singleton", "nan"])("groupNormalize: an unknown word for %s", (name) => {
    expect(code(() => groupNormalize(x, { groups: "all", [name]: "median", backend }))).toBe("ERR_SURPRISAL_OPTION");
  });

  test("groupSoftmax: a temperature that is negative or not finite", () => {
    for (const temperature of [-1, NaN, Infinity, -Infinity])
      expect(code(() => groupSoftmax(x, { groups: "all", temperature, backend }))).toBe("ERR_SURPRISAL_OPTION");
  });

  test("outputs of the wrong size, type or place", () => {
    expect(code(() => groupNormalize(x, { groups: "all", out: { normalized: new Float32Array(2) }, backend }))).toBe(
      "ERR_SURPRISAL_SHAPE",
    );
    expect(code(() => groupNormalize(x, { groups: "all", out: { means: new Float64Array(1) }, backend }))).toBe(
      "ERR_SURPRISAL_DTYPE",
    );
    expect(code(() => groupNormalize(x, { groups: "all", out: { stds: detached() }, backend }))).toBe(
      "ERR_SURPRISAL_BUFFER",
    );
    const memory = new Float32Array(8);
    const values = memory.subarray(0, 4);
    expect(
      code(() => groupNormalize(values, { groups: "all", out: { normalized: memory.subarray(3, 7) }, backend })),
    ).toBe("ERR_SURPRISAL_BUFFER");
    expect(code(() => groupNormalize(values, { groups: "all", out: { normalized: values }, backend }))).toBe(
      "ERR_SURPRISAL_BUFFER",
    );
    expect(code(() => groupSoftmax(values, { groups: "all", out: { weights: memory.subarray(1, 5) }, backend }))).toBe(
      "ERR_SURPRISAL_BUFFER",
    );
    const groups = new Int32Array(memory.buffer, 16, 4);
    expect(code(() => groupSoftmax(values, { groups, out: { weights: memory.subarray(4) }, backend }))).toBe(
      "ERR_SURPRISAL_BUFFER",
    );
    expect(
      code(() =>
        groupNormalize(values, {
          groups: "all",
          out: { means: memory.subarray(5, 6), stds: memory.subarray(5, 6) },
          backend,
        }),
      ),
    ).toBe("ERR_SURPRISAL_BUFFER");
    expect(Array.from(memory)).toEqual(new Array(8).fill(0));
  });

  test("groupBroadcast", () => {
    const row = Float32Array.of(1, 2);
    const tokens = new Float32Array(4).fill(9);
    const run = (options: object, values: unknown = row) =>
      code(() => groupBroadcast(values as Float32Array, { shape: [2, 2], out: { tokens }, backend, ...options }));
    expect(run({}, Float32Array.of(1))).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({}, Int32Array.of(1, 2))).toBe("ERR_SURPRISAL_DTYPE");
    expect(run({}, detached())).toBe("ERR_SURPRISAL_BUFFER");
    expect(run({ shape: [2, -2] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ shape: [2, NaN] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ shape: [2, 3] })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ shape: undefined })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ offsets: Int32Array.of(0, 2, 4) })).toBe("ERR_SURPRISAL_OPTION");
    expect(run({ shape: undefined, offsets: Int32Array.of(0, 3, 2) })).toBe("ERR_SURPRISAL_RANGE");
    expect(run({ mask: Uint8Array.of(1) })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ mask: Int32Array.of(1, 1, 1, 1) })).toBe("ERR_SURPRISAL_DTYPE");
    expect(run({ rowFactors: Float32Array.of(1) })).toBe("ERR_SURPRISAL_SHAPE");
    expect(run({ out: { tokens: new Float64Array(4) } })).toBe("ERR_SURPRISAL_DTYPE");
    expect(run({ mask: new Uint8Array(tokens.buffer, 2, 4) })).toBe("ERR_SURPRISAL_BUFFER");
    expect(Array.from(tokens)).toEqual([9, 9, 9, 9]);
  });

  test("a message names the function, the argument, what it is and what was expected", () => {
    expect(() => groupNormalize(x, { groups: "all", epsilon: NaN, backend })).toThrow(
      "groupNormalize: epsilon is NaN, expected a finite number >= 0",
    );
    expect(() => groupSoftmax(x, { groups: [1], backend })).toThrow(
      "groupSoftmax: groups has 1 labels, expected 3, one a row",
    );
  });
});

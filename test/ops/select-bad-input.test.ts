// What callers get wrong: each with its code, nothing written, the process alive.
import { quantileMask, topMask } from "../../lib/ops/select";
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
  const ops = {
    quantileMask: (values: Float32Array, options: object) => quantileMask(values, { q: 0.5, backend, ...options }),
    topMask: (values: Float32Array, options: object) => topMask(values, { share: 0.5, backend, ...options }),
  };

  describe.each(Object.entries(ops))("%s", (_, op) => {
    test("values of the wrong kind", () => {
      for (const values of [[1, 2, 3], Int32Array.of(1), new DataView(new ArrayBuffer(8)), null, undefined, "abc"])
        expect(code(() => op(values as unknown as Float32Array, {}))).toBe("ERR_SURPRISAL_DTYPE");
    });

    test("a detached buffer", () => {
      expect(code(() => op(detached(), {}))).toBe("ERR_SURPRISAL_BUFFER");
      expect(code(() => op(detached(), { shape: [1, 3] }))).toBe("ERR_SURPRISAL_BUFFER");
    });

    test("rows and masks that do not fit", () => {
      for (const shape of [
        [1, 2],
        [2, 3],
      ])
        expect(code(() => op(x, { shape }))).toBe("ERR_SURPRISAL_SHAPE");
      for (const shape of [[-1, -3], [1.5, 2], [3], "3"])
        expect(code(() => op(x, { shape }))).toBe("ERR_SURPRISAL_SHAPE");
      expect(code(() => op(x, { shape: [1, 3], offsets: Int32Array.of(0, 3) }))).toBe("ERR_SURPRISAL_OPTION");
      expect(code(() => op(x, { mask: new Uint8Array(2) }))).toBe("ERR_SURPRISAL_SHAPE");
      expect(code(() => op(x, { mask: new Int32Array(3) }))).toBe("ERR_SURPRISAL_DTYPE");
    });

    test("offsets that go down, past the end, or do not reach it", () => {
      for (const offsets of [
        [0, 2, 1, 3],
        [1, 3],
        [-1, 3],
      ])
        expect(code(() => op(x, { offsets: Int32Array.from(offsets) }))).toBe("ERR_SURPRISAL_RANGE");
      for (const offsets of [[0, 4], [0, 2], []])
        expect(code(() => op(x, { offsets: Int32Array.from(offsets) }))).toBe("ERR_SURPRISAL_SHAPE");
    });

    test("words and backends that do not exist", () => {
      expect(code(() => op(x, { over: "group" }))).toBe("ERR_SURPRISAL_OPTION");
      expect(code(() => op(x, { backend: "gpu" }))).toBe("ERR_SURPRISAL_OPTION");
    });

    test("outputs of the wrong kind or size, or over an input", () => {
      for (const selected of [new Uint8Array(2), new Uint8Array(4)])
        expect(code(() => op(x, { out: { selected } }))).toBe("ERR_SURPRISAL_SHAPE");
      expect(code(() => op(x, { out: { selected: new Float32Array(3) } }))).toBe("ERR_SURPRISAL_DTYPE");
      const values = x.slice();
      const selected = new Uint8Array(values.buffer, 0, 3);
      expect(code(() => op(values, { out: { selected } }))).toBe("ERR_SURPRISAL_BUFFER");
      const mask = Uint8Array.of(1, 1, 1);
      expect(code(() => op(x, { mask, out: { selected: mask } }))).toBe("ERR_SURPRISAL_BUFFER");
      expect([...values, ...mask]).toEqual([1, 2, 4, 1, 1, 1]);
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

  test("quantileMask: q outside 0..1, and outputs stay as they are", () => {
    const selected = new Uint8Array(3).fill(9);
    const thresholds = new Float64Array(1).fill(9);
    for (const q of [NaN, Infinity, -Infinity, -1e-9, 1.0001, "0.5", undefined])
      expect(code(() => ops.quantileMask(x, { q, out: { selected, thresholds } }))).toBe("ERR_SURPRISAL_OPTION");
    expect(code(() => ops.quantileMask(x, { out: { selected, thresholds: new Float64Array(2) } }))).toBe(
      "ERR_SURPRISAL_SHAPE",
    );
    expect(code(() => ops.quantileMask(x, { out: { thresholds: new Float32Array(1) } }))).toBe("ERR_SURPRISAL_DTYPE");
    expect([...selected, ...thresholds]).toEqual([9, 9, 9, 9]);
  });

  test("topMask: shares, k and least that are none, and outputs stay as they are", () => {
    const selected = new Uint8Array(3).fill(9);
    const counts = new Int32Array(1).fill(9);
    const out = { selected, counts };
    for (const share of [NaN, Infinity, -Infinity, -1e-9, 1.0001, "0.5"])
      expect(code(() => ops.topMask(x, { share, out }))).toBe("ERR_SURPRISAL_OPTION");
    for (const k of [NaN, Infinity, -1, 0.5, "1"])
      for (const name of ["k", "least"])
        expect(code(() => topMask(x, { ...(name === "least" && { share: 0.5 }), [name]: k, out, backend }))).toBe(
          "ERR_SURPRISAL_OPTION",
        );
    expect(code(() => topMask(x, { out, backend }))).toBe("ERR_SURPRISAL_OPTION");
    expect(code(() => topMask(x, { share: 0.5, k: 1, out, backend }))).toBe("ERR_SURPRISAL_OPTION");
    expect(code(() => ops.topMask(x, { out: { counts: new Int32Array(2) } }))).toBe("ERR_SURPRISAL_SHAPE");
    expect(code(() => ops.topMask(x, { out: { counts: new Uint32Array(1) } }))).toBe("ERR_SURPRISAL_DTYPE");
    expect([...selected, ...counts]).toEqual([9, 9, 9, 9]);
  });
});

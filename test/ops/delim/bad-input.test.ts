import { DTYPE_CODE } from "../../../lib/core/dtype";
import { selectBackend } from "../../../lib/backend/select";
import { findSpans, spanMask, spanMeans } from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { thrownBy } from "../../support/thrown-by";

const code = (name: string): Error =>
  expect.objectContaining({ name: "SurprisalError", code: `ERR_SURPRISAL_${name}` }) as Error;

function detached<A extends Int32Array | Float32Array | Float64Array>(array: A): A {
  structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });
  return array;
}

eachBackend((backend) => {
  const tokens = Int32Array.of(1, 5, 2, 0);
  const find =
    (options: object, ids: unknown = tokens) =>
    () =>
      findSpans(ids as Int32Array, { start: [1], end: [2], backend, ...options });

  test.each([
    ["an empty start", { start: [] }, "SHAPE", "start is empty"],
    ["an empty end", { end: new Int32Array(0) }, "SHAPE", "end is empty"],
    ["an empty head", { head: [] }, "SHAPE", "head is empty"],
    ["an empty alternative", { end: [[2], []] }, "SHAPE", "end[1] is empty"],
    ["an empty variant", { end: { ids: [] } }, "SHAPE", "end is empty"],
    ["no start", { start: undefined }, "DTYPE", "start"],
    ["a text", { end: "</answer>" }, "DTYPE", "end"],
    ["a list that mixes ids and sequences", { end: [[2], 3] }, "DTYPE", "end[1]"],
    ["a fraction as id", { start: [1.5] }, "RANGE", "start[0]"],
    ["NaN as id", { start: [[1], [2, NaN]] }, "RANGE", "start[1][1]"],
    ["an id past int32", { end: [2 ** 31] }, "RANGE", "end[0]"],
    ["an id past int32 in a bigint array", { end: BigInt64Array.of(2n ** 40n) }, "RANGE", "end[0]"],
    ["an infinite id", { end: [Infinity] }, "RANGE", "end[0]"],
    ["float ids", { end: Float32Array.of(2) }, "DTYPE", "end"],
    [
      "a length past the row",
      { shape: [2, 2], lengths: [2, 3] },
      "RANGE",
      "lengths[1] is 3, expected an integer in [0, 2]",
    ],
    ["a negative length", { shape: [2, 2], lengths: [-1, 2] }, "RANGE", "lengths[0]"],
    ["a fraction as length", { shape: [2, 2], lengths: [1.5, 2] }, "RANGE", "lengths[0]"],
    ["too few lengths", { shape: [2, 2], lengths: [1] }, "SHAPE", "lengths"],
    ["lengths with offsets", { offsets: Int32Array.of(0, 4), lengths: [4] }, "OPTION", "lengths"],
    ["shape and offsets", { shape: [2, 2], offsets: Int32Array.of(0, 4) }, "OPTION", "shape"],
    ["a shape of another size", { shape: [2, 3] }, "SHAPE", "tokens has 4 elements, expected 6"],
    ["a negative size", { shape: [-1, 4] }, "SHAPE", "shape[0]"],
    ["more rows than int32 counts", { shape: [2 ** 31, 0] }, "SHAPE", "shape"],
    ["offsets that go down", { offsets: Int32Array.of(0, 3, 2, 4) }, "RANGE", "offsets[2]"],
    ["offsets past the end", { offsets: Int32Array.of(0, 5) }, "SHAPE", "tokens has 4 elements, expected 5"],
    ["offsets that end early", { offsets: Int32Array.of(0, 3) }, "SHAPE", "tokens"],
    ["offsets that do not begin at 0", { offsets: Int32Array.of(1, 4) }, "RANGE", "offsets[0]"],
    ["no offsets at all", { offsets: new Int32Array(0) }, "SHAPE", "offsets is empty"],
    ["detached offsets", { offsets: detached(Int32Array.of(0, 4)) }, "SHAPE", "offsets"],
    ["an unknown word", { includeEnd: "some" }, "OPTION", "includeEnd"],
    ["another unknown word", { unterminated: true }, "OPTION", "unterminated"],
    ["a number as flag", { overlapping: 1 }, "OPTION", "overlapping"],
    ["a text as flag", { startsOpen: "yes" }, "OPTION", "startsOpen"],
    ["a negative capacity", { capacity: -1 }, "OPTION", "capacity"],
    ["NaN as capacity", { capacity: NaN }, "OPTION", "capacity"],
    ["an infinite capacity", { capacity: Infinity }, "OPTION", "capacity"],
    ["an unknown backend", { backend: "gpu" }, "OPTION", "backend"],
  ])("findSpans refuses %s", (_, options, name, text) => {
    expect(find(options)).toThrow(code(name));
    expect(find(options)).toThrow(text);
  });

  test.each([
    ["a fraction", [1, 5, 2, 0.5], "RANGE"],
    ["a hole", [1, , 2], "RANGE"],
    ["an id past int32", BigInt64Array.of(1n, 2n ** 31n), "RANGE"],
    ["floats", Float32Array.of(1, 2), "DTYPE"],
    ["a text", "1 5 2", "DTYPE"],
    ["nothing", undefined, "DTYPE"],
    ["a detached array", detached(Int32Array.of(1, 5, 2)), "BUFFER"],
  ])("findSpans refuses tokens that are %s", (_, ids, name) => {
    expect(() => findSpans(ids as Int32Array, { start: [1], end: [2], backend })).toThrow(code(name));
  });

  test.each([2n ** 31n, -(2n ** 31n) - 1n, 2n ** 40n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 32n + 1n])(
    "an int64 token %s is refused wherever it stands, but not behind its row's length",
    (id) => {
      for (const at of [0, 1, 63, 64, 100, 199]) {
        const ids = BigInt64Array.from({ length: 200 }, (_, i) => BigInt(i % 3));
        ids[at] = id;
        for (const overlapping of [false, true])
          expect(() => findSpans(ids, { start: [1], end: [2], overlapping, backend })).toThrow(code("RANGE"));
        const found = findSpans(ids, { start: [1], end: [2], shape: [1, 200], lengths: [at], backend });
        expect(found.count).toBe(Math.floor(at / 3));
      }
    },
  );

  test.each([
    ["delimiters of one id", { start: [1], end: [2] }],
    ["delimiters of several", { start: [1, 2, 0], end: [2, 0] }],
    ["alternatives that begin alike, and a head", { start: [[1, 2], [1]], end: [[2], [0, 1]], head: [2, 0, 1] }],
    ["an end that never comes", { start: [1], end: [3], unterminated: "keep" }],
    ["a row that starts open", { start: [3], end: [2, 0, 1, 2], startsOpen: true }],
  ] as const)("an int64 token whose lower half is what stood there is refused in every place: %s", (_, options) => {
    const ids = BigInt64Array.from({ length: 40 }, (_, i) => BigInt(i % 3));
    for (const overlapping of [false, true]) {
      expect(() => findSpans(ids, { ...options, overlapping, backend })).not.toThrow();
      for (let at = 0; at < ids.length; ++at) {
        const wide = ids.slice();
        wide[at]! += 2n ** 32n;
        expect([at, thrownBy(() => findSpans(wide, { ...options, overlapping, backend }))]).toEqual([
          at,
          code("RANGE"),
        ]);
      }
    }
  });

  test("resizable and shared buffers are read like any other", () => {
    const resizable = new Int32Array(Reflect.construct(ArrayBuffer, [16, { maxByteLength: 64 }]) as ArrayBuffer);
    const shared = new Int32Array(new SharedArrayBuffer(16));
    for (const ids of [resizable, shared]) {
      ids.set(tokens);
      expect(find({}, ids)().spans).toEqual(Int32Array.of(0, 1, 3));
    }
  });

  describe("spans from elsewhere", () => {
    const values = Float32Array.of(1, 2, 3, 4);
    const shape = [2, 2] as const;

    test.each([
      ["a row past the last", [2, 0, 1]],
      ["a negative row", [-1, 0, 1]],
      ["a begin below 0", [0, -1, 1]],
      ["a finish past the row", [0, 1, 3]],
      ["a finish below the begin", [1, 2, 1]],
    ])("%s is refused, and nothing is written", (_, bad) => {
      const spans = Int32Array.of(0, 0, 1, ...bad);
      const means = Float64Array.of(7, 7);
      const mask = Uint8Array.of(7, 7, 7, 7);
      for (const layout of [{ shape }, { offsets: Int32Array.of(0, 2, 4) }]) {
        expect(() => spanMeans(values, spans, { ...layout, out: { means }, backend })).toThrow(code("RANGE"));
        expect(() => spanMask(spans, { ...layout, out: { mask }, backend })).toThrow(code("RANGE"));
      }
      expect(() => spanMask(spans, { shape, backend })).toThrow(`span 1 is (row ${bad[0]}, ${bad[1]}, ${bad[2]})`);
      expect(means).toEqual(Float64Array.of(7, 7));
      expect(mask).toEqual(Uint8Array.of(7, 7, 7, 7));
    });

    const one = Int32Array.of(0, 0, 1);
    test.each<[string, () => unknown, string]>([
      ["a flat array of another length", () => spanMeans(values, Int32Array.of(0, 1), { shape, backend }), "SHAPE"],
      ["no spans", () => spanMask(null as unknown as Int32Array, { shape, backend }), "DTYPE"],
      ["detached spans", () => spanMask(detached(Int32Array.of(0, 0, 1)), { shape, backend }), "BUFFER"],
      ["integer values", () => spanMeans(Int32Array.of(1, 2) as unknown as Float32Array, one, { backend }), "DTYPE"],
      ["values of another length", () => spanMeans(values, one, { shape: [2, 3], backend }), "SHAPE"],
      ["detached values", () => spanMeans(detached(Float32Array.of(1, 2)), one, { shape: [1, 2], backend }), "BUFFER"],
      ["a mask without rows", () => spanMask(one, { backend }), "OPTION"],
      ["offsets that go down", () => spanMask(one, { offsets: Int32Array.of(0, 2, 1), backend }), "RANGE"],
      [
        "an output of another length",
        () => spanMeans(values, one, { shape, out: { means: new Float64Array(2) }, backend }),
        "SHAPE",
      ],
      [
        "an output of another type",
        () => spanMask(one, { shape, out: { mask: values as unknown as Uint8Array }, backend }),
        "DTYPE",
      ],
    ])("%s: refused", (_, run, name) => {
      expect(run).toThrow(code(name));
    });

    test("an output that overlaps an input is refused", () => {
      const memory = new ArrayBuffer(64);
      const inputs = new Float32Array(memory, 0, 4);
      const spans = new Int32Array(memory, 32, 3);
      spans.set(one);
      expect(() => spanMeans(inputs, one, { shape, out: { means: new Float64Array(memory, 8, 1) }, backend })).toThrow(
        code("BUFFER"),
      );
      expect(() => spanMask(spans, { shape, out: { mask: new Uint8Array(memory, 43, 4) }, backend })).toThrow(
        code("BUFFER"),
      );
      expect(Array.from(spans)).toEqual([0, 0, 1]);
    });
  });

  // Arguments that the checks above let through to nobody: a native backend stands alone, and other programs call it too.
  if (backend !== "js")
    describe("the backend itself refuses", () => {
      const { ops } = selectBackend("test", backend);
      const outputs = () => ({
        spans: new Int32Array(12).fill(7),
        alternatives: new Int32Array(8).fill(7),
        count: BigInt64Array.of(7n),
      });
      const good = {
        dtype: DTYPE_CODE.int32,
        tokens,
        offsets: null,
        lengths: null,
        startIds: Int32Array.of(1),
        startOffsets: Int32Array.of(0, 1),
        endIds: Int32Array.of(2, 3),
        endOffsets: Int32Array.of(0, 1, 2),
        headIds: null,
        headOffsets: null,
        n: 4,
        B: 2,
        T: 2,
        startCount: 1,
        endCount: 2,
        headCount: 0,
        startSize: 1,
        endSize: 2,
        headSize: 0,
        capacity: 4,
        overlapping: 0,
        includeEnd: 0,
        unterminatedKeep: 0,
        startsOpen: 0,
      };

      test.each([
        ["offsets that go down", { offsets: Int32Array.of(0, 3, 2) }, "RANGE"],
        ["offsets past the end", { offsets: Int32Array.of(0, 2, 2 ** 30) }, "RANGE"],
        ["a length past the row", { lengths: Int32Array.of(1, 3) }, "RANGE"],
        ["a negative length", { lengths: Int32Array.of(-5, 1) }, "RANGE"],
        ["alternatives past their ids", { endOffsets: Int32Array.of(0, 1, 2 ** 30) }, "RANGE"],
        ["alternatives that go down", { endOffsets: Int32Array.of(0, -4, 2) }, "RANGE"],
        ["lengths with offsets", { offsets: Int32Array.of(0, 2, 4), lengths: Int32Array.of(1, 1) }, "OPTION"],
        ["no alternative", { startCount: 0 }, "SHAPE"],
        ["fewer ids than alternatives", { endSize: 1 }, "SHAPE"],
        ["contradictory sizes", { T: 3 }, "SHAPE"],
        ["an unknown includeEnd", { includeEnd: 3 }, "OPTION"],
        ["no ids", { startIds: null as unknown as Int32Array }, "OPTION"],
        ["a capacity beyond its arrays", { capacity: 2 ** 40 }, "SHAPE"],
      ])("%s", (_, bad, name) => {
        const out = outputs();
        expect(() => ops.delimSpans({ ...good, ...out, ...bad })).toThrow(code(name));
        expect(out).toEqual(outputs());
        ops.delimSpans({ ...good, ...out });
        expect(out.count[0]).toBe(0n);
      });

      test("an empty alternative", () => {
        const run = () => ops.delimSpans({ ...good, ...outputs(), endOffsets: Int32Array.of(0, 2, 2) });
        // The host sees an array of the wrong form, a device reports a fault of its data.
        expect(run).toThrow(code(backend === "cpu" || backend === "wasm" ? "SHAPE" : "RANGE"));
      });

      test("spans outside their rows", () => {
        const spans = Int32Array.of(0, 0, 1, 1, 0, 2 ** 30);
        const common = { offsets: null, spans, n: 4, B: 2, T: 2, S: 2, count: null };
        expect(() => ops.delimMask({ ...common, mask: new Uint8Array(4) })).toThrow(code("RANGE"));
        const means = new Float64Array(2);
        expect(() => ops.delimMeans({ ...common, dtype: 1, values: new Float32Array(4), means })).toThrow(
          code("RANGE"),
        );
      });
    });
});

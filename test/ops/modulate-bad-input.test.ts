import { modulateSpans, sequenceWeights, stepWeights, SurprisalError } from "../../lib";
import { eachBackend } from "../support/each-backend";

function detach<A extends ArrayBufferView<ArrayBuffer>>(array: A): A {
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

function errorOf(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

eachBackend((backend) => {
  const steps = Float32Array.of(0.5, 1);
  const advantages = Float32Array.of(1, 2, 3, 4);
  const spans = Int32Array.of(0, 0, 2, 1, 0, 1);
  const out = { advantages: new Float32Array(4) };
  const weights = { scales: Float64Array.of(1, 1), clarities: Float64Array.of(1, 1) };
  const good = { shape: [2, 2], mask: new Uint8Array(4).fill(1), ...weights, out, backend } as const;
  const rows = { groups: "all", shape: [2, 2], backend } as const;
  const spansWith = (span: readonly number[]) => () => modulateSpans(advantages, Int32Array.of(0, 0, 2, ...span), good);

  test.each([
    // stepWeights
    ["a NaN entropy", () => stepWeights(Float32Array.of(1, NaN), { backend }), "VALUE", "entropies[1] is NaN"],
    ["an infinite entropy", () => stepWeights(Float32Array.of(-Infinity, 1), { backend }), "VALUE", "entropies[0]"],
    ["integer entropies", () => stepWeights(Int32Array.of(1) as never, { backend }), "DTYPE", "entropies"],
    ["detached entropies", () => stepWeights(detach(Float32Array.of(1)), { backend }), "BUFFER", "entropies"],
    ["NaN as k", () => stepWeights(steps, { k: NaN, backend }), "OPTION", "k is NaN"],
    ["infinity as kFuture", () => stepWeights(steps, { kFuture: Infinity, backend }), "OPTION", "kFuture"],
    ["a negative epsilon", () => stepWeights(steps, { epsilon: -1, backend }), "OPTION", "epsilon"],
    [
      "an unknown nonFinite",
      () => stepWeights(steps, { nonFinite: "drop" as never, backend }),
      "OPTION",
      '"propagate"',
    ],
    // modulateSpans
    ["too few advantages", () => modulateSpans(new Float32Array(3), spans, good), "SHAPE", "advantages has 3"],
    ["advantages of integers", () => modulateSpans(new Int32Array(4) as never, spans, good), "DTYPE", "advantages"],
    ["detached advantages", () => modulateSpans(detach(new Float32Array(4)), spans, good), "BUFFER", "advantages"],
    ["spans of floats", () => modulateSpans(advantages, new Float32Array(6) as never, good), "DTYPE", "spans"],
    ["detached spans", () => modulateSpans(advantages, detach(new Int32Array(6)), good), "BUFFER", "spans"],
    ["spans of pairs", () => modulateSpans(advantages, new Int32Array(4), good), "SHAPE", "three per span"],
    ["a span of no row", spansWith([2, 0, 1]), "RANGE", "spans[1].row is 2"],
    ["a span of a negative row", spansWith([-1, 0, 1]), "RANGE", "spans[1].row is -1"],
    ["a span past its row", spansWith([1, 1, 3]), "RANGE", "spans[1] is [1, 3]"],
    ["a span before its row", spansWith([1, -1, 1]), "RANGE", "spans[1] is [-1, 1]"],
    ["an empty span", spansWith([1, 1, 1]), "RANGE", "1 or more tokens"],
    [
      "spans out of order",
      () => modulateSpans(advantages, Int32Array.of(1, 0, 1, 0, 0, 1), good),
      "RANGE",
      "sorted by row",
    ],
    [
      "a scale too few",
      () => modulateSpans(advantages, spans, { ...good, scales: new Float64Array(1) }),
      "SHAPE",
      "scales has 1",
    ],
    [
      "float32 clarities",
      () => modulateSpans(advantages, spans, { ...good, clarities: new Float32Array(2) as never }),
      "DTYPE",
      "clarities",
    ],
    ["NaN as zeta", () => modulateSpans(advantages, spans, { ...good, zeta: NaN }), "OPTION", "zeta"],
    ["an infinite zeta", () => modulateSpans(advantages, spans, { ...good, zeta: -Infinity }), "OPTION", "zeta"],
    [
      "an unknown scope",
      () => modulateSpans(advantages, spans, { ...good, scope: "rows" as never }),
      "OPTION",
      '"segments"',
    ],
    [
      "scope mask without a mask",
      () => modulateSpans(advantages, spans, { shape: [2, 2], ...weights, out, backend }),
      "OPTION",
      "mask",
    ],
    [
      "offsets that go down",
      () =>
        modulateSpans(advantages, spans, { ...good, shape: undefined, offsets: Int32Array.of(0, 3, 2, 4) } as never),
      "RANGE",
      "offsets[2]",
    ],
    [
      "offsets past the end",
      () => modulateSpans(advantages, spans, { ...good, shape: undefined, offsets: Int32Array.of(0, 2, 5) } as never),
      "SHAPE",
      "advantages has 4",
    ],
    [
      "an output that overlaps part of the input",
      () => {
        const memory = new Float32Array(6);
        return modulateSpans(memory.subarray(0, 4), spans, { ...good, out: { advantages: memory.subarray(2) } });
      },
      "BUFFER",
      "overlaps advantages",
    ],
    [
      "an output of another type",
      () => modulateSpans(advantages, spans, { ...good, out: { advantages: new Float64Array(4) } }),
      "DTYPE",
      "out.advantages",
    ],
    // sequenceWeights
    ["too few values", () => sequenceWeights(new Float32Array(3), rows), "SHAPE", "values has 3"],
    ["detached values", () => sequenceWeights(detach(new Float32Array(4)), rows), "BUFFER", "values"],
    [
      "a mask of floats",
      () => sequenceWeights(advantages, { ...rows, mask: new Float32Array(4) as never }),
      "DTYPE",
      "mask",
    ],
    [
      "a sign too few",
      () => sequenceWeights(advantages, { ...rows, positive: new Uint8Array(1) }),
      "SHAPE",
      "positive has 1",
    ],
    ["a label too few", () => sequenceWeights(advantages, { ...rows, groups: [1] }), "SHAPE", "groups"],
    ["a fractional label", () => sequenceWeights(advantages, { ...rows, groups: [1, 0.5] }), "VALUE", "groups[1]"],
    [
      "group offsets that go down",
      () => sequenceWeights(advantages, { ...rows, groups: undefined, groupOffsets: Int32Array.of(0, 2, 1, 2) }),
      "RANGE",
      "groupOffsets[2]",
    ],
    [
      "group offsets past the end",
      () => sequenceWeights(advantages, { ...rows, groups: undefined, groupOffsets: Int32Array.of(0, 3) }),
      "RANGE",
      "groupOffsets[1]",
    ],
    [
      "labels and offsets",
      () => sequenceWeights(advantages, { ...rows, groups: [0, 0], groupOffsets: Int32Array.of(0, 2) }),
      "OPTION",
      "groups",
    ],
    ["NaN as epsilon", () => sequenceWeights(advantages, { ...rows, epsilon: NaN }), "OPTION", "epsilon"],
    ["an infinite beta", () => sequenceWeights(advantages, { ...rows, beta: Infinity }), "OPTION", "beta"],
    ["a negative zClip", () => sequenceWeights(advantages, { ...rows, zClip: -1 }), "OPTION", "zClip"],
    [
      "an infinite variance floor",
      () => sequenceWeights(advantages, { ...rows, varianceFloor: Infinity }),
      "OPTION",
      "varianceFloor",
    ],
    ["NaN as a bound", () => sequenceWeights(advantages, { ...rows, bounds: [NaN, 2] }), "OPTION", "bounds[0]"],
    [
      "a single bound",
      () => sequenceWeights(advantages, { ...rows, negativeBounds: [1] as never }),
      "OPTION",
      "negativeBounds",
    ],
    ["an unknown form", () => sequenceWeights(advantages, { ...rows, form: "log" as never }), "OPTION", '"zscore"'],
    ["neither shape nor offsets", () => sequenceWeights(advantages, { groups: "all", backend }), "OPTION", "shape"],
  ] as const)("refuses %s, writing nothing", (_, call, code, text) => {
    const error = errorOf(call);
    expect(error).toBeInstanceOf(SurprisalError);
    expect((error as SurprisalError).code).toBe(`ERR_SURPRISAL_${code}`);
    expect((error as SurprisalError).message).toContain(text);
    expect([...out.advantages, ...advantages]).toEqual([0, 0, 0, 0, 1, 2, 3, 4]);
  });

  test("resizable and shared memory are read like any other", () => {
    const shared = new Float32Array(new SharedArrayBuffer(8));
    shared.set([0.5, 1]);
    // Node 20 knows resizable buffers, the TypeScript library of ES2023 does not.
    const Resizable = ArrayBuffer as unknown as new (length: number, options: { maxByteLength: number }) => ArrayBuffer;
    const resizable = new Float32Array(new Resizable(8, { maxByteLength: 16 }));
    resizable.set([0.5, 1]);
    expect(stepWeights(shared, { backend })).toEqual(stepWeights(steps, { backend }));
    expect(sequenceWeights(resizable, { groups: "all", shape: [2, 1], backend })).toEqual(
      sequenceWeights(steps, { groups: "all", shape: [2, 1], backend }),
    );
  });
});

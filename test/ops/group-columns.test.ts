import { groupColumns, SurprisalError } from "../../lib";
import { selectBackend } from "../../lib/backend/select";
import { groupColumnsOracle } from "../oracle/group-columns";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";
import { thrownBy } from "../support/thrown-by";

// A handful of float64 terms in another order.
const F64 = { atol: 1e-14, rtol: 1e-13 };

const [B, T] = [7, 37];
const shape = [B, T] as const;
const groups = [3, 1, 3, 3, 1, 9, 1];

function batch(seed: number, prefix: boolean) {
  const r = rng(seed);
  const values = r.f64(B * T, -1, 1);
  const weights = r.f64(B * T, 0, 2);
  const lengths = [...r.i32(B, 0, T + 1)];
  const holes = r.mask(B * T, 0.7);
  const mask = Uint8Array.from(values, (_, i) => (i % T < lengths[Math.floor(i / T)]! && (prefix || holes[i]) ? 1 : 0));
  const rowsOf = <X>(array: ArrayLike<X>): X[][] =>
    Array.from({ length: B }, (_, b) => Array.from({ length: T }, (_, t) => array[b * T + t]!));
  const cases = (epsilon: number, zeroTail: boolean) => ({
    values: rowsOf(values),
    weights: rowsOf(weights),
    kept: rowsOf([...mask].map(Boolean)),
    groups,
    epsilon,
    zeroTail,
  });
  return { values, weights, mask, lengths, cases };
}

eachBackend((backend) => {
  test.each([
    [false, false],
    [false, true],
    [true, false],
    [true, true],
  ])("equals the definition, holes %p, zero tail %p", (holes, zeroTail) => {
    const { values, weights, mask, cases } = batch(holes ? 1 : 2, !holes);
    const got = groupColumns(values, weights, { shape, mask, groups, epsilon: 1e-3, zeroTail, backend });
    const want = groupColumnsOracle(cases(1e-3, zeroTail)).flat();
    expect(got.baselines).toBeAllClose(want, F64);
    expect(got.centred).toBeAllClose(
      want.map((base, i) => (mask[i] ? values[i]! - base : 0)),
      F64,
    );
  });

  test("what lies under the mask cannot leak", () => {
    const { values, weights, mask } = batch(3, false);
    const poison = (array: Float64Array) => array.map((x, i) => (mask[i] ? x : NaN));
    const options = { shape, mask, groups, zeroTail: true, backend } as const;
    expect(groupColumns(poison(values), poison(weights), options)).toEqual(groupColumns(values, weights, options));
  });

  test("packed rows equal the same rows padded, to the bit", () => {
    const { values, weights, mask, lengths } = batch(4, true);
    const offsets = new Int32Array(B + 1);
    lengths.forEach((length, b) => (offsets[b + 1] = offsets[b]! + length));
    const compact = (array: Float32Array | Float64Array) => array.filter((_, i) => mask[i] !== 0);
    const packed = groupColumns(compact(values), compact(weights), { offsets, groups, zeroTail: true, backend });
    const padded = groupColumns(values, weights, { shape, mask, groups, zeroTail: true, backend });
    expect(packed.baselines).toEqual(compact(padded.baselines));
  });

  test("a group of one row, and a column without weight, have baseline 0", () => {
    const { baselines } = groupColumns(Float32Array.of(5, 6), Float32Array.of(1, 1), {
      groups: "all",
      shape: [1, 2],
      backend,
    });
    expect([...baselines]).toEqual([0, 0]);
    const none = groupColumns(Float32Array.of(5, 6), new Float32Array(2), { groups: "all", shape: [2, 1], backend });
    expect([...none.baselines, ...none.centred]).toEqual([0, 0, 5, 6]);
  });

  test("equal values are their own baseline, whatever epsilon is; not where they weigh nothing", () => {
    const values = Float64Array.of(0.97, 0.1, 0.97, 0.1, 0.97, 0.1);
    const weights = Float64Array.of(0.3, 0, 1e-9, 0, 0.7, 0);
    const { baselines, centred } = groupColumns(values, weights, {
      groups: "all",
      shape: [3, 2],
      epsilon: 0.5,
      backend,
    });
    expect([...baselines]).toEqual([0.97, 0, 0.97, 0, 0.97, 0]);
    expect([...centred]).toEqual([0, 0.1, 0, 0.1, 0, 0.1]);
  });

  test.each([[[0, 4] as const], [[4, 0] as const]])("an empty batch %j gives empty results", (empty) => {
    const none = new Float32Array(0);
    expect(groupColumns(none, none, { groups: "all", shape: empty, backend }).baselines).toHaveLength(0);
  });

  describe("refuses, writing nothing:", () => {
    const values = Float32Array.of(1, 2, 3, 4);
    const where = { shape: [2, 2], backend } as const;
    const good = { groups: "all", ...where } as const;
    test.each([
      ["weights of another length", () => groupColumns(values, new Float32Array(3), good), "ERR_SURPRISAL_SHAPE"],
      ["labels of another length", () => groupColumns(values, values, { ...good, groups: [1] }), "ERR_SURPRISAL_SHAPE"],
      [
        "group offsets past the rows",
        () => groupColumns(values, values, { ...where, groupOffsets: Int32Array.of(0, 3) }),
        "ERR_SURPRISAL_RANGE",
      ],
      ["a negative epsilon", () => groupColumns(values, values, { ...good, epsilon: -1 }), "ERR_SURPRISAL_OPTION"],
      ["NaN as epsilon", () => groupColumns(values, values, { ...good, epsilon: NaN }), "ERR_SURPRISAL_OPTION"],
      ["a wrong element type", () => groupColumns(new Int32Array(4) as never, values, good), "ERR_SURPRISAL_DTYPE"],
      [
        "an output over an input",
        () => groupColumns(values, values.slice(), { ...good, out: { centred: values } }),
        "ERR_SURPRISAL_BUFFER",
      ],
    ] as const)("%s", (_, call, code) => {
      const error = thrownBy(call);
      expect(error).toBeInstanceOf(SurprisalError);
      expect((error as SurprisalError).code).toBe(code);
      expect([...values]).toEqual([1, 2, 3, 4]);
    });
  });

  // The JavaScript backend does not look: its arrays look after themselves.
  if (backend !== "js")
    test.each([
      ["a member that is no row", Int32Array.of(0, 2), Int32Array.of(0, 2), null],
      ["group offsets that go down", Int32Array.of(0, 1), Int32Array.of(2, 0), null],
      ["row offsets past the end", Int32Array.of(0, 1), Int32Array.of(0, 2), Int32Array.of(0, 2, 9)],
    ])("the backend itself refuses %s", (_, members, groupOffsets, offsets) => {
      const args = {
        dtype: 1,
        values: Float32Array.of(1, 2, 3, 4),
        weights: Float32Array.of(1, 1, 1, 1),
        mask: null,
        offsets,
        members,
        groupOffsets,
        n: 4,
        B: 2,
        T: 2,
        G: 1,
        epsilon: 0,
        zeroTail: 0,
        baselines: new Float32Array(4),
        centred: null,
      } as const;
      const refused = expect.objectContaining({ code: "ERR_SURPRISAL_RANGE" }) as Error;
      expect(() => selectBackend("test", backend).ops.groupColumns(args)).toThrow(refused);
    });
});

import fc from "fast-check";
import { groupPassAtK, passAtK, type GroupPassAtKOptions, type NamedGroups } from "../../../lib";
import { errorCode } from "../../support/error-code";

/** By definition: which of all k-subsets of n samples, the first c of them correct, holds a correct one. */
function bySubsets(n: number, c: number, k: number): number {
  let subsets = 0;
  let hits = 0;
  for (let bits = 0; bits < 2 ** n; ++bits) {
    const chosen = Array.from({ length: n }, (_, i) => i).filter((i) => (bits >> i) & 1);
    if (chosen.length !== k) continue;
    ++subsets;
    if (chosen.some((i) => i < c)) ++hits;
  }
  return hits / subsets;
}

test("matches counting all subsets", () => {
  for (let n = 1; n <= 9; ++n)
    for (let c = 0; c <= n; ++c)
      for (let k = 1; k <= n; ++k) expect(passAtK(n, c, k)).toBeAllClose(bySubsets(n, c, k), { rtol: 4e-15, atol: 0 });
});

test("is the share of correct samples for k = 1, 0 or 1 at the ends", () => {
  expect(passAtK(200, 37, 1)).toBeCloseTo(37 / 200, 15);
  expect([passAtK(200, 0, 100), passAtK(200, 200, 1), passAtK(200, 101, 100)]).toEqual([0, 1, 1]);
});

test("a tiny chance does not cancel", () => {
  expect(passAtK(1e9, 1, 1)).toBeAllClose(1e-9, { rtol: 1e-15, atol: 0 });
  expect(passAtK(1e12, 3, 2)).toBeAllClose(6e-12, { rtol: 1e-11, atol: 0 }); // minus 6e-24 for both
});

test("rises with k and with the number of correct samples", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 300 }), fc.nat(), fc.nat(), (n, a, b) => {
      const c = a % n;
      const k = 1 + (b % (n - 1));
      // Rounding may cost an ulp where both are 1.
      expect(passAtK(n, c + 1, k)).toBeGreaterThanOrEqual(passAtK(n, c, k) - 1e-15);
      expect(passAtK(n, c, k + 1)).toBeGreaterThanOrEqual(passAtK(n, c, k) - 1e-15);
    }),
  );
});

test("groups: an estimate for each that has k samples, and their mean", () => {
  const correct = Uint8Array.of(1, 0, 0, 0, 1, 1, 0);
  const got = groupPassAtK(correct, { groups: ["a", "b", "a", "a", "b", "b", "c"], k: [1, 2] });
  expect(Array.from(got.counts)).toEqual([3, 3, 1]);
  expect(Array.from(got.correctCounts)).toEqual([1, 2, 0]);
  const want = [passAtK(3, 1, 1), passAtK(3, 2, 1), 0, passAtK(3, 1, 2), passAtK(3, 2, 2), NaN];
  expect(Array.from(got.estimates)).toEqual(want);
  expect(got.means).toBeAllClose([(want[0]! + want[1]!) / 3, (want[3]! + want[4]!) / 2], { rtol: 1e-15, atol: 0 });
  expect(groupPassAtK(correct, { groups: "all", k: 8 }).means).toEqual(Float64Array.of(NaN));
  expect(groupPassAtK(new Uint8Array(0), { groups: "all", k: 1 }).means).toEqual(Float64Array.of(NaN));
});

test("relabelling groups changes nothing, permuting samples neither", () => {
  const correct = Uint8Array.of(1, 0, 1, 1, 0, 0, 1, 0);
  const labels = [0, 1, 0, 1, 2, 2, 2, 1];
  const { means } = groupPassAtK(correct, { groups: labels, k: [1, 2] });
  expect(groupPassAtK(correct, { groups: labels.map((g) => 9 - g), k: [1, 2] }).means).toEqual(means);
  const permuted = groupPassAtK(correct.slice().reverse(), { groups: [...labels].reverse(), k: [1, 2] });
  expect(permuted.means).toBeAllClose(means, { rtol: 1e-15, atol: 0 }); // the sum over groups runs in another order
});

test("bad input", () => {
  for (const [n, c, k] of [
    [0, 0, 1],
    [5, 6, 1],
    [5, -1, 1],
    [5, 2, 0],
    [5, 2, 6],
    [5, 2, 1.5],
    [NaN, 0, 1],
    [Infinity, 1, 1],
  ] as const)
    expect(errorCode(() => passAtK(n, c, k))).toBe("ERR_SURPRISAL_OPTION");
  const call = (options: object, correct: unknown = Uint8Array.of(1, 0)): string | undefined =>
    errorCode(() =>
      groupPassAtK(correct as Uint8Array, { groups: "all", ...options } as GroupPassAtKOptions & NamedGroups),
    );
  expect(call({ k: 1 }, Int16Array.of(1, 0))).toBe("ERR_SURPRISAL_DTYPE");
  expect(call({ k: 1 }, null)).toBe("ERR_SURPRISAL_DTYPE");
  for (const k of [0, NaN, "2", [1, 0], undefined]) expect(call({ k })).toBe("ERR_SURPRISAL_OPTION");
  expect(call({ k: 1, groups: [1] })).toBe("ERR_SURPRISAL_SHAPE");
  expect(call({ k: 1, groups: undefined, groupOffsets: Int32Array.of(0, 3) })).toBe("ERR_SURPRISAL_RANGE");
});

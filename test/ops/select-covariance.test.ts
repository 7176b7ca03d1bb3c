import fc from "fast-check";

import { covarianceMask, type CovarianceMaskOptions } from "surprisal";
import { covariancesOracle, membersOf, topOracle } from "../oracle/select";
import { eachBackend } from "../support/each-backend";
import { errorCode } from "../support/error-code";
import { rng } from "../support/rng";

const FLOATS = [
  ["float32", Float32Array],
  ["float64", Float64Array],
] as const;

const spread = (perRow: ArrayLike<number>, tokens: number): Float64Array =>
  Float64Array.from({ length: perRow.length * tokens }, (_, i) => perRow[Math.floor(i / tokens)]!);

eachBackend((backend) => {
  describe.each(FLOATS)("%s", (_, Floats) => {
    // 37: no power of two, not a warp; 700: more than one stride of the 256 lanes.
    const shapes = { "6 rows of 37": [6, 37], "3 rows of 700": [3, 700] } as const;

    describe.each(Object.entries(shapes))("%s", (__, shape) => {
      const [B, T] = shape;
      const n = B * T;
      const logProbs = Floats.from(rng(1).normal(n, -2, 1));
      const mask = rng(2)
        .mask(n, 0.7)
        .fill(0, T, 2 * T); // row 1 has no token
      const excluded = rng(3).mask(n, 0.3);
      const kinds = { token: Floats.from(rng(4).normal(n, 0.3, 1)), row: Floats.from(rng(5).normal(B, 0.3, 1)) };
      const members = membersOf(n, B, mask, "all")[0]!;
      const candidates = members.filter((i) => excluded[i] === 0);

      test.each(Object.entries(kinds))(
        "a range of covariances equals the definition: advantages per %s",
        (per, advantages) => {
          for (const countEpsilon of [0, 1e-8, 1]) {
            const want = covariancesOracle(
              logProbs,
              per === "row" ? spread(advantages, T) : advantages,
              members,
              countEpsilon,
            );
            for (const between of [
              [0.25, 2],
              [-Infinity, 0.1],
              [0.6, Infinity],
            ] as const) {
              const got = covarianceMask(logProbs, advantages, {
                shape,
                mask,
                excluded,
                between,
                countEpsilon,
                backend,
              });
              const inside = candidates.filter((i) => want[i]! > between[0] && want[i]! < between[1]);
              expect([...got.selected].flatMap((flag, i) => (flag === 1 ? [i] : []))).toEqual(inside);
              expect(got.count).toBe(inside.length);
            }
          }
        },
      );

      test.each(Object.entries(kinds))("the largest covariances equal a sort: advantages per %s", (per, advantages) => {
        const want = covariancesOracle(logProbs, per === "row" ? spread(advantages, T) : advantages, members);
        for (const k of [0, 1, 5, 100, 1e6]) {
          const got = covarianceMask(logProbs, advantages, { shape, mask, excluded, k, backend });
          expect(got.selected).toEqual(topOracle(want, [candidates], () => k));
          expect(got.count).toBe(Math.min(k, candidates.length));
        }
        for (const [share, least] of [
          [2e-4, 1],
          [0.2, 0],
          [0, 0],
          [1, 3],
        ] as const) {
          const got = covarianceMask(logProbs, advantages, { shape, mask, share, least, backend });
          expect(got.selected).toEqual(
            topOracle(want, [members], (count) => Math.max(least, Math.floor(share * count))),
          );
        }
      });

      test("what lies under the mask, and padding columns, change no flag", () => {
        const wide = T + 9;
        const widen = <A extends Uint8Array | Float32Array | Float64Array>(values: A, fill: number): A => {
          const padded = values.slice(0, 0).constructor as new (length: number) => A;
          const result = new padded(B * wide).fill(fill) as A;
          for (let b = 0; b < B; ++b) result.set(values.subarray(b * T, (b + 1) * T), b * wide);
          return result;
        };
        const poisoned = logProbs.map((x, i) => (mask[i] !== 0 ? x : NaN));
        for (const choice of [{ share: 0.3 }, { between: [0.2, 1.5] }] as const) {
          const plain = covarianceMask(logProbs, kinds.token, { shape, mask, ...choice, backend });
          expect(covarianceMask(poisoned, kinds.token, { shape, mask, ...choice, backend })).toEqual(plain);
          const padded = covarianceMask(widen(poisoned, NaN), widen(kinds.token, NaN), {
            shape: [B, wide],
            mask: widen(mask, 0),
            ...choice,
            backend,
          });
          expect(padded).toEqual({ selected: widen(plain.selected, 0), count: plain.count });
        }
      });

      test("the flags may go into the memory of the excluded ones", () => {
        for (const choice of [{ share: 0.3 }, { k: 0 }, { between: [0.2, 1.5] }] as const) {
          const apart = covarianceMask(logProbs, kinds.row, { shape, mask, excluded, ...choice, backend });
          const flags = excluded.slice();
          const together = covarianceMask(logProbs, kinds.row, {
            shape,
            mask,
            excluded: flags,
            out: { selected: flags },
            ...choice,
            backend,
          });
          expect(together.selected).toBe(flags);
          expect(together).toEqual(apart);
        }
      });
    });

    test("more rows than the lanes that add them up", () => {
      const shape = [300, 3] as const;
      const logProbs = Floats.from(rng(9).normal(900, -2, 1));
      const advantages = Floats.from(rng(10).normal(300, 0.3, 1));
      const members = membersOf(900, 300, undefined, "all");
      const want = covariancesOracle(logProbs, spread(advantages, 3), members[0]!);
      expect(covarianceMask(logProbs, advantages, { shape, k: 20, backend }).selected).toEqual(
        topOracle(want, members, () => 20),
      );
    });

    test("packed rows equal padded rows under a mask", () => {
      const lengths = [4, 0, 600, 1];
      const offsets = Int32Array.of(0, 4, 4, 604, 605);
      const logProbs = Floats.from(rng(6).normal(605, -1, 1));
      const advantages = Floats.of(0.5, 9, -1, 2);
      const padded = new Floats(4 * 600);
      const mask = new Uint8Array(4 * 600);
      lengths.forEach((length, b) => {
        padded.set(logProbs.subarray(offsets[b], offsets[b + 1]), b * 600);
        mask.fill(1, b * 600, b * 600 + length);
      });
      for (const choice of [{ share: 0.3 }, { between: [-0.2, 1.5] }] as const) {
        const got = covarianceMask(logProbs, advantages, { offsets, ...choice, backend });
        const want = covarianceMask(padded, advantages, { shape: [4, 600], mask, ...choice, backend });
        expect(got.count).toBe(want.count);
        expect([...got.selected]).toEqual([...want.selected].filter((__, i) => mask[i] === 1));
      }
    });

    test("equal advantages give covariances of exactly 0, and ties go to the smaller index", () => {
      const logProbs = Floats.from(rng(7).normal(50, -1, 1));
      const advantages = new Floats(50).fill(0.1); // whose sum over 50 is not 50 times it
      expect(covarianceMask(logProbs, advantages, { between: [-Infinity, 0], backend }).count).toBe(0);
      expect(covarianceMask(logProbs, advantages, { between: [0, Infinity], backend }).count).toBe(0);
      const { selected } = covarianceMask(logProbs, advantages, { k: 3, backend });
      expect([...selected.subarray(0, 4)]).toEqual([1, 1, 1, 0]);
    });

    test("the ends of a range are not in it", () => {
      // Means 0: the covariances are 1, 1, -4, -4.
      const logProbs = Floats.of(1, -1, 2, -2);
      const advantages = Floats.of(1, -1, -2, 2);
      const count = (low: number, high: number): number =>
        covarianceMask(logProbs, advantages, { between: [low, high], backend }).count;
      expect([count(1, 2), count(0.5, 1), count(0.5, 1.5), count(-4, 1), count(-4.5, 1)]).toEqual([0, 0, 2, 0, 2]);
    });

    test("a kept number that is not finite has no mean and is refused by name", () => {
      const call = (logProbs: number[], advantages: number[], options: CovarianceMaskOptions): number[] => [
        ...covarianceMask(Floats.from(logProbs), Floats.from(advantages), { backend, ...options }).selected,
      ];
      for (const bad of [NaN, Infinity, -Infinity])
        for (const choice of [{ between: [-Infinity, Infinity] as const }, { k: 2 }, { k: 0 }]) {
          const one = `covarianceMask: logProbs[1] is ${bad}, expected a finite number`;
          expect(() => call([-1, bad, -2], [1, 2, 3], choice)).toThrow(one);
          expect(() => call([-1, -1, -2], [1, 2, bad], choice)).toThrow("covarianceMask: advantages[2] is");
          const rows = { shape: [2, 2] as const, advantagesPer: "row" as const };
          expect(() => call([-1, -2, -3, -4], [1, bad], { ...choice, ...rows })).toThrow("advantages[1] is");
          // The number of a row without kept tokens is not read.
          const mask = Uint8Array.of(1, 1, 0, 0);
          expect(() => call([-1, -2, bad, -4], [1, bad], { ...choice, ...rows, mask })).not.toThrow();
        }
      expect(call([-1, NaN, -2], [1, 2, 3], { k: 1, mask: Uint8Array.of(1, 0, 1) })).toEqual([1, 0, 0]);
    });

    test("no token, no row, everything masked or excluded", () => {
      const none = new Floats(0);
      for (const layout of [{ shape: [0, 4] }, { shape: [3, 0] }, { offsets: Int32Array.of(0) }, {}] as const)
        for (const choice of [{ share: 1 }, { between: [-1, 1] }] as const)
          expect(covarianceMask(none, none, { ...layout, ...choice, advantagesPer: "token", backend })).toEqual({
            selected: new Uint8Array(0),
            count: 0,
          });
      for (const gone of [{ mask: new Uint8Array(3) }, { excluded: Uint8Array.of(1, 1, 7) }])
        for (const choice of [{ k: 2 }, { between: [-9, 9] }] as const) {
          const selected = new Uint8Array(3).fill(9);
          const got = covarianceMask(Floats.of(1, 2, 4), Floats.of(3, 1, 2), {
            ...gone,
            ...choice,
            out: { selected },
            backend,
          });
          expect(got).toEqual({ selected: new Uint8Array(3), count: 0 });
        }
    });

    test("law: permuted rows permute the flags", () => {
      // Small integers: sums are exact in any order, so a permutation moves no mean.
      const row = fc.array(fc.tuple(fc.integer({ min: -8, max: 8 }), fc.integer({ min: -4, max: 4 })), {
        minLength: 4,
        maxLength: 4,
      });
      fc.assert(
        fc.property(fc.array(row, { minLength: 2, maxLength: 6 }), (rows) => {
          const select = (order: typeof rows): number[][] => {
            const [x, a] = [0, 1].map((k) => Floats.from(order.flat().map((pair) => pair[k]!)));
            const { selected } = covarianceMask(x!, a!, {
              shape: [order.length, 4],
              between: [0.5, 12],
              advantagesPer: "token",
              backend,
            });
            return order.map((__, b) => [...selected.subarray(4 * b, 4 * b + 4)]);
          };
          expect(select(rows.slice().reverse())).toEqual(select(rows).reverse());
        }),
        { numRuns: 15, seed: 8 },
      );
    });
  });

  test("one type of both inputs: float32 values are taken as they are", () => {
    const logProbs = Float32Array.of(-0.1, -0.7, -0.3);
    const advantages = Float64Array.of(0.1, 0.2, -0.5);
    const mixed = covarianceMask(logProbs, advantages, { k: 1, backend });
    expect(mixed).toEqual(covarianceMask(Float64Array.from(logProbs), advantages, { k: 1, backend }));
  });

  describe("what callers get wrong", () => {
    const x = Float32Array.of(-1, -2, -4);
    const selected = new Uint8Array(3).fill(9);
    const code = (options: object, logProbs: unknown = x, advantages: unknown = x): string | undefined =>
      errorCode(() =>
        covarianceMask(logProbs as Float32Array, advantages as Float32Array, {
          backend,
          out: { selected },
          ...options,
        }),
      );
    afterEach(() => expect([...selected]).toEqual([9, 9, 9]));

    test("a choice that is none, or two", () => {
      for (const options of [
        {},
        { share: 0.5, k: 1 },
        { between: [0, 1], k: 1 },
        { between: [0, 1], least: 1 },
        { least: 2 },
      ])
        expect(code(options)).toBe("ERR_SURPRISAL_OPTION");
      for (const between of [[1, 0], [NaN, 1], [0, NaN], [0], 3, ["0", 1], null])
        expect(code({ between })).toBe("ERR_SURPRISAL_OPTION");
      for (const share of [NaN, -1e-9, 1.0001]) expect(code({ share })).toBe("ERR_SURPRISAL_OPTION");
      for (const k of [NaN, -1, 0.5]) expect(code({ k })).toBe("ERR_SURPRISAL_OPTION");
      for (const countEpsilon of [NaN, -1, Infinity]) expect(code({ k: 1, countEpsilon })).toBe("ERR_SURPRISAL_OPTION");
    });

    test("arrays of the wrong kind or size, or over another", () => {
      expect(code({ k: 1 }, Int32Array.of(1, 2, 3))).toBe("ERR_SURPRISAL_DTYPE");
      expect(code({ k: 1 }, x, Int32Array.of(1, 2, 3))).toBe("ERR_SURPRISAL_DTYPE");
      expect(code({ k: 1 }, x, new Float32Array(2))).toBe("ERR_SURPRISAL_SHAPE");
      expect(code({ k: 1, shape: [2, 2] })).toBe("ERR_SURPRISAL_SHAPE");
      expect(code({ k: 1, excluded: new Uint8Array(2) })).toBe("ERR_SURPRISAL_SHAPE");
      expect(code({ k: 1, excluded: new Int32Array(3) })).toBe("ERR_SURPRISAL_DTYPE");
      expect(code({ k: 1, offsets: Int32Array.of(0, 2, 1, 3) })).toBe("ERR_SURPRISAL_RANGE");
      expect(code({ k: 1, out: { selected: new Uint8Array(2) } })).toBe("ERR_SURPRISAL_SHAPE");
      const memory = new Uint8Array(8);
      const [excluded, shifted] = [memory.subarray(0, 3), memory.subarray(1, 4)];
      expect(code({ k: 1, excluded, out: { selected: shifted } })).toBe("ERR_SURPRISAL_BUFFER");
      expect(code({ k: 1, mask: excluded, out: { selected: excluded } })).toBe("ERR_SURPRISAL_BUFFER");
    });

    test("packed rows that are as many as tokens leave the advantages open", () => {
      const offsets = Int32Array.of(0, 0, 1, 3);
      expect(code({ k: 1, offsets })).toBe("ERR_SURPRISAL_OPTION");
      const per = (advantagesPer: "row" | "token"): number[] => [
        ...covarianceMask(x, Float32Array.of(5, 0, 1), { k: 1, offsets, advantagesPer, backend }).selected,
      ];
      expect([per("row"), per("token")]).toEqual([
        [0, 1, 0],
        [1, 0, 0],
      ]);
    });
  });
});

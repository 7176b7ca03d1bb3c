// Single tokens and rows at the edges of the forms, and laws of all forms.
import fc from "fast-check";

import { klEstimates, rowLoss, tokenLoss } from "surprisal";
import "../../support/all-close";
import { eachBackend } from "../../support/each-backend";
import type { LossCase } from "../../oracle/loss";
import { FORMS, randomCase, readsCap, readsWidths, run } from "./cases";

const f64 = (...values: number[]) => Float64Array.from(values);
/** One above and one below in the last place. */
const above = (x: number) => x + Math.abs(x) * 2 ** -52;
const below = (x: number) => x - Math.abs(x) * 2 ** -52;

eachBackend((backend) => {
  const one = (x: number, A: number, form: object) => {
    const got = tokenLoss({
      shape: [1, 1],
      logProbs: f64(x),
      oldLogProbs: f64(0),
      advantages: f64(A),
      advantagesPer: "token",
      outputs: ["losses", "ratios", "clipped", "gradLogProbs"],
      backend,
      ...(form as { form: "linear" }),
    });
    return { loss: got.losses[0], ratio: got.ratios[0], clipped: got.clipped[0], grad: got.gradLogProbs[0] };
  };

  test("clip: the bounds belong to the band, one step further the gradient is gone", () => {
    const x = Math.log(1.25);
    const r = Math.exp(x);
    const high = (clipHigh: number) => one(x, 2, { form: "clip", clipLow: 0.5, clipHigh });
    expect(high(above(r) - 1 + 2 ** -52)).toMatchObject({ grad: -2 * r, clipped: 0 });
    expect(high(0.2)).toMatchObject({ loss: -2 * 1.2, grad: 0, clipped: 1 });
    const y = Math.log(0.5);
    expect(one(y, -2, { form: "clip", clipLow: 0.5, clipHigh: 0.2 })).toMatchObject({ grad: 1, clipped: 0, loss: 1 });
    expect(one(below(y) - 2 ** -52, -2, { form: "clip", clipLow: 0.5, clipHigh: 0.2 })).toMatchObject({
      grad: 0,
      clipped: 1,
      loss: 1,
    });
    // On the other side of the advantage nothing is cut.
    expect(one(y, 2, { form: "clip", clipLow: 0.2, clipHigh: 0.2 })).toMatchObject({ grad: -1, clipped: 0 });
  });

  test.each(["row", "token"] as const)(
    "gamma: an advantage of 0 per %s has the weight of a positive one",
    (advantagesPer) => {
      const shape = { shapePositive: 2, ratePositive: 3, shapeNegative: 3, rateNegative: 2 };
      const weight = (A: number) =>
        rowLoss({
          shape: [1, 1],
          logProbs: f64(-0.5),
          oldLogProbs: f64(-1),
          advantages: f64(A),
          advantagesPer,
          form: "gamma",
          ...shape,
          outputs: ["ratios"],
          backend,
        }).ratios[0];
      expect(weight(0)).toBe(weight(1));
      expect(weight(-1)).not.toBe(weight(1));
    },
  );

  test("an infinite weight of a row counts as NaN, whatever it would weigh, and leaves the others alone", () => {
    const rows = {
      shape: [3, 2],
      logProbs: f64(0, 0, -1, -1, 0, 0),
      oldLogProbs: new Float64Array(6),
      advantages: f64(1, 0, 1),
      advantagesPer: "row",
      rowWeights: f64(Infinity, -Infinity, 2),
      backend,
    } as const;
    for (const found of [
      tokenLoss({ ...rows, form: "linear" }),
      tokenLoss({ ...rows, form: "clip", clipLow: 0.2, clipHigh: 0.2 }),
      rowLoss({ ...rows, form: "clip", clipLow: 0.2, clipHigh: 0.2 }),
    ]) {
      expect(found.total).toBeNaN();
      expect(Array.from(found.gradLogProbs, Number.isNaN)).toEqual([true, true, true, true, false, false]);
    }
  });

  test("bounded: ln(1 + clipHigh) itself still moves, the next number does not; clipLow 1 removes the lower bound", () => {
    const bound = Math.log1p(0.25);
    const form = { form: "bounded", clipLow: 0.25, clipHigh: 0.25 };
    expect(one(bound, 3, form)).toMatchObject({ grad: -3, clipped: 0, loss: -3 * bound });
    expect(one(above(bound), 3, form)).toMatchObject({ grad: 0, clipped: 1, loss: -3 * bound });
    expect(one(Math.log1p(-0.25), -3, form)).toMatchObject({ grad: 3, clipped: 0 });
    expect(one(-100, -3, { ...form, clipLow: 1 })).toMatchObject({ grad: 3, clipped: 0 });
  });

  test("weighted: the weight is clipped, the gradient never stops", () => {
    expect(one(Math.log(8), 1, { form: "weighted", ratioCap: 5 })).toMatchObject({
      grad: -5,
      clipped: 1,
      loss: -5 * Math.log(8),
    });
    expect(one(0, 1, { form: "weighted", ratioCap: 5 })).toMatchObject({ grad: -1, clipped: 0 });
  });

  test("sigmoid: slope A at ratio 1 whatever the temperature, flat and finite far away", () => {
    const form = { form: "sigmoid", temperaturePositive: 3, temperatureNegative: 7 };
    expect(one(0, 2, form).grad).toBe(-2);
    expect(one(0, -2, form).grad).toBe(2);
    expect(one(1000, 2, form)).toMatchObject({ loss: -8 / 3, grad: 0 });
    expect(one(-1000, -2, form).grad).toBe(0);
  });

  test("squared: a tie goes to the free branch; without widths it is plain regression", () => {
    const form = { form: "squared", clipLow: 1, clipHigh: 1 };
    expect(one(2, 1.5, form)).toMatchObject({ loss: 0.125, grad: 0.5, clipped: 0 });
    expect(one(2, 3, form)).toMatchObject({ loss: 2, grad: 0, clipped: 1 });
    expect(one(2, 3, { form: "squared" })).toMatchObject({ loss: 0.5, grad: -1 });
  });

  test("an advantage of 0 silences an infinite ratio, a factor or weight of 0 an infinite loss, none of them a NaN", () => {
    const clip = { form: "clip", clipLow: 0.2, clipHigh: 0.2 };
    expect(one(1000, 0, clip)).toEqual({ loss: 0, ratio: Infinity, clipped: 0, grad: 0 });
    expect(one(1000, -1, clip).loss).toBe(Infinity);
    const zero = {
      shape: [1, 1],
      logProbs: f64(1000),
      oldLogProbs: f64(0),
      advantages: f64(-1),
      advantagesPer: "row",
      backend,
    } as const;
    expect(
      tokenLoss({ ...zero, form: "clip", clipLow: 0.2, clipHigh: 0.2, factors: f64(0), factorsPer: "row" }).total,
    ).toBe(0);
    const weighted = tokenLoss({ ...zero, form: "clip", clipLow: 0.2, clipHigh: 0.2, rowWeights: f64(0) });
    expect([weighted.total, weighted.gradLogProbs[0]]).toEqual([0, 0]);
    expect(one(NaN, 0, clip)).toMatchObject({ loss: NaN, grad: NaN, clipped: 0 });
  });

  test("without old log-probs every ratio is 1, and has a gradient", () => {
    const logProbs = f64(-1, -2, -3);
    const common = {
      shape: [1, 3] as const,
      logProbs,
      advantages: f64(2),
      advantagesPer: "row",
      clipLow: 0.2,
      clipHigh: 0.2,
      backend,
    } as const;
    const tokens = tokenLoss({ ...common, form: "clip", outputs: ["ratios", "gradLogProbs"] });
    expect([...tokens.ratios, ...tokens.gradLogProbs]).toEqual([1, 1, 1, -2, -2, -2]);
    const row = rowLoss({ ...common, form: "clip", outputs: ["ratios", "gradLogProbs"] });
    expect([...row.ratios, ...row.gradLogProbs]).toEqual([1, -2, -2, -2]);
  });

  test("a row without tokens counts once in forms of one value a row, and is nothing elsewhere", () => {
    const empty = {
      shape: [1, 2] as const,
      logProbs: f64(NaN, NaN),
      mask: new Uint8Array(2),
      advantages: f64(3),
      advantagesPer: "row",
      backend,
    } as const;
    const band = { clipLow: 0.2, clipHigh: 0.2 };
    expect(rowLoss({ ...empty, ...band, form: "clipOnce" }).total).toBe(-3);
    expect(rowLoss({ ...empty, ...band, form: "geometric" }).total).toBe(-3);
    expect(rowLoss({ ...empty, form: "squared", coefficient: 2 }).total).toBe(9);
    expect(rowLoss({ ...empty, ...band, form: "clip" }).total).toBe(0);
    expect([...rowLoss({ ...empty, ...band, form: "clipOnce" }).gradLogProbs]).toEqual([0, 0]);
    expect(rowLoss({ ...empty, ...band, form: "clipOnce", rowWeights: f64(0) }).total).toBe(0);
    expect(tokenLoss({ ...empty, ...band, form: "clip" }).figures).toMatchObject({ kept: 0, rowRatio: -Infinity });
  });

  test("no rows, and rows of no tokens", () => {
    expect(
      tokenLoss({ form: "linear", shape: [0, 3], logProbs: f64(), advantages: f64(), advantagesPer: "row", backend })
        .total,
    ).toBe(0);
    expect(
      tokenLoss({
        form: "linear",
        offsets: Int32Array.of(0, 0),
        logProbs: f64(),
        advantages: f64(1),
        advantagesPer: "row",
        backend,
      }).total,
    ).toBe(0);
  });

  test("KL estimates: values, derivatives, clamps, straight-through", () => {
    const at = (kind: "k1" | "abs" | "k2" | "k3", d: number, more: object = {}) => {
      const { values, gradLogProbs } = klEstimates(f64(d), f64(0), { shape: [1, 1], kind, backend, ...more });
      return [values[0], gradLogProbs[0]];
    };
    expect(at("k1", -2)).toEqual([-2, 1]);
    expect(at("abs", -2)).toEqual([2, -1]);
    expect(at("abs", 0)).toEqual([0, 0]);
    expect(at("k2", -2)).toEqual([2, -2]);
    expect(at("k3", 1)).toBeAllClose([Math.exp(-1), 1 - Math.exp(-1)], { rtol: 1e-15 });
    // d²/2 to the last digits where exp(−d) − 1 + d would have none left.
    expect(at("k3", 1e-5)[0]).toBeAllClose(0.5e-10 - 1e-15 / 6, { rtol: 1e-10 });
    expect(at("k2", 2, { valueClamp: 2 })).toEqual([2, 2]);
    expect(at("k2", 2.5, { valueClamp: 2 })).toEqual([2, 0]);
    expect(at("k2", 3, { logClamp: 2 })).toEqual([2, 0]);
    expect(at("k1", 3, { gradientKind: "k2", valueClamp: 2 })).toEqual([2, 3]);
    expect(at("k3", NaN)).toEqual([NaN, NaN]);
    const sums = klEstimates(new Float32Array([1, NaN, 3, 4]), new Float32Array(4), {
      offsets: Int32Array.of(0, 2, 4),
      mask: Uint8Array.of(1, 0, 1, 1),
      kind: "k1",
      backend,
    });
    expect([...sums.rowSums]).toEqual([1, 7]);
    expect(sums.values).toEqual(new Float32Array([1, 0, 3, 4]));
  });

  const boundNames = ["clipLow", "clipHigh", "ratioCap"] as const;
  const seeds = fc.nat(1e6);
  const runs = { seed: 9, numRuns: 25 };
  const outputs = ["losses", "ratios", "klValues", "clipped", "gradLogProbs", "total", "figures"] as const;
  const shown = (got: object) => outputs.map((name) => (got as Record<string, unknown>)[name]);

  test.each(FORMS)("$name: what lies under the mask changes no bit", (form) => {
    fc.assert(
      fc.property(seeds, fc.constantFrom("padded" as const, "packed" as const), (seed, layout) => {
        const loss = randomCase(seed, form, { layout, mask: "with empty rows" });
        const { mask, logProbs, oldLogProbs, kl, advantages, advantagesPer, boundsPer } = loss.options;
        const oldPerRow = (loss.options as { oldLogProbsPer?: string }).oldLogProbsPer === "row";
        const poisoned = <A extends Float32Array | Float64Array>(values: A): A =>
          values.map((v, i) => (mask![i] ? v : NaN)) as A;
        const bounds = boundNames.flatMap((name) => {
          const bound = loss.options[name];
          return typeof bound === "object" && boundsPer === "token" ? [[name, poisoned(bound)] as const] : [];
        });
        const changes = {
          ...Object.fromEntries(bounds),
          logProbs: poisoned(logProbs),
          ...(oldLogProbs && !oldPerRow && { oldLogProbs: poisoned(oldLogProbs) }),
          ...(kl && { kl: { ...kl, referenceLogProbs: poisoned(kl.referenceLogProbs) } }),
          ...(advantagesPer === "token" && { advantages: poisoned(advantages) }),
        };
        expect(shown(run(loss, backend, changes))).toEqual(shown(run(loss, backend)));
      }),
      runs,
    );
  });

  const readers = FORMS.filter(({ kind, form }) => readsWidths(kind, form));

  test.each(readers)("$name: a bound of each row or token gives the bits of the number", (form) => {
    const rowsOnly = form.kind === "row" && form.form === "clipOnce";
    const names = readsCap(form.kind, form.form) ? boundNames : (["clipLow", "clipHigh"] as const);
    fc.assert(
      fc.property(seeds, fc.boolean(), (seed, ofRows) => {
        const loss = randomCase(seed, form, { layout: "padded", mask: "some" });
        const [B, T] = loss.options.shape!;
        const numbers = { clipLow: 0.15, clipHigh: 0.25, ratioCap: 1.3 };
        const per = rowsOnly || ofRows ? "row" : "token";
        const given = Object.fromEntries(names.map((name) => [name, numbers[name]]));
        const plain = { ratioCap: undefined, ...given, boundsPer: undefined };
        const filled = (name: (typeof names)[number]) =>
          new Float64Array(per === "row" ? B : B * T).fill(numbers[name]);
        const each = Object.fromEntries(names.map((name) => [name, filled(name)]));
        const arrays = { ratioCap: undefined, ...each, boundsPer: per };
        expect(shown(run(loss, backend, arrays))).toEqual(shown(run(loss, backend, plain)));
      }),
      runs,
    );
  });

  test.each(readers)("$name: a bound out of range makes its own tokens NaN", (form) => {
    const rowsOnly = form.kind === "row" && form.form === "clipOnce";
    const [B, T] = [3, 5];
    const wrong = [-0.1, NaN] as const;
    for (const clipHigh of wrong) {
      const loss = {
        kind: form.kind,
        options: {
          form: form.form,
          shape: [B, T],
          logProbs: Float64Array.from({ length: B * T }, (_, i) => -1 - i / 50),
          oldLogProbs: Float64Array.from({ length: B * T }, (_, i) => -1 - i / 40),
          advantages: f64(1, -1, 2),
          clipLow: 0.2,
          clipHigh: new Float64Array(rowsOnly ? B : B * T).fill(0.2).fill(clipHigh, rowsOnly ? 1 : 7, rowsOnly ? 2 : 8),
          boundsPer: rowsOnly ? "row" : "token",
          outputs: ["losses", "gradLogProbs"],
        },
      } as unknown as LossCase;
      const { losses, gradLogProbs, rowFigures } = run(loss, backend);
      expect(Array.from(rowFigures.total, Number.isNaN)).toEqual([false, true, false]);
      const isNaNAt = Array.from(gradLogProbs, Number.isNaN);
      const one = form.kind === "token" || form.form === "clipLocal";
      expect(isNaNAt).toEqual(isNaNAt.map((_, i) => (one ? i === 7 : i >= T && i < 2 * T)));
      expect(Array.from(losses).some(Number.isNaN)).toBe(true);
    }
  });

  test.each(FORMS)("$name: a NaN stays in its row, and a row alone is what it was among others", (form) => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const loss = randomCase(seed, form, { layout: "padded", mask: "none" });
        const { logProbs, shape } = loss.options;
        const T = shape![1];
        const spoiled = logProbs.map((v, i) => (i === T + 2 ? NaN : v));
        const everyToken = { termMask: undefined }; // outside of the loss, a NaN need not show
        const before = run(loss, backend, everyToken);
        const after = run(loss, backend, { ...everyToken, logProbs: spoiled });
        const outside = (values: ArrayLike<number>) => Array.from(values).filter((_, i) => i < T || i >= 2 * T);
        expect(outside(after.gradLogProbs)).toEqual(outside(before.gradLogProbs));
        const others = (values: Float64Array) => values.filter((_, b) => b !== 1);
        expect(others(after.rowFigures.total)).toEqual(others(before.rowFigures.total));
        expect(after.rowFigures.total[1]).toBe(NaN);
        if (form.kind === "token") {
          const row = (values: ArrayLike<number>) =>
            Array.from(values).filter((_, i) => i >= T && i < 2 * T && i !== T + 2);
          expect(row(after.gradLogProbs)).toEqual(row(before.gradLogProbs));
        }
      }),
      runs,
    );
  });

  test.each(FORMS)("$name: padded rows and packed ones give the same bits, in any order of rows", (form) => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const loss = randomCase(seed, form, { layout: "padded", mask: "some" });
        const [B, T] = loss.options.shape!;
        const order = Array.from({ length: B }, (_, b) => (b + 1) % B);
        const given = loss.options as unknown as Record<string, unknown>;
        const moved = (value: unknown): unknown => {
          if (!ArrayBuffer.isView(value)) return value;
          const array = value as Float64Array;
          const width = array.length === B ? 1 : T;
          return array.map((_, i) => array[order[Math.floor(i / width)]! * width + (i % width)]!);
        };
        const changes = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, moved(value)]));
        const kl =
          loss.options.kl &&
          Object.fromEntries(Object.entries(loss.options.kl).map(([name, value]) => [name, moved(value)]));
        const { shape: _, ...packed } = {
          ...changes,
          offsets: Int32Array.from({ length: B + 1 }, (_, b) => b * T),
        } as Record<string, unknown>;
        const want = run(loss, backend);
        const got = run({ ...loss, options: { ...packed, ...(kl && { kl }) } } as unknown as typeof loss, backend);
        for (const name of ["losses", "ratios", "klValues", "clipped", "gradLogProbs"] as const)
          expect(got[name]).toEqual(moved(want[name]));
        expect(got.rowFigures.total).toEqual(moved(want.rowFigures.total));
      }),
      runs,
    );
  });

  test("where the KL estimate is NaN, so is its derivative", () => {
    for (const timesRatio of [false, true]) {
      const kl = { referenceLogProbs: f64(0, 0), kind: "k3", timesRatio } as const;
      const got = rowLoss({
        shape: [1, 2],
        logProbs: f64(-Infinity, -4), // exp(inf) - inf
        oldLogProbs: f64(0, 0),
        advantages: f64(1),
        form: "clip",
        clipLow: 0.2,
        clipHigh: 0.3,
        logClamp: 20,
        kl,
        outputs: ["gradLogProbs", "klValues"],
        backend,
      });
      expect([got.klValues[0], got.gradLogProbs[0]]).toEqual([NaN, NaN]);
      expect(Number.isFinite(got.gradLogProbs[1])).toBe(true);
    }
  });
});

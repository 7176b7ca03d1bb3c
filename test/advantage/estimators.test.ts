import {
  gae,
  gaeAdvantage,
  gpgAdvantage,
  rlooAdvantage,
  opoAdvantage,
  optimalTokenBaselineAdvantage,
  passAtKAdvantage,
  reinforcePlusPlusAdvantage,
  reinforcePlusPlusBaselineAdvantage,
  remaxAdvantage,
  resamplingWeights,
  SurprisalError,
} from "surprisal";
import {
  byLength,
  equally,
  laterRewards,
  leadOfBest,
  lessBaseline,
  lessOthers,
  rewardsUntilHole,
  type Rollout,
  scoreOf,
  spread,
  whitened,
} from "../oracle/estimators";
import { groupColumnsOracle } from "../oracle/group-columns";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";
import { thrownBy } from "../support/thrown-by";

// Float64 sums of up to a hundred terms in another order, and one division by a std.
const F64 = { atol: 1e-12, rtol: 1e-11 };

const [B, T] = [9, 13];
const shape = [B, T] as const;
const groups = [4, 2, 4, 4, 2, 7, 2, 4, 2]; // 7 stands alone

function rollouts(seed: number) {
  const r = rng(seed);
  const tokenRewards = r.f64(B * T, -1, 1);
  const mask = r.mask(B * T, 0.8);
  mask.fill(0, T, 2 * T); // a row without tokens
  const slice = <X>(array: ArrayLike<X>, b: number): X[] => Array.from({ length: T }, (_, t) => array[b * T + t]!);
  const rows = groups.map((group, b): Rollout => ({
    rewards: slice(tokenRewards, b),
    kept: slice(mask, b).map(Boolean),
    group,
  }));
  return { r, rows, mask, batch: { tokenRewards, mask, shape, groups } as const };
}

eachBackend((backend) => {
  test("rloo, opo, gpg and passAtK equal their definitions", () => {
    const { rows, batch } = rollouts(1);
    expect(rlooAdvantage(batch, { backend }).rowAdvantages).toBeAllClose(lessOthers(rows), F64);
    for (const singleton of ["zero", "raw"] as const) {
      const opo = opoAdvantage(batch, { singleton, backend });
      expect(opo.rowAdvantages).toBeAllClose(lessBaseline(rows, byLength, singleton), F64);
      expect(opo.advantages).toBeAllClose(spread(lessBaseline(rows, byLength, singleton), rows).flat(), F64);
      const gpg = gpgAdvantage(batch, { singleton, normalizer: 2, backend });
      expect(gpg.rowAdvantages).toBeAllClose(
        lessBaseline(rows, equally, singleton).map((a) => a / 2),
        F64,
      );
    }
    expect(passAtKAdvantage(batch, { epsilon: 1e-3, backend }).rowAdvantages).toBeAllClose(leadOfBest(rows, 1e-3), F64);
  });

  test("gpg stretches by the share of rows with a score", () => {
    const got = gpgAdvantage({ rewards: Float64Array.of(1, 0, 0, 0), groups: "all", shape: [4, 1] }, { backend });
    expect(got.alpha).toBe(4);
    expect([...got.advantages]).toEqual([3, -1, -1, -1]);
    expect(gpgAdvantage({ rewards: new Float64Array(3), groups: [0, 0, 0], shape: [3, 1] }, { backend }).alpha).toBe(3);
  });

  test("reinforcePlusPlus whitens the later rewards; preset verl-2026-01 stops at a hole", () => {
    const { rows, batch } = rollouts(3);
    const plain = rows.map((row) => laterRewards(row, 0.9).map((x, t) => (row.kept[t] ? x : 0)));
    const got = reinforcePlusPlusAdvantage(batch, { gamma: 0.9, backend });
    expect(got.returns).toBeAllClose(plain.flat(), F64);
    expect(got.advantages).toBeAllClose(whitened(plain, rows, 1e-8).flat(), F64);
    const cut = rows.map((row) => rewardsUntilHole(row, 0.9));
    const stopped = reinforcePlusPlusAdvantage(batch, {
      gamma: 0.9,
      preset: "verl-2026-01",
      transformMasked: false,
      backend,
    });
    expect(stopped.returns).toBeAllClose(cut.flat(), F64);
    expect(stopped.advantages).toBeAllClose(whitened(cut, rows, 1e-8).flat(), F64);
    expect(reinforcePlusPlusAdvantage(batch, { gamma: 0.9, whitening: false, backend }).advantages).toEqual(
      got.returns,
    );
  });

  test("the baseline form whitens s − mean over tokens", () => {
    const { rows, batch } = rollouts(4);
    const centred = lessBaseline(rows, equally, "zero");
    const got = reinforcePlusPlusBaselineAdvantage(batch, { backend });
    expect(got.rowAdvantages).toBeAllClose(centred, F64);
    expect(got.advantages).toBeAllClose(whitened(spread(centred, rows), rows, 1e-8).flat(), F64);
  });

  test("gaeAdvantage is gae, whitened", () => {
    const { r, rows, batch } = rollouts(5);
    const values = r.f64(B * T, -1, 1);
    const bootstrap = r.f64(B, -1, 1);
    const { tokenRewards, mask } = batch;
    const options = { gamma: 0.97, lambda: 0.9, backend } as const;
    const raw = gae(tokenRewards, values, { shape, mask, bootstrap, ...options });
    const got = gaeAdvantage({ ...batch, values, bootstrap }, options);
    expect(got.rawAdvantages).toEqual(raw.advantages);
    expect(got.returns).toEqual(raw.returns);
    const tokens = rows.map((_, b) => [...raw.advantages.subarray(b * T, (b + 1) * T)]);
    expect(got.advantages).toBeAllClose(whitened(tokens, rows, 1e-8).flat(), F64);
  });

  test("remax is the later rewards less the baseline of kept tokens", () => {
    const { r, rows, batch } = rollouts(6);
    const baselines = r.f64(B, -1, 1);
    const got = remaxAdvantage({ ...batch, baselines }, { backend });
    const returns = rows.map((row) => laterRewards(row, 1));
    expect(got.returns).toBeAllClose(returns.flat(), F64);
    expect(got.advantages).toBeAllClose(
      returns.flatMap((row, b) => row.map((x, t) => x - (rows[b]!.kept[t] ? baselines[b]! : 0))),
      F64,
    );
  });

  test.each([
    ["position", false],
    ["position", true],
    ["kept", false],
    ["kept", true],
  ] as const)("optimalTokenBaseline equals its definition, columns %s, zero tail %p", (columns, zeroTail) => {
    const { r, rows, batch } = rollouts(7);
    const logProbs = r.f64(B * T, -4, -0.1);
    const sumSquares = r.f64(B * T, 0, 1);
    const importanceWeights = r.f64(B * T, 0.5, 1.5);
    const got = optimalTokenBaselineAdvantage(
      { ...batch, logProbs, sumSquares, importanceWeights },
      { columns, zeroTail, epsilon: 1e-3, backend },
    );
    const returns = rows.map((row) => laterRewards(row, 1));
    const norm = (i: number) => (1 - 2 * Math.exp(logProbs[i]!) + sumSquares[i]!) * importanceWeights[i]! ** 2;
    const paths = rows.map(({ kept }, b) =>
      kept.map((_, t) => kept.slice(0, t + 1).reduce((total, k, j) => (k ? total + norm(b * T + j) : total), 0)),
    );
    // Columns of kept tokens: each row without its holes.
    const dense = <X>(table: readonly (readonly X[])[]) =>
      columns === "kept" ? table.map((row, b) => row.filter((_, t) => rows[b]!.kept[t])) : table;
    const kept = dense(rows.map((row) => row.kept));
    const flat = groupColumnsOracle({
      values: dense(returns),
      weights: dense(paths),
      kept,
      groups,
      epsilon: 1e-3,
      zeroTail,
    });
    const want = rows.map((row, b) => {
      const queue = [...flat[b]!];
      return row.kept.map((k, t) => (columns === "kept" ? (k ? queue.shift()! : 0) : flat[b]![t]!));
    });
    expect(got.returns).toBeAllClose(returns.flat(), F64);
    expect(got.baselines).toBeAllClose(want.flat(), F64);
    expect(got.advantages).toBeAllClose(
      returns.flatMap((row, b) => row.map((x, t) => (rows[b]!.kept[t] ? x - want[b]![t]! : 0))),
      F64,
    );
  });

  test("resamplingWeights by size, by extremes", () => {
    const rewards = Float64Array.of(-2, 0, 1, 1);
    const batch = { rewards, shape: [4, 1] } as const;
    expect(resamplingWeights(batch, { backend })).toBeAllClose(
      [4, 0, 1, 1].map((x) => x + 1e-8),
      F64,
    );
    expect([...resamplingWeights(batch, { method: "maxMin", floor: 0, backend })]).toEqual([1, 0, 1, 1]);
    expect([...resamplingWeights(batch, { method: "maxRandom", floor: 0, backend })]).toEqual([0.1, 0.1, 0.4, 0.4]);
  });

  test("float32 inputs give float32 results within a rounding of the float64 ones", () => {
    const { r, rows, batch } = rollouts(8);
    const single = { ...batch, tokenRewards: Float32Array.from(batch.tokenRewards) };
    const double = { ...batch, tokenRewards: Float64Array.from(single.tokenRewards) };
    const values = r.f32(B * T, -1, 1);
    const half = { atol: 1e-7, rtol: 1e-7 }; // half an ulp of float32 and a little
    type Estimate = (
      rollouts: typeof single | typeof double,
      options: { backend: typeof backend },
    ) => { advantages: ArrayLike<number> };
    const estimates: Estimate[] = [rlooAdvantage, opoAdvantage, reinforcePlusPlusBaselineAdvantage, passAtKAdvantage];
    for (const estimate of estimates) {
      const got = estimate(single, { backend }).advantages;
      expect(got).toBeInstanceOf(Float32Array);
      expect(got).toBeAllClose(estimate(double, { backend }).advantages, half);
    }
    const options = { gamma: 0.9, lambda: 0.9, backend } as const;
    expect(gaeAdvantage({ ...single, values }, options).advantages).toBeAllClose(
      gaeAdvantage({ ...double, values }, options).advantages,
      half,
    );
    expect(scoreOf(rows[0]!)).toBeCloseTo(rlooAdvantage(batch, { backend }).scores[0]!, 12);
  });

  describe("refuses, writing nothing:", () => {
    const rewards = Float32Array.of(1, 2, 3, 4);
    const tokens = { tokenRewards: rewards, shape: [2, 2] } as const;
    const whole = { backend } as const;
    const good = { ...whole, gamma: 1, lambda: 1 };
    test.each([
      [
        "values of another length",
        () => gaeAdvantage({ ...tokens, values: new Float32Array(3) }, good),
        "ERR_SURPRISAL_SHAPE",
      ],
      [
        "NaN as gamma",
        () => gaeAdvantage({ ...tokens, values: rewards }, { ...good, gamma: NaN }),
        "ERR_SURPRISAL_OPTION",
      ],
      [
        "rewards of another type",
        () =>
          reinforcePlusPlusAdvantage(
            { ...tokens, tokenRewards: Int32Array.of(1, 2, 3, 4) as never },
            { ...whole, gamma: 1 },
          ),
        "ERR_SURPRISAL_DTYPE",
      ],
      [
        "baselines of another length",
        () => remaxAdvantage({ ...tokens, baselines: new Float32Array(3) }, whole),
        "ERR_SURPRISAL_SHAPE",
      ],
      ["labels of another length", () => opoAdvantage({ ...tokens, groups: [1] }, whole), "ERR_SURPRISAL_SHAPE"],
      ["a normalizer of 0", () => gpgAdvantage(tokens, { ...whole, normalizer: 0 }), "ERR_SURPRISAL_OPTION"],
      ["an infinite epsilon", () => passAtKAdvantage(tokens, { ...whole, epsilon: Infinity }), "ERR_SURPRISAL_OPTION"],
      [
        "a preset that says nothing",
        () => opoAdvantage(tokens, { ...whole, preset: "gspo" as never }),
        "ERR_SURPRISAL_OPTION",
      ],
      [
        "a mask of another type",
        () => rlooAdvantage({ ...tokens, mask: Int32Array.of(1, 1, 1, 1) as never }, whole),
        "ERR_SURPRISAL_DTYPE",
      ],
      [
        "an unknown method",
        () => resamplingWeights(tokens, { method: "rank" as never, backend }),
        "ERR_SURPRISAL_OPTION",
      ],
      [
        "unknown columns",
        () =>
          optimalTokenBaselineAdvantage(
            { ...tokens, logProbs: rewards, sumSquares: rewards },
            { columns: "all" as never, backend },
          ),
        "ERR_SURPRISAL_OPTION",
      ],
      [
        "offsets that go down",
        () =>
          reinforcePlusPlusAdvantage(
            { tokenRewards: rewards, offsets: Int32Array.of(0, 3, 2, 4) },
            { ...whole, gamma: 1 },
          ),
        "ERR_SURPRISAL_RANGE",
      ],
    ] as const)("%s", (_, call, code) => {
      const error = thrownBy(call);
      expect(error).toBeInstanceOf(SurprisalError);
      expect((error as SurprisalError).code).toBe(code);
      expect([...rewards]).toEqual([1, 2, 3, 4]);
    });
  });
});

// Rejection by definition, for each of the eleven options; thresholds at and beside the bound.
import { type RejectionOption, type RejectionThreshold, rolloutRejectionMask } from "../../../lib";
import { m2Of, mean, rowFigures, statistics, sum, within } from "../../oracle/correction";
import { eachBackend } from "../../support/each-backend";
import { errorCode } from "../../support/error-code";
import { batchOf, T } from "./batch";

const CLOSE = { rtol: 1e-11, atol: 1e-14 }; // variances of numbers that differ in the second digit
const TOKEN = ["token_k1", "token_k2", "token_k3"] as const;
const ROW = [
  "seq_sum_k1",
  "seq_sum_k2",
  "seq_sum_k3",
  "seq_mean_k1",
  "seq_mean_k2",
  "seq_mean_k3",
  "seq_max_k2",
  "seq_max_k3",
] as const;

/** Thresholds that some pass and some do not. */
function thresholdOf(option: RejectionOption): { threshold: RejectionThreshold; low: number; high: number } {
  if (option.endsWith("k1")) return { threshold: "0.9_1.2", low: Math.log(0.9), high: Math.log(1.2) };
  const high = option.includes("sum") ? 0.5 : option.includes("max") ? 0.25 : 0.08;
  return { threshold: high, low: -Infinity, high };
}

eachBackend((backend) => {
  const { oldLogProbs, samplerLogProbs, mask, rows, shape } = batchOf(2);
  const where = { shape, mask, backend };
  const N = sum(rows.map((row) => row.old.length));
  const positions = Array.from(mask.keys()).filter((i) => mask[i]);

  const figures = (
    option: string,
    values: number[],
    weights: number[],
    rowValues: number[],
    low: number,
    high: number,
  ) => {
    const name = `rollout_rs_${option}`;
    const spread = weights.flatMap((count, i) => new Array<number>(count).fill(within(values[i]!, low, high)));
    const { [`${name}_seq_fraction_low`]: seqLow, ...rest } = rowFigures(name, rowValues, low, high, 0);
    return {
      [`${name}_mean`]: sum(values.map((x, i) => x * weights[i]!)) / N,
      [`${name}_max`]: Math.max(...values),
      [`${name}_min`]: Math.min(...values),
      [`${name}_fraction_high`]: mean(values.map((x) => Number(x > high))),
      [`${name}_fraction_low`]: mean(values.map((x) => Number(x < low))),
      [`${name}_std`]: Math.sqrt(m2Of(spread) / N),
      ...rest,
      ...(option.endsWith("k1") && { [`${name}_seq_fraction_low`]: seqLow }),
    };
  };

  const taken = (option: string, got: Uint8Array) => {
    const lost = positions.filter((i) => !got[i]);
    const hit = new Set(lost.map((i) => Math.floor(i / T))).size;
    return {
      [`rollout_rs_${option}_masked_fraction`]: lost.length / N,
      [`rollout_rs_${option}_seq_masked_fraction`]: hit / 5,
      rollout_rs_masked_fraction: lost.length / N,
      rollout_rs_seq_masked_fraction: hit / 5,
    };
  };

  test.each(TOKEN)("%s: mask and metrics", (option) => {
    const { threshold, low, high } = thresholdOf(option);
    const got = rolloutRejectionMask(oldLogProbs, samplerLogProbs, {
      ...where,
      options: option,
      thresholds: threshold,
    });
    const perRow = rows.map((row) => statistics(option.slice(-2), row));
    const all = perRow.flat();
    const want = new Uint8Array(mask.length);
    positions.forEach((i, k) => (want[i] = Number(all[k]! >= low && all[k]! <= high)));
    expect(got.mask).toEqual(want);
    expect(sum(Array.from(want))).toBeLessThan(N); // some go
    const rowMeans = perRow.filter((list) => list.length > 0).map(mean);
    expect(got.metrics).toBeAllClose(
      { ...figures(option, all, new Array<number>(N).fill(1), rowMeans, low, high), ...taken(option, want) },
      CLOSE,
    );
  });

  test.each(ROW)("%s: mask and metrics", (option) => {
    const { threshold, low, high } = thresholdOf(option);
    const got = rolloutRejectionMask(oldLogProbs, samplerLogProbs, {
      ...where,
      options: option,
      thresholds: threshold,
    });
    const live = rows.filter((row) => row.old.length > 0);
    const reduce = { sum, mean, max: (list: readonly number[]) => Math.max(...list) }[
      option.split("_")[1] as "sum" | "mean" | "max"
    ];
    const values = live.map((row) => reduce(statistics(option.slice(-2), row)));
    const numbers = [0, 1, 3, 4, 5];
    const want = mask.map((flag, i) => {
      const x = values[numbers.indexOf(Math.floor(i / T))];
      return flag && x !== undefined && x >= low && x <= high ? 1 : 0;
    });
    expect(got.mask).toEqual(want);
    const counts = live.map((row) => row.old.length);
    expect(got.metrics).toBeAllClose(
      { ...figures(option, values, counts, values, low, high), ...taken(option, want) },
      CLOSE,
    );
  });

  test("several options: kept where all keep; each reports against the whole mask; repeats are dropped", () => {
    const one = (options: RejectionOption, thresholds: RejectionThreshold) =>
      rolloutRejectionMask(oldLogProbs, samplerLogProbs, { ...where, options, thresholds });
    const parts = [one("token_k1", "0.8_1.3"), one("seq_max_k3", 0.3), one("token_k2", 0.05)];
    const both = rolloutRejectionMask(oldLogProbs, samplerLogProbs, {
      ...where,
      options: ["token_k1", "seq_max_k3", "token_k2", "token_k1"],
      thresholds: ["0.8_1.3", 0.3, 0.05, 9],
    });
    expect(Array.from(both.mask)).toEqual(
      Array.from(mask, (_, i) => Number(parts.every((part) => part.mask[i] === 1))),
    );
    for (const { metrics } of parts)
      for (const [name, value] of Object.entries(metrics))
        if (/_k\d_/.test(name)) expect([name, both.metrics[name]]).toEqual([name, value]);
    expect(both.metrics["rollout_rs_masked_fraction"]).toBe((N - sum(Array.from(both.mask))) / N);
  });

  test("at the threshold a statistic is kept, beside it rejected", () => {
    const keep = (options: RejectionOption, thresholds: RejectionThreshold, d: number): number =>
      rolloutRejectionMask(Float64Array.of(d), Float64Array.of(0), { shape: [1, 1], options, thresholds, backend })
        .mask[0]!;
    const at = Math.log(1.25);
    for (const option of ["token_k1", "seq_sum_k1", "seq_mean_k1"] as const) {
      expect([keep(option, "0.5_1.25", -at), keep(option, "0.5_1.25", -at * (1 + 2 ** -51))]).toEqual([1, 0]);
      expect([
        keep(option, "0.5_1.25", -Math.log(0.5)),
        keep(option, "0.5_1.25", -Math.log(0.5) * (1 + 2 ** -51)),
      ]).toEqual([1, 0]);
    }
    for (const option of ["token_k2", "seq_sum_k2", "seq_mean_k2", "seq_max_k2"] as const)
      expect([keep(option, 0.125, 0.5), keep(option, 0.125, 0.5 + 2 ** -52), keep(option, "0.125", -0.5)]).toEqual([
        1, 0, 1,
      ]);
  });

  test("one number for k1 bounds both sides; the bounded ratio is rollout over training", () => {
    const d = Float64Array.of(0.3, -0.3, 0.1, -0.1);
    const mask4 = (thresholds: RejectionThreshold): number[] =>
      Array.from(
        rolloutRejectionMask(d, new Float64Array(4), { shape: [1, 4], options: "token_k1", thresholds, backend }).mask,
      );
    expect(mask4(1.2)).toEqual([0, 0, 1, 1]);
    expect(mask4("1.2")).toEqual([0, 0, 1, 1]);
    expect(mask4("0.5_1.2")).toEqual([1, 0, 1, 1]); // training above rollout: the ratio is small
  });

  test("NaN is rejected: the token, or the whole row", () => {
    const spoilt = oldLogProbs.map((x, i) => (i === positions[0] ? NaN : x));
    const token = rolloutRejectionMask(spoilt, samplerLogProbs, { ...where, options: "token_k2", thresholds: 1e6 });
    expect(Array.from(token.mask)).toEqual(Array.from(mask, (flag, i) => (i === positions[0] ? 0 : flag)));
    const row = rolloutRejectionMask(spoilt, samplerLogProbs, { ...where, options: "seq_max_k2", thresholds: 1e6 });
    expect(Array.from(row.mask)).toEqual(Array.from(mask, (flag, i) => (i < T ? 0 : flag)));
  });

  test("poison under the mask, rows in another order, no rows", () => {
    const options = { options: ["token_k3", "seq_mean_k1"], thresholds: [0.1, 1.15] } as const;
    const want = rolloutRejectionMask(oldLogProbs, samplerLogProbs, { ...where, ...options });
    const poisoned = oldLogProbs.map((x, i) => (mask[i] ? x : NaN));
    expect(rolloutRejectionMask(poisoned, samplerLogProbs, { ...where, ...options })).toEqual(want);
    const turn = <A extends Float64Array | Uint8Array>(array: A): A =>
      array.map((_, i) => array[(5 - Math.floor(i / T)) * T + (i % T)]!) as A;
    const turned = rolloutRejectionMask(turn(oldLogProbs), turn(samplerLogProbs), {
      shape,
      mask: turn(mask),
      ...options,
      backend,
    });
    expect(turn(turned.mask)).toEqual(want.mask);
    expect(turned.metrics).toBeAllClose(want.metrics, CLOSE);
    const none = new Float32Array(0);
    for (const value of Object.values(rolloutRejectionMask(none, none, { shape: [0, 3], ...options, backend }).metrics))
      expect(value).toBe(0);
  });
});

describe("bad options", () => {
  const three = new Float32Array(3);
  const call = (options: unknown, thresholds: unknown) => () =>
    rolloutRejectionMask(three, three, { shape: [1, 3], options, thresholds } as never);

  test("an unknown name lists the eleven", () => {
    expect(call("seq_max_k1", 2)).toThrow(
      'options is "seq_max_k1", expected one of "token_k1", "token_k2", "token_k3", "seq_sum_k1", "seq_sum_k2", "seq_sum_k3", ' +
        '"seq_mean_k1", "seq_mean_k2", "seq_mean_k3", "seq_max_k2", "seq_max_k3"',
    );
    for (const options of [[], undefined, "", ["token_k1", "k2"]])
      expect(errorCode(call(options, 2))).toBe("ERR_SURPRISAL_OPTION");
  });

  test.each([0, -1, NaN, Infinity, "", "a", "1_2_3", "0_2", "2_1", "_2", null, undefined, 0.5])(
    "k1 refuses the threshold %p",
    (threshold) => {
      expect(errorCode(call("token_k1", threshold))).toBe("ERR_SURPRISAL_OPTION");
    },
  );

  test.each([0, -1, NaN, Infinity, "", "0.1_0.2"])("k2 refuses the threshold %p", (threshold) => {
    expect(errorCode(call("seq_sum_k2", threshold))).toBe("ERR_SURPRISAL_OPTION");
  });

  test("thresholds are one, or one for each option", () => {
    expect(call(["token_k1", "token_k2", "token_k3"], [2, 3])).toThrow(
      "expected 1 or 3: one for all options, or one for each",
    );
    expect(errorCode(call(["token_k2", "token_k3"], 2))).toBeUndefined();
  });
});

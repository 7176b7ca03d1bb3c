// Diagnostics by definition, and the combined call against its parts.
import { mismatchMetrics, rolloutCorrection, rolloutRejectionMask, rolloutWeights } from "../../../lib";
import { mean, statistics, sum } from "../../oracle/correction";
import { eachBackend } from "../../support/each-backend";
import { errorCode } from "../../support/error-code";
import { batchOf } from "./batch";

const CLOSE = { rtol: 1e-11, atol: 1e-14 };

eachBackend((backend) => {
  const { oldLogProbs, samplerLogProbs, mask, rows, shape } = batchOf(3);
  const where = { shape, mask, backend };
  const live = rows.filter((row) => row.old.length > 0);

  test("mismatchMetrics: every metric is its definition", () => {
    const { metrics } = mismatchMetrics(oldLogProbs, samplerLogProbs, where);
    const training = live.map((row) => -mean(row.current));
    const rollout = live.map((row) => -mean(row.old));
    const apart = training.map((x, b) => x - rollout[b]!);
    const all = (name: string): number[] => live.flatMap((row) => statistics(name, row));
    expect(metrics).toBeAllClose(
      {
        training_ppl: mean(training.map(Math.exp)),
        training_log_ppl: mean(training),
        kl: mean(all("k1")),
        k3_kl: mean(all("k3")),
        rollout_ppl: mean(rollout.map(Math.exp)),
        rollout_log_ppl: mean(rollout),
        log_ppl_diff: mean(apart),
        log_ppl_abs_diff: mean(apart.map(Math.abs)),
        log_ppl_diff_max: Math.max(...apart),
        log_ppl_diff_min: Math.min(...apart),
        ppl_ratio: mean(apart.map(Math.exp)),
        chi2_token: mean(all("ratio").map((x) => x * x)) - 1,
        chi2_seq: mean(live.map((row) => Math.exp(-2 * sum(statistics("k1", row))))) - 1,
      },
      CLOSE,
    );
  });

  test("mismatchMetrics: a policy against itself, an unknown sampler, nothing kept", () => {
    const { metrics } = mismatchMetrics(oldLogProbs, oldLogProbs, where);
    expect(metrics).toMatchObject({ kl: 0, k3_kl: 0, log_ppl_diff: 0, ppl_ratio: 1, chi2_token: 0, chi2_seq: 0 });
    const alone = mismatchMetrics(oldLogProbs, null, where).metrics;
    const { training_ppl, training_log_ppl } = mismatchMetrics(oldLogProbs, samplerLogProbs, where).metrics;
    expect(alone).toEqual({ training_ppl, training_log_ppl });
    const nothing = mismatchMetrics(oldLogProbs, samplerLogProbs, { ...where, mask: new Uint8Array(54) }).metrics;
    for (const value of Object.values(nothing)) expect(value).toBe(0);
    const none = new Float32Array(0);
    for (const value of Object.values(mismatchMetrics(none, none, { shape: [0, 2], backend }).metrics))
      expect(value).toBe(0);
  });

  test.each([undefined, "verl"] as const)("rolloutCorrection is its three parts (preset %p)", (preset) => {
    const weights = { level: "token", threshold: 1.3, batchNormalize: true } as const;
    const rejection = { options: ["token_k1", "seq_mean_k3"], thresholds: ["0.7_1.4", 0.1] } as const;
    const conventions = { ...where, ...(preset && { preset }) };
    const got = rolloutCorrection(oldLogProbs, samplerLogProbs, { ...conventions, weights, rejection });
    const weighed = rolloutWeights(oldLogProbs, samplerLogProbs, { ...conventions, ...weights });
    const rejected = rolloutRejectionMask(oldLogProbs, samplerLogProbs, { ...conventions, ...rejection });
    const compared = mismatchMetrics(oldLogProbs, samplerLogProbs, conventions);
    expect(got.weights).toEqual(weighed.weights);
    expect(got.mask).toEqual(rejected.mask);
    const all = Object.entries({ ...weighed.metrics, ...rejected.metrics, ...compared.metrics });
    expect(got.metrics).toEqual(Object.fromEntries(all.map(([name, value]) => [`rollout_corr/${name}`, value])));
  });

  test("without weights and rejection: null, the mask in memory of its own, the diagnostics", () => {
    const got = rolloutCorrection(oldLogProbs, samplerLogProbs, where);
    expect(got.weights).toBeNull();
    expect(got.mask).toEqual(mask);
    expect(got.mask).not.toBe(mask);
    expect(Object.keys(got.metrics)).toHaveLength(13);
    const unmasked = rolloutCorrection(oldLogProbs, samplerLogProbs, { shape, backend });
    expect(new Set(unmasked.mask)).toEqual(new Set([1]));
  });

  test("bad rules name their argument, and say so before anything is computed", () => {
    const call = (options: object): string | undefined =>
      errorCode(() => rolloutCorrection(oldLogProbs, samplerLogProbs, { ...where, ...options }));
    expect(call({ weights: { level: "row" } })).toBe("ERR_SURPRISAL_OPTION");
    expect(call({ rejection: { options: "k1", thresholds: 1 } })).toBe("ERR_SURPRISAL_OPTION");
    expect(call({ mask: new Uint8Array(3) })).toBe("ERR_SURPRISAL_SHAPE");
  });
});

// VESPO with rollout weights per token: over all columns they are one weight a row, the product of theirs within bounds.
import { vespoLoss } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

eachBackend((backend) => {
  test.each([Float32Array, Float64Array])("weights over all columns, %p", (Floats) => {
    const [B, T] = [4, 5];
    const r = rng(21);
    const logProbs = Floats.from(r.f64(B * T, -2, 0));
    const oldLogProbs = Floats.from(r.f64(B * T, -2, 0));
    const advantages = Floats.of(1, -1, 0.5, 2);
    const rolloutWeights = Floats.from(r.f64(B * T, 0.5, 1.5));
    rolloutWeights[T] = 0; // Each logarithm is at least ln 1e-8, and so is their sum: row 1 is at the bound.
    rolloutWeights.fill(1e9, 2 * T, 3 * T); // Each logarithm is at most 20, and so is their sum.
    const mask = r.mask(B * T, 0.6);
    const batch = { shape: [B, T] as const, mask, logProbs, oldLogProbs, advantages };
    const perRow = Float64Array.from({ length: B }, (_, b) =>
      Array.from(rolloutWeights.slice(b * T, (b + 1) * T)).reduce((product, w) => product * Math.max(w, 1e-8), 1),
    );
    const bounded = perRow.map((w) => Math.min(Math.max(w, 1e-8), Math.exp(20)));
    const all = vespoLoss({ ...batch, rolloutWeights }, { rolloutWeightsOver: "all", backend });
    const row = vespoLoss({ ...batch, rolloutWeights: bounded, rolloutWeightsPer: "row" }, { backend });
    expect(all.loss).toBeAllClose(row.loss, { rtol: 1e-11, atol: 1e-13 });
    expect(all.gradLogProbs).toBeAllClose(row.gradLogProbs, { rtol: 1e-11, atol: 1e-13 });
    // Padding counts there: the kept tokens' weights alone are another ratio.
    expect(vespoLoss({ ...batch, rolloutWeights }, { backend }).loss).not.toBeCloseTo(all.loss, 6);
  });

  // It has no loss, but its weight is reported.
  test.each(["row", "token"] as const)("an advantage of 0 per %s has the weight of a positive one", (advantagesPer) => {
    const [logProbs, oldLogProbs] = [Float64Array.of(-1, -2), Float64Array.of(-1.5, -2.25)];
    const advantages = new Float64Array(advantagesPer === "row" ? 1 : 2);
    const { metrics, loss } = vespoLoss(
      { shape: [1, 2], logProbs, oldLogProbs, advantages, advantagesPer },
      { preset: "trl", backend },
    );
    const lnW = 0.75;
    expect(metrics["vespo/phi_seq_mean"]).toBeCloseTo(Math.exp(3 + 2 * lnW - 3 * Math.exp(lnW)), 12);
    expect(Math.abs(loss)).toBe(0);
  });
});

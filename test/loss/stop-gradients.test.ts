// Where a definition holds something constant: the two GSPOs, and weights that multiply without a gradient of their own.
import { cispoLoss, gspoLoss, gspoTokenLoss, type PolicyBatch, reinforceLoss, vespoLoss } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const f64 = (...values: number[]) => Float64Array.from(values);

/** Rows of 4 and 3 tokens; ratios of rows near 1. */
function batchOf(advantages: Float64Array, advantagesPer: "row" | "token"): PolicyBatch {
  const r = rng(7);
  const logProbs = r.f64(8, -3, -1);
  return {
    shape: [2, 4],
    mask: Uint8Array.of(1, 1, 1, 1, 1, 1, 1, 0),
    logProbs,
    oldLogProbs: logProbs.map((l, i) => l - 0.1 * Math.sin(i)),
    advantages,
    advantagesPer,
  };
}

eachBackend((backend) => {
  const band = { clip: 0.5, backend } as const;
  const perToken = batchOf(f64(1, -2, 0.5, 3, -1, 2, 0.25, 9), "token");

  test("with advantages per token the two GSPOs have one value and two gradients", () => {
    const row = gspoLoss(perToken, band);
    const token = gspoTokenLoss(perToken, band);
    expect(token.loss).toBe(row.loss);
    expect(token.losses).toEqual(row.losses);
    // Through the row's ratio every token of a row gets the mean; with the stop-gradient each keeps its own.
    for (let b = 0; b < 2; ++b) {
      const S = row.ratios[b]!;
      const tokens = [0, 1, 2, 3].map((t) => 4 * b + t).filter((i) => perToken.mask![i] === 1);
      const own = tokens.map((i) => (-perToken.advantages[i]! * S) / 7);
      const mean = own.reduce((sum, x) => sum + x, 0) / tokens.length;
      tokens.forEach((i, k) => {
        expect(token.gradLogProbs[i]).toBeAllClose(own[k]!, { rtol: 1e-13 });
        expect(row.gradLogProbs[i]).toBeAllClose(mean, { rtol: 1e-13 });
      });
    }
    expect(Array.from(row.gradLogProbs)).not.toEqual(Array.from(token.gradLogProbs));
  });

  test.each(["tokenMean", "rowMean", "rowSum"] as const)(
    "with one advantage a row, %s, they have one gradient",
    (aggregation) => {
      const batch = batchOf(f64(1.5, -0.75), "row");
      const row = gspoLoss(batch, { ...band, aggregation });
      const token = gspoTokenLoss(batch, { ...band, aggregation });
      expect(token.loss).toBe(row.loss);
      expect(token.gradLogProbs).toBeAllClose(row.gradLogProbs, { rtol: 1e-14 });
      expect(Array.from(row.gradLogProbs)).not.toContain(NaN);
    },
  );

  test("weights per token part them again, though each row has one advantage", () => {
    const batch = {
      ...batchOf(f64(1.5, -0.75), "row"),
      rolloutWeights: f64(1, 2, 0.5, 1, 3, 1, 0.25, NaN),
      rolloutWeightsPer: "token" as const,
    };
    const row = gspoLoss(batch, band);
    const token = gspoTokenLoss(batch, band);
    expect(token.loss).toBe(row.loss);
    expect(new Set(row.gradLogProbs.subarray(0, 4)).size).toBe(1);
    expect(token.gradLogProbs[1]).toBeAllClose(4 * token.gradLogProbs[2]!, { rtol: 1e-14 });
  });

  test("cispo and vespo: −weight·A of the very weight that the value has, without the slope of the weight", () => {
    const cispo = cispoLoss(perToken, { clipHigh: 5, aggregation: "rowSum", backend });
    const vespo = vespoLoss(perToken, { aggregation: "rowSum", backend });
    for (let i = 0; i < 7; ++i) {
      const [l, A] = [perToken.logProbs[i]!, perToken.advantages[i]!];
      const ratio = Math.exp(l - perToken.oldLogProbs![i]!);
      expect(cispo.losses[i]).toBeAllClose(-ratio * A * l, { rtol: 1e-13 });
      // rowSum: each of two rows weighs a half. With its slope the weight would add −ratio·A·l.
      expect(2 * cispo.gradLogProbs[i]!).toBeAllClose(-ratio * A, { rtol: 1e-13 });
      expect(2 * vespo.gradLogProbs[i]!).toBeAllClose(vespo.losses[i]! / l, { rtol: 1e-13 });
    }
  });

  test("reinforce: rollout weights multiply value and gradient, and have none; nor have old log-probs", () => {
    const rolloutWeights = f64(1, 2, 0.5, 1, 3, 1, 0.25, NaN);
    const plain = reinforceLoss(perToken, { backend });
    const weighed = reinforceLoss({ ...perToken, rolloutWeights, rolloutWeightsPer: "token" }, { backend });
    for (let i = 0; i < 7; ++i)
      expect(weighed.gradLogProbs[i]).toBeAllClose(rolloutWeights[i]! * plain.gradLogProbs[i]!, { rtol: 1e-14 });
    const elsewhere = { ...perToken, oldLogProbs: perToken.oldLogProbs!.map((o) => o - 1) };
    const { loss, gradLogProbs } = reinforceLoss(elsewhere, { backend });
    expect([loss, gradLogProbs]).toEqual([plain.loss, plain.gradLogProbs]);
  });
});

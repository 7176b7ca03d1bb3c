// Old log-probs of whole rows, where the old policy told no more: the same loss as from their tokens.
import { optimalValueLoss, rlooLoss } from "../../lib";
import { eachBackend } from "../support/each-backend";
import { rng } from "../support/rng";

const [B, T] = [5, 7];
const random = rng(12);
const mask = random.mask(B * T, 0.7).fill(0, 2 * T, 3 * T);
const logProbs = Float64Array.from(random.f32(B * T, -3, 0));
const oldLogProbs = logProbs.map((l, i) => l + 0.05 * Math.cos(i));
const advantages = Float64Array.from(random.normal(B));
const sums = Float64Array.from({ length: B }, (_, b) =>
  oldLogProbs.subarray(b * T, (b + 1) * T).reduce((sum, o, t) => (mask[b * T + t] === 0 ? sum : sum + o), 0),
);

eachBackend((backend) => {
  test.each([
    ["rloo", (batch, run) => rlooLoss(batch, { clip: 0.2, ...run })],
    ["optimalValue", (batch, run) => optimalValueLoss(batch, { beta: 0.3, ...run })],
  ] as const satisfies readonly [
    string,
    (batch: Parameters<typeof rlooLoss>[0], run: { backend: typeof backend }) => ReturnType<typeof rlooLoss>,
  ][])("%s", (_, loss) => {
    const batch = { shape: [B, T], mask, logProbs, advantages, advantagesPer: "row" } as const;
    const want = loss({ ...batch, oldLogProbs }, { backend });
    const got = loss({ ...batch, oldSequenceLogProbs: sums }, { backend });
    expect(got.loss).toBeAllClose(want.loss, { rtol: 1e-13 });
    expect(got.gradLogProbs).toBeAllClose(want.gradLogProbs, { atol: 1e-14 });
    expect(() => loss({ ...batch, oldSequenceLogProbs: sums.subarray(1) }, { backend })).toThrow("oldSequenceLogProbs");
  });
});

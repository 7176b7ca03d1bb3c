// Bypass mode against its definition: the correction written out and held constant, then the loss of policyTerm; laws; what is refused.
import {
  type BypassBatch,
  bypassLoss,
  type BypassLossOptions,
  type PolicyBatch,
  policyLoss,
  ppoLoss,
  reinforceLoss,
  rolloutCorrection,
} from "../../lib";
import { statisticOf } from "../oracle/correction";
import {
  type Aggregation,
  type KlSettings,
  klTerm,
  type LossCase,
  type LossSettings,
  policyTerm,
} from "../oracle/policy-loss";
import { eachBackend } from "../support/each-backend";
import { errorFacts } from "../support/error-facts";
import { type CaseOptions, generate, moved } from "./laws/loss-case";

const band = { clipLow: 0.2, clipHigh: 0.28 };
const none: LossSettings = { clipLow: Infinity, clipHigh: Infinity };
const THRESHOLD = 1.4;
const correction = {
  weights: { level: "token", threshold: THRESHOLD },
  rejection: { options: ["token_k1", "seq_mean_k2"], thresholds: ["0.4_2.5", 0.3] },
} as const;

const plain: CaseOptions = {
  rows: 4,
  width: 6,
  perRow: false,
  packed: false,
  factors: "none",
  terms: false,
  rowMask: false,
  onPolicy: false,
};

function bypassed({ oldLogProbs, ...batch }: PolicyBatch): BypassBatch {
  return { ...batch, samplerLogProbs: oldLogProbs! };
}

/** The tokens of every row that both rules keep. */
function keptBy(c: LossCase): boolean[][] {
  return c.mask.map((row, b) => {
    const statistic = (name: string, t: number): number => statisticOf(name, c.current[b]![t]!, c.old[b]![t]!);
    const at = row.flatMap((on, t) => (on ? [t] : []));
    const mean = at.reduce((sum, t) => sum + statistic("k2", t), 0) / at.length;
    return row.map((on, t) => {
      if (!on || mean > 0.3) return false;
      const sampledOverPolicy = Math.exp(statistic("k1", t));
      return sampledOverPolicy >= 0.4 && sampledOverPolicy <= 2.5;
    });
  });
}

function weightsOf(c: LossCase): number[][] {
  return c.current.map((row, b) => row.map((l, t) => Math.min(statisticOf("ratio", l, c.old[b]![t]!), THRESHOLD)));
}

/** The case that is left of one after its correction, which no derivative sees. */
function corrected(c: LossCase, weighted: boolean): LossCase {
  return { ...c, mask: keptBy(c), ...(weighted && { factors: weightsOf(c) }) };
}

const kl: KlSettings = { coefficient: 0.1, kind: "k3" };
const OBJECTIVES = [
  ["clip", "ppo", { ...band, dualClip: 1.5 }, { objective: "clip", ...band, dualClip: 1.5 }],
  ["reinforce", "reinforce", none, { objective: "reinforce" }],
] as const satisfies readonly (readonly [string, string, LossSettings, BypassLossOptions])[];
const MODES: readonly Aggregation[] = ["tokenMean", "rowMean", "rowSum", "fixedLength"];

eachBackend((backend) => {
  test.each(OBJECTIVES)(
    "%s: value and gradient are those of the definition, with the correction held constant",
    (objective, term, settings, options) => {
      let rejected = 0;
      for (let seed = 0; seed < 24; ++seed) {
        const given = {
          ...plain,
          perRow: seed % 2 === 0,
          packed: seed % 3 === 0,
          terms: seed % 5 === 0,
          rowMask: seed % 7 === 0,
        };
        const mode = MODES[seed % 4]!;
        const { batch, oracle, place } = generate(seed, given);
        const got = bypassLoss(bypassed(batch), { ...options, aggregation: mode, length: 7, correction, kl, backend });
        const frozen = corrected(oracle, objective === "reinforce");
        const total = (c: LossCase): number => policyTerm[term]!(c, mode, settings) + klTerm(c, mode, kl, settings);

        expect(Math.abs(got.loss - total(frozen))).toBeLessThanOrEqual(1e-10 * (1 + Math.abs(got.loss)));
        oracle.mask.forEach((row, b) =>
          row.forEach((on, t) => {
            const kept = frozen.mask[b]![t]!;
            rejected += Number(on && !kept);
            expect(got.mask[place(b, t)]).toBe(Number(kept));
            const slope = (total(moved(frozen, b, t, 1e-5)) - total(moved(frozen, b, t, -1e-5))) / 2e-5;
            // Central differences at 1e-5 of sums of order 1 in float64; what is rejected has exactly nothing.
            if (kept)
              expect(Math.abs(got.gradLogProbs[place(b, t)]! - slope)).toBeLessThanOrEqual(
                1e-7 * (1 + Math.abs(slope)),
              );
            else expect(got.gradLogProbs[place(b, t)]).toBe(0);
          }),
        );
      }
      expect(rejected).toBeGreaterThan(24);
    },
  );

  test("without a correction: ppoLoss and reinforceLoss against the sampler, bit by bit, and the diagnostics", () => {
    const { batch } = generate(3, plain);
    const { metrics: diagnostics } = rolloutCorrection(batch.logProbs, batch.oldLogProbs!, {
      shape: [4, 6],
      mask: batch.mask!,
      backend,
    });
    const clip = bypassLoss(bypassed(batch), { objective: "clip", ...band, backend });
    const { metrics, ...expected } = ppoLoss(batch, { ...band, backend });
    expect(clip).toEqual({ ...expected, metrics: { ...metrics, ...diagnostics }, weights: null, mask: batch.mask });
    const linear = bypassLoss(bypassed(batch), { objective: "reinforce", backend });
    expect(linear.gradLogProbs).toEqual(reinforceLoss(batch, { backend }).gradLogProbs);
  });

  test("the two steps are those of rolloutCorrection and the loss", () => {
    const { batch } = generate(11, plain);
    const { weights, mask, metrics } = rolloutCorrection(batch.logProbs, batch.oldLogProbs!, {
      shape: [4, 6],
      mask: batch.mask!,
      ...correction,
      backend,
    });
    const step = reinforceLoss({ ...batch, mask, rolloutWeights: weights!, rolloutWeightsPer: "token" }, { backend });
    const got = policyLoss("bypass", bypassed(batch), { objective: "reinforce", correction, backend });
    expect(got).toEqual({ ...step, metrics: { ...step.metrics, ...metrics }, weights, mask });
  });

  test("what is rejected or masked is not read, and packed rows give what padded ones do", () => {
    const { batch, oracle, place } = generate(5, plain);
    const options = { objective: "clip", ...band, correction, backend } as const;
    const got = bypassLoss(bypassed(batch), options);
    expect(got.mask.some((flag, i) => flag === 0 && batch.mask![i] === 1)).toBe(true);
    const poisoned = batch.advantages.map((a, i) => (got.mask[i] === 0 ? NaN : a));
    expect(bypassLoss(bypassed({ ...batch, advantages: poisoned }), options)).toEqual(got);
    const packed = generate(5, { ...plain, packed: true });
    const ragged = bypassLoss(bypassed(packed.batch), options);
    expect(ragged.loss).toBe(got.loss);
    oracle.mask.forEach((row, b) =>
      row.forEach((_, t) => expect(ragged.gradLogProbs[packed.place(b, t)]).toBe(got.gradLogProbs[place(b, t)])),
    );
  });

  test("everything rejected: no loss, no gradient; an empty batch works", () => {
    const { batch } = generate(5, plain);
    const rejection = { options: "token_k2", thresholds: 1e-12 } as const;
    const got = bypassLoss(bypassed(batch), { objective: "clip", ...band, correction: { rejection }, backend });
    expect(got.loss).toBe(0);
    expect(new Set([...got.gradLogProbs, ...got.mask])).toEqual(new Set([0]));
    const empty = new Float32Array(0);
    const nobody = {
      shape: [0, 3] as const,
      logProbs: empty,
      samplerLogProbs: empty,
      advantages: empty,
      advantagesPer: "token" as const,
    };
    expect(bypassLoss(nobody, { objective: "reinforce", backend })).toMatchObject({
      loss: 0,
      gradLogProbs: empty,
      weights: null,
    });
  });

  test("preset verl: dual clip 3, log ratios within ±20, and verl's conventions of the correction", () => {
    const batch = {
      shape: [2, 2] as const,
      mask: Uint8Array.of(1, 1, 0, 0),
      logProbs: Float64Array.of(-1, -1, 0, 0),
      samplerLogProbs: Float64Array.of(-3, -31, 0, 0),
      advantages: Float64Array.of(-1, 0),
    };
    const { loss, gradLogProbs, metrics } = bypassLoss(batch, {
      preset: "verl",
      objective: "clip",
      clip: 0.2,
      backend,
    });
    expect(loss).toBe(3);
    expect(gradLogProbs).toEqual(new Float64Array(4));
    // The row without tokens counts, with log-perplexity 0: (1 + 0) / 2, up to the epsilon in the row's mean.
    expect(metrics["rollout_corr/training_log_ppl"]).toBeCloseTo(0.5, 7);
    expect(metrics["actor/ppo_kl"]).toBeCloseTo(-11, 6);
  });
});

test("errors are bypassLoss's own, and name the argument as it was written", () => {
  const { batch } = generate(1, plain);
  const ours = bypassed(batch);
  const details = (given: object, options: object) =>
    errorFacts(() => bypassLoss({ ...ours, ...given }, { objective: "clip", ...band, ...options }));
  const option = (name: string) => ["ERR_SURPRISAL_OPTION", "bypassLoss", name];
  expect(details({}, {})).toBeUndefined();
  expect(details({}, { objective: "ppo" })).toEqual(option("objective"));
  expect(details({ samplerLogProbs: undefined }, {})).toEqual(option("samplerLogProbs"));
  expect(details({ oldLogProbs: batch.logProbs }, {})).toEqual(option("oldLogProbs"));
  expect(details({ rolloutWeights: batch.logProbs }, {})).toEqual(option("rolloutWeights"));
  expect(details({}, { objective: "reinforce" })).toEqual(option("clipLow"));
  expect(details({}, { dualClip: 0.5 })).toEqual(option("dualClip"));
  expect(details({}, { preset: "trl" })).toEqual(option("preset"));
  expect(details({}, { correction: { logClamp: 0 } })).toEqual(option("correction.logClamp"));
  expect(details({}, { correction: { weights: { level: "row" } } })).toEqual(option("correction.weights.level"));
  expect(details({}, { correction: { weights: { level: "token", threshold: 0.5 } } })).toEqual(
    option("correction.weights.threshold"),
  );
  expect(details({}, { correction: { rejection: { options: "k1", thresholds: 2 } } })).toEqual(
    option("correction.rejection.options"),
  );
  expect(details({}, { correction: { rejection: { options: "token_k2", thresholds: -1 } } })).toEqual(
    option("correction.rejection.thresholds (token_k2)"),
  );
  expect(details({ samplerLogProbs: new Float64Array(3) }, {})).toEqual([
    "ERR_SURPRISAL_SHAPE",
    "bypassLoss",
    "samplerLogProbs",
  ]);
});

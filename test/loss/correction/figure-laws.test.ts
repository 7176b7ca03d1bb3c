// What holds of the figures that compare two policies: the mask hides, padding changes nothing, rows and tokens have no order.
import {
  mismatchMetrics,
  offPolicyMask,
  probabilityAgreement,
  proximalLogProbs,
  rolloutRejectionMask,
  rolloutWeights,
} from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

const [B, T] = [6, 5];
const n = B * T;
const random = rng(43);
const mask = random.mask(n, 0.7).fill(0, 3 * T, 4 * T);
const ours = random.f64(n, -3, -0.2);
const theirs = ours.map((o, i) => o + 0.6 * Math.sin(2.3 * i));

interface Tokens {
  readonly width: number;
  readonly mask: Uint8Array;
  readonly ours: Float64Array;
  readonly theirs: Float64Array;
}
const given: Tokens = { width: T, mask, ours, theirs };
type Figures = Readonly<Record<string, number>>;
type Call = (of: Tokens, backend: "js") => Figures;
const where = ({ width, mask: kept }: Tokens) => ({ shape: [B, width] as const, mask: kept });

const CALLS: Readonly<Record<string, Call>> = {
  mismatchMetrics: (of, backend) => mismatchMetrics(of.ours, of.theirs, { ...where(of), backend }).metrics,
  "rolloutWeights, of tokens": (of, backend) =>
    rolloutWeights(of.ours, of.theirs, { ...where(of), level: "token", backend }).metrics,
  "rolloutWeights, of rows": (of, backend) =>
    rolloutWeights(of.ours, of.theirs, { ...where(of), level: "sequence", backend }).metrics,
  "rolloutWeights, two-sided": (of, backend) =>
    rolloutWeights(of.ours, of.theirs, { ...where(of), level: "token", threshold: "0.7_1.4", backend }).metrics,
  rolloutRejectionMask: (of, backend) =>
    rolloutRejectionMask(of.ours, of.theirs, {
      ...where(of),
      options: ["token_k1", "seq_mean_k3"],
      thresholds: ["0.8_1.3", 0.2],
      backend,
    }).metrics,
  probabilityAgreement: (of, backend) => {
    const { count, maxDifference, meanDifference, stdDifference, correlation } = probabilityAgreement(
      of.ours,
      of.theirs,
      { ...where(of), backend },
    );
    return { count, maxDifference, meanDifference, stdDifference, correlation };
  },
  "offPolicyMask, what it drops": (of) => ({
    share: offPolicyMask(of.ours, of.theirs, { ...where(of), low: 0.7, high: 1.4 }).droppedFraction,
  }),
};

const taken = (width: number, places: readonly number[]): Tokens => {
  const pick = (array: Float64Array) => Float64Array.from(places, (i) => (i < 0 ? NaN : array[i]!));
  return {
    width,
    mask: Uint8Array.from(places, (i) => (i < 0 ? 0 : mask[i]!)),
    ours: pick(ours),
    theirs: pick(theirs),
  };
};
const rowPlaces = (b: number): number[] => Array.from({ length: T }, (_, t) => b * T + t);
const rows = Array.from({ length: B }, (_, b) => b);

const expectAlike = (got: Figures, want: Figures, digits: number): void => {
  expect(Object.keys(got)).toEqual(Object.keys(want));
  for (const name of Object.keys(want))
    expect([name, got[name]!.toFixed(digits)]).toEqual([name, want[name]!.toFixed(digits)]);
};

eachBackend((name) => {
  const backend = name as "js";

  test.each(Object.entries(CALLS))("%s", (_, call) => {
    const want = call(given, backend);
    expect(Object.values(want).every(Number.isFinite)).toBe(true);
    expect(Object.values(want).some((x) => x !== 0)).toBe(true);
    const poisoned = {
      ...given,
      ours: ours.map((x, i) => (mask[i] ? x : NaN)),
      theirs: theirs.map((x, i) => (mask[i] ? x : Infinity)),
    };
    expect(call(poisoned, backend)).toEqual(want);
    const padded = taken(
      T + 2,
      rows.flatMap((b) => [...rowPlaces(b), -1, -1]),
    );
    expect(call(padded, backend)).toEqual(want);
    expectAlike(call(taken(T, [4, 1, 0, 5, 3, 2].flatMap(rowPlaces)), backend), want, 10);
    expectAlike(
      call(
        taken(
          T,
          rows.flatMap((b) => rowPlaces(b).reverse()),
        ),
        backend,
      ),
      want,
      10,
    );
  });

  test("the share of an effective sample is at most 1, and 1 where all weigh the same", () => {
    for (const level of ["token", "sequence"] as const) {
      const of = (sampler: Float64Array) =>
        rolloutWeights(ours, sampler, { ...where(given), level, threshold: 50, backend }).metrics[
          "rollout_is_eff_sample_size"
        ]!;
      expect(of(theirs)).toBeLessThan(1);
      expect(of(theirs)).toBeGreaterThan(0);
      expect(of(ours)).toBeCloseTo(1, 12);
    }
  });

  test("a sampler that is the policy: no KL, no difference, nothing dropped", () => {
    const same = { ...given, theirs: ours };
    const { kl, k3_kl, chi2_token, chi2_seq } = CALLS["mismatchMetrics"]!(same, backend);
    expect([kl, k3_kl, chi2_token, chi2_seq].map((x) => Math.abs(x!) < 1e-12)).toEqual([true, true, true, true]);
    expect(CALLS["probabilityAgreement"]!(same, backend)).toMatchObject({ maxDifference: 0, meanDifference: 0 });
    expect(CALLS["offPolicyMask, what it drops"]!(same, backend)).toEqual({ share: 0 });
  });
});

test("the proximal policy lies between sampler and learner, nearer to the learner the older the token, by the version's own share", () => {
  const at = (version: number, method: "logLinear" | "linear") =>
    proximalLogProbs(ours, theirs, { versions: new Int32Array(n).fill(version), currentVersion: 4, method });
  for (const method of ["logLinear", "linear"] as const) {
    const ages = [3, 2, 0].map((version) => at(version, method));
    for (let i = 0; i < n; ++i) {
      const gaps = ages.map((values) => Math.abs(values[i]! - ours[i]!));
      expect(gaps[0]).toBeCloseTo(Math.abs(theirs[i]! - ours[i]!), 8);
      expect(gaps[1]).toBeLessThanOrEqual(gaps[0]! + 1e-9);
      expect(gaps[2]).toBeLessThanOrEqual(gaps[1]! + 1e-9);
    }
    expect(Array.from(at(-1, method))).toEqual(Array.from(at(3, method)));
  }
});

// Tokens whose log-prob the sampler did not tell: NaN as it comes, or as tokens on which both policies agree.
import {
  importanceRatio,
  mismatchMetrics,
  offPolicyMask,
  offPolicyRowMask,
  rolloutCorrection,
  rolloutRejectionMask,
  rolloutWeights,
} from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

const [B, T] = [4, 6];
const random = rng(7);
const old = random.f32(B * T, -3, -0.1);
const told = old.map((o, i) => o + 0.4 * Math.sin(3 * i));
const advantages = Float32Array.of(1, -1, -1, 1);
const unknown = [1, 9, 14, 15];
const [sampler, filled] = [told.slice(), told.slice()];
for (const i of unknown) {
  sampler[i] = NaN;
  filled[i] = old[i]!;
}

const CALLS = {
  "ratios of tokens": (u, o) => importanceRatio(old, u, { level: "token", high: 1.2, ...o }).ratios,
  "ratios of rows": (u, o) => importanceRatio(old, u, { level: "sequence", ...o }).ratios,
  weights: (u, o) => rolloutWeights(old, u, { level: "token", ...o }),
  rejection: (u, o) => rolloutRejectionMask(old, u, { options: "token_k1", thresholds: "0.9_1.2", ...o }),
  correction: (u, o) => rolloutCorrection(old, u, { weights: { level: "sequence" }, ...o }),
  figures: (u, o) => mismatchMetrics(old, u, o),
  "mask of tokens": (u, o) =>
    offPolicyMask(old, u, { measure: "k1", high: 0.1, shape: o.shape, unknownSampler: o.unknownSampler }),
  "mask of rows": (u, o) => offPolicyRowMask(advantages, old, u, { threshold: 0.1, ...o }),
} as const satisfies Record<
  string,
  (u: Float32Array, options: { shape: [number, number]; backend: "js"; unknownSampler?: "one" }) => unknown
>;

eachBackend((backend) => {
  test.each(Object.keys(CALLS) as (keyof typeof CALLS)[])("%s", (name) => {
    const call = CALLS[name];
    const common = { shape: [B, T] as [number, number], backend: backend as "js" };
    const want = call(filled, common);
    expect(call(sampler, { ...common, unknownSampler: "one" })).toEqual(want);
    expect(call(filled, { ...common, unknownSampler: "one" })).toEqual(want);
    expect(call(sampler, common)).not.toEqual(want);
    expect(Number.isNaN(sampler[1])).toBe(true); // the caller's array is as it was
  });

  test("TRL's modes take such a token for one of ratio 1; other words are refused", () => {
    const shape = [B, T] as const;
    const ratios = importanceRatio(old, sampler, { shape, mode: "trl/token_truncate", backend }).ratios;
    for (const i of unknown) expect(ratios[i]).toBe(1);
    expect(() => importanceRatio(old, sampler, { shape, level: "token", unknownSampler: "zero" as "one" })).toThrow(
      "importanceRatio: unknownSampler is",
    );
  });
});

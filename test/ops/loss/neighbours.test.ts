// What a token costs does not depend, to the bit, on the tokens beside it: not even where these are so far off that a whole stretch of them is
// computed by another way.
import { tokenLoss, type TokenLossOptions } from "../../../lib";
import { eachBackend } from "../../support/each-backend";
import { rng } from "../../support/rng";

const N = 700;
const STRANGE = 300;
const OUTPUTS = ["losses", "ratios", "clipped", "gradLogProbs"] as const;

type Row = { readonly [Name in "logProbs" | "oldLogProbs" | "factors" | "reference" | "advantages"]: Float64Array };

function rowOf(seed: number): Row & { readonly mask: Uint8Array; readonly termMask: Uint8Array } {
  const r = rng(seed);
  const logProbs = r.f64(N, -3, 0);
  return {
    logProbs,
    oldLogProbs: logProbs.map((x) => x + 0.3 * (r.uniform() - 0.5)),
    factors: r.f64(N, 0, 2),
    reference: r.f64(N, -3, 0),
    advantages: r.f64(N, -1, 1),
    mask: r.mask(N, 0.8).fill(1, STRANGE, STRANGE + 1),
    termMask: r.mask(N, 0.7),
  };
}

const { logProbs, oldLogProbs, factors, reference, advantages, mask, termMask } = rowOf(4);
const clip = { form: "clip", clipLow: 0.1, clipHigh: 0.2 } as const;
const kl = { referenceLogProbs: reference, kind: "k3", coefficient: 0.1 } as const;

const CASES: Readonly<Record<string, Partial<TokenLossOptions>>> = {
  clip,
  "dual clip": { ...clip, dualClip: 3 },
  "a cap": { ...clip, ratioCap: 2 },
  clamps: { ...clip, logClamp: 20, maxLogRatio: 4 },
  factors: { ...clip, factors },
  "a factor of the row": { ...clip, factors: Float64Array.of(0.7) },
  "terms left out": { ...clip, termMask },
  "a KL term": { ...clip, kl },
  "factors, terms and KL": { ...clip, factors, termMask, kl },
  linear: { form: "linear" },
  "linear with factors and KL": { form: "linear", factors, kl },
  weighted: { form: "weighted", clipLow: 1, clipHigh: 0.2, ratioCap: 2 },
  sigmoid: { form: "sigmoid", temperaturePositive: 1, temperatureNegative: 1.05 },
  marked: { form: "marked", coefficient: 0.2, marks: termMask },
  bounded: { form: "bounded", clipLow: 0.1, clipHigh: 0.2 },
  squared: { form: "squared", clipLow: 0.1, clipHigh: 0.2 },
};

eachBackend((backend) => {
  describe.each(["float64", "float32"] as const)("%s", (dtype) => {
    const typed = (x: Float64Array): Float64Array | Float32Array => (dtype === "float64" ? x : Float32Array.from(x));

    function call(options: Partial<TokenLossOptions>, strange: number) {
      const old = oldLogProbs.slice();
      old[STRANGE] = logProbs[STRANGE]! - strange;
      return tokenLoss({
        ...(options as TokenLossOptions),
        ...(options.factors && { factors: typed(options.factors as Float64Array) }),
        ...(options.kl && { kl: { ...options.kl, referenceLogProbs: typed(reference) } }),
        logProbs: typed(logProbs),
        oldLogProbs: typed(old),
        advantages: typed(advantages),
        shape: [1, N],
        mask,
        outputs: OUTPUTS,
        backend,
      });
    }

    test.each(Object.entries(CASES))("%s", (_, options) => {
      const plain = call(options, 0.1);
      // Beyond the bounds; beyond caps and clamps; beyond what exp can hold.
      for (const strange of [1, 5, -25, 600, -800, NaN]) {
        const beside = call(options, strange);
        for (const name of OUTPUTS) {
          const [want, got] = [plain[name].slice(), beside[name].slice()];
          want[STRANGE] = got[STRANGE] = 0;
          expect(got).toEqual(want);
        }
      }
    });
  });
});

// The options that losses of tokens and of rows share, and the forms of the first.
import type { Options } from "./calling";
import type { Draw } from "./draw";
import { drawMask, type DrawnRows, floatMaker } from "./inputs";

export function lossOptions(d: Draw, { layout, B, n, mask }: DrawnRows, per?: "row"): Options {
  const floats = floatMaker(d);
  const advantagesPer = per ?? d.maybe(() => "token");
  const factorsPer = per ?? d.pick(["row", "token"]);
  return {
    ...layout,
    logProbs: floats(n, "logProbs"),
    oldLogProbs: d.maybe(() => floats(n, "logProbs")),
    advantages: floats(advantagesPer === "token" ? n : B),
    advantagesPer,
    rowWeights: d.maybe(() => floats(B, "positive")),
    factors: d.maybe(() => floats(factorsPer === "token" ? n : B, "positive")),
    factorsPer,
    mask,
    termMask: per ? undefined : d.maybe(() => drawMask(d, n)),
    kl: d.maybe(() => ({
      referenceLogProbs: floats(n, "logProbs"),
      kind: d.pick(["k1", "k2", "k3", "abs"]),
      coefficient: d.pick([1, 0.1]),
      timesRatio: d.maybe(() => true),
    })),
    logClamp: d.maybe(() => d.pick([20, 1])),
    outputs: ["losses", "ratios", "gradLogProbs", "clipped"],
  };
}

export function tokenForm(d: Draw): Options {
  return d.pick([
    { form: "clip", clipLow: 0.2, clipHigh: 0.3 },
    { form: "clip", clipLow: 0.2, clipHigh: 0.3, dualClip: 3 },
    { form: "linear" },
    { form: "weighted" },
    { form: "sigmoid", temperaturePositive: 1, temperatureNegative: 2 },
    { form: "bounded", clipLow: 0.2, clipHigh: 0.3 },
    { form: "squared" },
  ]);
}

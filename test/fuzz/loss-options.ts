// The options that losses of tokens and of rows share, and the forms of the first.
import { LOSS_FORM_OPTIONS, LOSS_FORMS } from "../../lib/backend/contract/loss";
import { drawNumbers } from "../oracle/loss-forms";
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

/** A form of tokens, with the ends of the ranges of what it reads. */
export function tokenForm(d: Draw, n: number): Options {
  const form = d.pick(LOSS_FORMS);
  const reads = LOSS_FORM_OPTIONS[form];
  const numbers = drawNumbers(
    reads,
    (low, high) => d.pick([low, high]),
    () => d.pick([false, true]),
  );
  const marks = reads.needs.includes("marks") ? d.array(new Uint8Array(n), () => d.int(0, 1)) : undefined;
  return { form, ...numbers, marks };
}

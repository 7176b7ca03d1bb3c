// LightRFT: policy and value losses, KL estimates.
import { cpgdLoss, type KlEstimatorName, klPenalty, ppoLoss, valueLoss } from "surprisal";
import type { Inputs } from "../inputs";
import type { Mapping } from "../mapping";

const emptyRows = "rows without a kept token are skipped";
const notRead = "what lies under the mask is not read and spreads nowhere";

function maskOf(inputs: Inputs, ...names: readonly string[]) {
  const name = names.find((candidate) => inputs.has(candidate));
  return name === undefined ? {} : { mask: Uint8Array.from(inputs.array(name).data, Number) };
}

export const lightrftLoss: readonly Mapping[] = [
  {
    family: "lightrft",
    function: "policy_loss",
    ours: ["ppoLoss", "cpgdLoss"],
    options: 'preset "lightrft"',
    differs: "an entropy mask takes the place of the mask; here termMask restricts it",
    replacedBy: (golden) => (golden.name.includes("infinity") ? notRead : emptyRows),
    run: (inputs, { backend }) => {
      const batch = {
        shape: inputs.shape2("log_probs"),
        ...maskOf(inputs, "entropy_mask", "mask"),
        logProbs: inputs.floats("log_probs"),
        oldLogProbs: inputs.floats("old_log_probs"),
        advantages: inputs.floats("advantages"),
        advantagesPer: "token",
      } as const;
      const options = { preset: "lightrft", clip: inputs.number("clip_eps"), backend } as const;
      const ofPpo = inputs.oneOf("objective", ["ppo", "cpgd"]) === "ppo";
      const result = ofPpo ? ppoLoss(batch, options) : cpgdLoss(batch, options);
      return { loss: result.loss, grad: result.gradLogProbs };
    },
  },
  {
    family: "lightrft",
    function: "value_loss",
    ours: "valueLoss",
    options: 'preset "lightrft"',
    replacedBy: emptyRows,
    run: (inputs, { backend }) => {
      const batch = {
        shape: inputs.shape2("values"),
        ...maskOf(inputs, "mask"),
        values: inputs.floats("values"),
        oldValues: inputs.floats("old_values"),
        returns: inputs.floats("returns"),
      };
      const clip = inputs.has("clip_eps") ? { clip: inputs.number("clip_eps") } : {};
      const { loss, gradValues } = valueLoss(batch, { preset: "lightrft", ...clip, backend });
      return { loss, grad: gradValues };
    },
  },
  {
    family: "lightrft",
    function: "approx_kl",
    ours: "klPenalty",
    differs: "differences and estimates in float32",
    replacedBy: notRead,
    failures: { AssertionError: ["ERR_SURPRISAL_OPTION"] },
    run: (inputs, { backend }) => {
      const estimator = inputs.string("estimator") as KlEstimatorName;
      const options = { shape: inputs.shape2("log_probs"), ...maskOf(inputs, "mask"), estimator, backend } as const;
      return { kl: klPenalty(inputs.floats("log_probs"), inputs.floats("log_probs_base"), options).values };
    },
  },
];

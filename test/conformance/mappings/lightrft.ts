// LightRFT: scans in which a masked token is a step, log-probs and entropies of logits.
import { discountedReturns, gae, logprob } from "surprisal";
import type { Inputs } from "../inputs";
import type { Mapping } from "../mapping";
import { unpack } from "./arrange";
import { bfloat16Logits, float32Logits } from "./tensors";

const notRead = "what lies under the mask is not read and spreads nowhere";

function padded(inputs: Inputs) {
  return {
    shape: inputs.shape2("rewards"),
    maskMode: "steps",
    gamma: inputs.number("gamma"),
    ...(inputs.has("mask") && { mask: inputs.uint8("mask") }),
  } as const;
}

export const lightrft: readonly Mapping[] = [
  {
    family: "lightrft",
    function: "gae",
    ours: "gae",
    options: 'maskMode "steps"',
    replacedBy: notRead,
    run: (inputs, { backend }) => {
      const options = { ...padded(inputs), lambda: inputs.number("lambda"), backend };
      const { advantages, returns } = gae(inputs.floats("rewards"), inputs.floats("values"), options);
      return { advantages, returns };
    },
  },
  {
    family: "lightrft",
    function: "gae_packed",
    ours: "gae",
    options: "offsets",
    run: (inputs, { backend }) => {
      const { values: rewards, offsets } = inputs.packedFloats("rewards");
      const gamma = inputs.number("gamma");
      const lambda = inputs.number("lambda");
      const result = gae(rewards, inputs.packedFloats("values").values, { offsets, gamma, lambda, backend });
      return { advantages: unpack(result.advantages, offsets), returns: unpack(result.returns, offsets) };
    },
  },
  {
    family: "lightrft",
    function: "discounted_returns",
    ours: "discountedReturns",
    options: 'maskMode "steps"',
    replacedBy: notRead,
    run: (inputs, { backend }) => ({
      returns: discountedReturns(inputs.floats("rewards"), { ...padded(inputs), backend }),
    }),
  },
  {
    family: "lightrft",
    function: "discounted_returns_packed",
    ours: "discountedReturns",
    options: "offsets",
    run: (inputs, { backend }) => {
      const { values, offsets } = inputs.packedFloats("rewards");
      const returns = discountedReturns(values, { offsets, gamma: inputs.number("gamma"), backend });
      return { returns: unpack(returns, offsets) };
    },
  },
  {
    family: "lightrft",
    function: "entropy_from_logits",
    ours: "logprob",
    replacedBy: "a row with NaN, +∞ or no finite logit has entropy NaN, the other rows have theirs",
    run: (inputs, { backend }) => ({ entropy: logprob(float32Logits(inputs), null, { backend }).entropies }),
  },
  {
    family: "lightrft",
    function: "log_probs_from_logits",
    ours: "logprob",
    options: "float32 and bfloat16",
    preset: () => "defaults", // NaN for rows without a softmax is the rule here too
    run: (inputs, { backend }) => {
      const logits = inputs.has("logits_dtype") ? bfloat16Logits(inputs) : float32Logits(inputs);
      return { log_probs: logprob(logits, inputs.int32("labels"), { backend }).logProbs };
    },
  },
];

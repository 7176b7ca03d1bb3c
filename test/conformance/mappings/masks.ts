// Masks of tokens and rows, by whoever defines them.
import { endOfSequenceMask, highEntropyMask, offPolicyRowMask, truncateAfter } from "surprisal";
import type { Inputs } from "../inputs";
import type { Mapping } from "../mapping";

/** One id, or a list of them. */
function ids(inputs: Inputs, name: string): number | number[] {
  return typeof inputs.value(name) === "number" ? inputs.number(name) : inputs.numbers(name);
}

export const masks: readonly Mapping[] = [
  {
    family: "verl",
    function: "get_response_mask",
    ours: "endOfSequenceMask",
    run: (inputs, { backend }) => ({
      mask: endOfSequenceMask(inputs.int32("response_id"), {
        shape: inputs.shape2("response_id"),
        endIds: ids(inputs, "eos_token"),
        backend,
      }),
    }),
  },
  {
    family: "trl",
    function: "truncate_response",
    ours: "truncateAfter",
    run: (inputs, { backend }) => {
      const { tokens, mask, firstStops } = truncateAfter(inputs.int32("responses"), {
        shape: inputs.shape2("responses"),
        stopIds: ids(inputs, "stop_token_id"),
        padId: inputs.number("pad_token_id"),
        backend,
      });
      return { truncated: tokens, mask, first_index: firstStops };
    },
  },
  {
    family: "trl",
    function: "get_high_entropy_mask",
    ours: "highEntropyMask",
    options: 'preset "trl"',
    run: (inputs, { backend }) => ({
      keep: highEntropyMask(inputs.floats("entropies"), {
        preset: "trl",
        shape: inputs.shape2("entropies"),
        mask: inputs.uint8("mask"),
        quantile: inputs.number("threshold"),
        backend,
      }),
    }),
  },
  {
    family: "trl",
    function: "get_off_policy_mask",
    ours: "offPolicyRowMask",
    run: (inputs, { backend }) => {
      const [advantages, logProbs] = [inputs.floats("advantages"), inputs.floats("per_token_logps")];
      const { kept } = offPolicyRowMask(advantages, logProbs, inputs.floats("sampling_per_token_logps"), {
        shape: inputs.shape2("per_token_logps"),
        mask: inputs.uint8("mask"),
        threshold: inputs.number("off_policy_threshold"),
        backend,
      });
      return { keep: kept };
    },
  },
  {
    family: "lightrft",
    function: "high_entropy_mask",
    ours: "highEntropyMask",
    options: 'preset "lightrft"',
    failures: { ValueError: ["ERR_SURPRISAL_SHAPE"] },
    run: (inputs, { backend }) => ({
      mask: highEntropyMask(inputs.floats("entropy"), {
        preset: "lightrft",
        shape: inputs.shape("entropy") as [number, number], // a case with one dimension is about its refusal
        ...(inputs.has("mask") && { mask: inputs.uint8("mask") }),
        share: inputs.number("ratio"),
        backend,
      }),
    }),
  },
];

// Sampler mismatch: weights, rejection and diagnostics of verl, ratios of TRL.
import {
  type ImportanceRatioName,
  importanceRatio,
  mismatchMetrics,
  type RejectionOption,
  type RejectionThreshold,
  rolloutCorrection,
  rolloutRejectionMask,
  rolloutWeights,
} from "surprisal";
import type { FloatArray, Inputs } from "../inputs";
import type { Context, Mapping } from "../mapping";

export function layout(inputs: Inputs, { backend }: Context, mask = "response_mask") {
  return { shape: inputs.shape2(mask), mask: inputs.uint8(mask), backend };
}

/** Log ratios as log-probs of two policies, of which one is sure of everything. */
export function fromLogRatio(inputs: Inputs): [FloatArray, FloatArray] {
  const ratios = inputs.floats("log_ratio");
  return [ratios, new Float32Array(ratios.length)];
}

export function weightRule(inputs: Inputs) {
  return {
    level: inputs.oneOf("rollout_is", ["token", "sequence"]),
    ...(inputs.has("rollout_is_threshold") && {
      threshold: inputs.value("rollout_is_threshold") as RejectionThreshold,
    }),
    ...(inputs.has("rollout_is_batch_normalize") && { batchNormalize: inputs.boolean("rollout_is_batch_normalize") }),
  };
}

export function rejectionRules(inputs: Inputs) {
  const thresholds = inputs.value("rollout_rs_threshold");
  return {
    options: inputs.string("rollout_rs").split(",") as RejectionOption[],
    thresholds: (typeof thresholds === "string" ? thresholds.split(",") : [thresholds]) as RejectionThreshold[],
  };
}

/** Tokens that are in the completion and not a tool's. */
function modelTokens(inputs: Inputs): Uint8Array {
  const mask = inputs.uint8("completion_mask");
  if (!inputs.has("tool_mask")) return mask;
  const own = inputs.uint8("tool_mask");
  return mask.map((flag, i) => (own[i] === 0 ? 0 : flag));
}

export const correction: readonly Mapping[] = [
  {
    family: "verl",
    function: "compute_rollout_correction_weights",
    ours: "rolloutWeights",
    options: 'preset "verl-2026-01"',
    differs: "takes log-probs, not their difference",
    run: (inputs, context) => ({
      ...rolloutWeights(...fromLogRatio(inputs), {
        preset: "verl-2026-01",
        ...layout(inputs, context),
        ...weightRule(inputs),
      }),
    }),
  },
  {
    family: "verl",
    function: "compute_rollout_rejection_mask",
    ours: "rolloutRejectionMask",
    options: 'preset "verl-2026-01"',
    differs: "takes log-probs, not their difference; lists of options and thresholds, not text with commas",
    run: (inputs, context) => {
      const options = { preset: "verl-2026-01", ...layout(inputs, context), ...rejectionRules(inputs) } as const;
      const { mask, metrics } = rolloutRejectionMask(...fromLogRatio(inputs), options);
      return { modified_response_mask: mask, metrics };
    },
  },
  {
    family: "verl",
    function: "compute_rollout_correction_and_rejection_mask",
    ours: "rolloutCorrection",
    options: 'preset "verl-2026-01"',
    run: (inputs, context) => {
      const { weights, mask, metrics } = rolloutCorrection(
        inputs.floats("old_log_prob"),
        inputs.floats("rollout_log_prob"),
        {
          preset: "verl-2026-01",
          ...layout(inputs, context),
          ...(inputs.has("rollout_is") && { weights: weightRule(inputs) }),
          ...(inputs.has("rollout_rs") && { rejection: rejectionRules(inputs) }),
        },
      );
      return { rollout_is_weights: weights, modified_response_mask: mask, metrics };
    },
  },
  {
    family: "verl",
    function: "compute_offpolicy_metrics",
    ours: "mismatchMetrics",
    options: 'preset "verl-2026-01"',
    run: (inputs, context) => {
      const rollout = inputs.has("rollout_log_prob") ? inputs.floats("rollout_log_prob") : null;
      return {
        ...mismatchMetrics(inputs.floats("old_log_prob"), rollout, {
          preset: "verl-2026-01",
          ...layout(inputs, context),
        }),
      };
    },
  },
  {
    family: "trl",
    function: "vllm_importance_sampling_ratio",
    ours: "importanceRatio",
    options: 'mode "trl/…"',
    differs: "a row's ratio is [rows], not [rows, 1]; one mask, not one for completions and one for tools",
    run: (inputs, { backend }) => {
      const mode = inputs.string("mode");
      const shape = inputs.shape2("completion_mask");
      const { ratios } = importanceRatio(
        inputs.floats("old_per_token_logps"),
        inputs.floats("sampling_per_token_logps"),
        {
          mode: `trl/${mode}` as ImportanceRatioName,
          shape,
          mask: modelTokens(inputs),
          ...(inputs.has("clip_min") && { low: inputs.number("clip_min") }),
          ...(inputs.has("clip_max") && { high: inputs.number("clip_max") }),
          backend,
        },
      );
      return { ratio: mode.startsWith("token") ? ratios : { data: ratios, shape: [shape[0], 1] } };
    },
  },
];

// EGPO and EDGE-GRPO, as two revisions of their code compute them: presets "egpo-first" and "egpo".
import {
  answerThinkingMask,
  edgeGrpoAdvantage,
  egpoAdvantage,
  grpoAdvantage,
  type AnswerThinkingMode,
  type EgpoAdvantageResult,
} from "surprisal";
import type { GoldenCase } from "../golden";
import type { Inputs } from "../inputs";
import type { Mapping, Outputs } from "../mapping";

const MODES: readonly string[] = ["answer", "thinking", "joint"] satisfies AnswerThinkingMode[];

/** Any other word selects the whole response upstream, which is what "joint" says here. */
function mode(inputs: Inputs): AnswerThinkingMode {
  const word = inputs.string("mode");
  return MODES.includes(word) ? (word as AnswerThinkingMode) : "joint";
}

/** null: the vocabulary has no such tag. */
function thinkEnd(inputs: Inputs): number | null {
  return inputs.has("think_end_id") ? inputs.number("think_end_id") : null;
}

function rewardedBatch(inputs: Inputs) {
  return {
    shape: inputs.shape2("response_mask"),
    mask: inputs.uint8("response_mask"),
    tokenRewards: inputs.floats("token_level_rewards"),
    groups: inputs.int32("index"),
  };
}

function egpoBatch(inputs: Inputs) {
  return { ...rewardedBatch(inputs), oldLogProbs: inputs.floats("old_log_probs"), tokens: inputs.int32("tokens") };
}

function egpoOptions(inputs: Inputs) {
  return {
    mode: mode(inputs),
    thinkEnd: thinkEnd(inputs),
    lambdaMin: inputs.number("lambda_min"),
    lambdaMax: inputs.number("lambda_max"),
    epsilon: inputs.number("entropy_epsilon"),
  };
}

/** Other words go through, to be refused. */
function negativeWeightMode(inputs: Inputs) {
  const word = inputs.string("negative_weight_mode");
  return word === "lock_one" ? "lockOne" : (word as "original" | "clamp");
}

function egpoOutputs(result: EgpoAdvantageResult): Outputs {
  return {
    advantages: result.advantages,
    returns: result.returns,
    metrics: result.metrics,
    entropy_mask: result.entropyMask,
    sequence_entropy: result.sequenceEntropies,
    group_mean_entropy: result.groupMeanEntropies,
    ratio: result.entropyRatios,
    weight: result.weights,
  };
}

/** "mean only" is centred and not divided. */
function scaling(inputs: Inputs) {
  return { scale: inputs.boolean("normalize_by_std") ? "std" : "none" } as const;
}

/**
 * The first revision multiplies a row's advantage by the mask, so that a NaN stays NaN under it; no rule defines a value there, and
 * the library has 0. That is so in groups with a NaN in `source`; in all others 0 is compared too.
 */
function definedAdvantages(inputs: Inputs, source: string): ArrayLike<number> {
  const mask = inputs.uint8("response_mask");
  const [, T] = inputs.shape2("response_mask");
  const groups = inputs.int32("index");
  const values = inputs.floats(source);
  const spoiled = new Set(groups.filter((_, b) => !values.subarray(b * T, (b + 1) * T).every(Number.isFinite)));
  return mask.map((flag, i) => (flag !== 0 || !spoiled.has(groups[Math.floor(i / T)]!) ? 1 : 0));
}

const noTag = "null stands for a vocabulary without the tag: no response has one";
const notMultiplied = "the mask selects, what lies under it is not read";

/** What no preset brings back: failures that came from the language, and arithmetic under the mask. */
function replacement({ name, inputs }: GoldenCase): string | undefined {
  if (name.startsWith("negative_infinity_under_the_mask")) return notMultiplied;
  if (name.startsWith("tensor_index_throws")) return "any integer labels make groups";
  return inputs["think_end_id"] === null ? noTag : undefined;
}

export const egpo: readonly Mapping[] = [
  {
    family: "egpo",
    function: "answer_thinking_mask",
    ours: "answerThinkingMask",
    options: 'preset "egpo"',
    differs: 'any other mode is the whole response, here "joint"',
    replacedBy: noTag,
    run: (inputs, { backend }) => ({
      mask: answerThinkingMask(inputs.int32("tokens"), {
        shape: inputs.shape2("response_mask"),
        mask: inputs.uint8("response_mask"),
        preset: "egpo",
        mode: mode(inputs),
        thinkEnd: thinkEnd(inputs),
        backend,
      }),
    }),
  },
  {
    family: "egpo",
    function: "answer_thinking_mask_full_sequence",
    ours: "answerThinkingMask",
    options: 'preset "egpo", promptLength',
    differs: 'any other mode is the whole response, here "joint"',
    run: (inputs, { backend }) => ({
      mask_aligned: answerThinkingMask(inputs.int32("tokens"), {
        shape: inputs.shape2("response_mask"),
        mask: inputs.uint8("response_mask"),
        promptLength: inputs.number("prompt_length"),
        preset: "egpo",
        mode: mode(inputs),
        thinkEnd: thinkEnd(inputs),
        backend,
      }),
    }),
  },
  {
    family: "egpo",
    function: "group_normalized_outcome_advantage",
    ours: "grpoAdvantage",
    options: 'preset "egpo"',
    masked: (inputs) => ({ advantages: definedAdvantages(inputs, "token_level_rewards") }),
    run: (inputs, { backend }) => ({
      advantages: grpoAdvantage(
        {
          tokenRewards: inputs.floats("token_level_rewards"),
          shape: inputs.shape2("response_mask"),
          mask: inputs.uint8("response_mask"),
          groups: inputs.int32("index"),
        },
        { preset: "egpo", epsilon: inputs.number("epsilon"), ...scaling(inputs), backend },
      ).advantages,
    }),
  },
  {
    family: "egpo",
    function: "egpo_advantage",
    ours: "egpoAdvantage",
    options: 'preset "egpo-first"',
    differs: 'any other mode is the whole response, here "joint"',
    preset: (golden) => (replacement(golden) === undefined ? "egpo-first" : undefined),
    replacedBy: replacement,
    // Log-probs decide about the weighted advantages only.
    masked: (inputs) => ({ advantages: definedAdvantages(inputs, "old_log_probs") }),
    run: (inputs, { backend }) =>
      egpoOutputs(egpoAdvantage(egpoBatch(inputs), { preset: "egpo-first", ...egpoOptions(inputs), backend })),
  },
  {
    family: "egpo",
    function: "egpo_advantage_later",
    ours: "egpoAdvantage",
    options: 'preset "egpo"',
    differs: 'any other mode is the whole response, here "joint"',
    failures: { ValueError: ["ERR_SURPRISAL_OPTION"] },
    preset: (golden) => (replacement(golden) === undefined ? "egpo" : undefined),
    replacedBy: replacement,
    run: (inputs, { backend }) =>
      egpoOutputs(
        egpoAdvantage(egpoBatch(inputs), {
          preset: "egpo",
          ...egpoOptions(inputs),
          negativeWeightMode: negativeWeightMode(inputs),
          backend,
        }),
      ),
  },
  {
    family: "egpo",
    function: "edge_grpo_advantage_later",
    ours: "edgeGrpoAdvantage",
    options: 'preset "egpo"',
    failures: { ValueError: ["ERR_SURPRISAL_OPTION"] },
    run: (inputs, { backend }) => {
      const batch = { ...rewardedBatch(inputs), entropies: inputs.floats("token_entropy") };
      const { advantages, returns, metrics } = edgeGrpoAdvantage(batch, {
        preset: "egpo",
        grpoAdvantage: scaling(inputs),
        // One case has another word, to see it refused.
        weightMode: inputs.string("weight_mode") as "ratio" | "zscore",
        beta: inputs.number("beta"),
        zClip: inputs.number("z_clip"),
        lambdaMin: inputs.number("lambda_min"),
        lambdaMax: inputs.number("lambda_max"),
        epsilon: inputs.number("eps"),
        backend,
      });
      return { advantages, returns, metrics };
    },
  },
];

// Answers out of texts, and rewards by them: EGPO's hybrid reward in two revisions, SEED-GRPO's answers.
import {
  boxedAnswer,
  flattenIds,
  hybridReward,
  normalizeMathText,
  numberAnswer,
  placeRewards,
  type NumberAnswerMethod,
  type RewardInput,
} from "surprisal/reward";
import { isGoldenArray, type GoldenValue } from "../golden";
import type { Inputs } from "../inputs";
import type { Mapping } from "../mapping";

type Revision = "egpo-first" | "egpo";

/** Non-finite numbers are words in the files. */
function unquoted(value: GoldenValue): unknown {
  if (isGoldenArray(value)) return value;
  if (Array.isArray(value)) return value.map((item) => unquoted(item as GoldenValue));
  return value === "NaN" ? NaN : value;
}

function hybridCase(inputs: Inputs, preset: Revision) {
  const input: RewardInput = {
    completion: inputs.string("text"),
    answer: inputs.value("ground_truth"),
    ...(inputs.has("ability") && { ability: inputs.string("ability") }),
  };
  const [result] = hybridReward([input], { preset });
  return { reward: result!.reward, ability: result!.details!["ability"] };
}

function placementCase(inputs: Inputs, preset: Revision) {
  const answers = inputs.list("ground_truths");
  const abilities = inputs.list("abilities") as readonly string[];
  const texts = inputs.list("texts") as readonly string[];
  const judged = hybridReward(
    texts.map((completion, i) => ({ completion, answer: answers[i], ability: abilities[i]! })),
    { preset },
  );
  return {
    rewards: placeRewards(
      Float32Array.from(judged, ({ reward }) => reward),
      {
        preset,
        shape: inputs.shape2("responses"),
        tokens: inputs.int32("responses"),
        padTokenId: inputs.number("pad_token_id"),
        attentionMask: inputs.uint8("attention_mask"),
      },
    ),
  };
}

const revision = (name: string, preset: Revision): Mapping[] => [
  {
    family: "egpo",
    function: `hybrid_reward${name}`,
    ours: "hybridReward",
    options: `preset "${preset}"`,
    backendFree: true,
    run: (inputs) => hybridCase(inputs, preset),
  },
  {
    family: "egpo",
    function: `hybrid_reward_placement${name}`,
    ours: ["placeRewards", "hybridReward"],
    options: `preset "${preset}"`,
    backendFree: true,
    run: (inputs) => placementCase(inputs, preset),
  },
];

export const rewards: readonly Mapping[] = [
  {
    family: "egpo",
    function: "extract_number_answer",
    ours: "numberAnswer",
    backendFree: true,
    run: (inputs) => ({ answer: numberAnswer(inputs.string("text"), inputs.string("method") as NumberAnswerMethod) }),
  },
  {
    family: "egpo",
    function: "flatten_to_ints",
    ours: "flattenIds",
    backendFree: true,
    failures: { ValueError: ["ERR_SURPRISAL_VALUE"] },
    run: (inputs) => ({ ids: flattenIds(unquoted(inputs.value("value"))) }),
  },
  ...revision("", "egpo-first"),
  ...revision("_later", "egpo"),
  {
    family: "egpo",
    function: "normalize_math_string_later",
    ours: "normalizeMathText",
    backendFree: true,
    run: (inputs) => ({ text: normalizeMathText(inputs.string("text")) }),
  },
  {
    family: "maxent",
    function: "seed_extract_answer",
    ours: "boxedAnswer",
    backendFree: true,
    run: (inputs) => ({ answer: boxedAnswer(inputs.string("text")) }),
  },
];

// Records of a step as rollouts, which files hold one by one, and back.
import { argumentError } from "../core/errors";
import type { FloatArray } from "../core/dtype";
import type { Rollout } from "../io";
import type { Completion, Prompt } from "./adapters";
import { type Experience, rowCount, type Samples, samplesOf } from "./records";

export interface RolloutsOfOptions {
  /** Training step. */
  readonly step?: number;
  /** Put before the number of the prompt in `group`, as "a-3". Default: the number alone. */
  readonly groupPrefix?: string;
  /** What else to say about a row, as JSON values. */
  readonly meta?: (row: number) => Readonly<Record<string, unknown>>;
}

/** Fields of a rollout ← fields of a record, per response token. */
const TOKEN_NUMBERS = {
  logProbs: "samplerLogProbs",
  oldLogProbs: "logProbs",
  refLogProbs: "referenceLogProbs",
  entropies: "entropies",
  values: "values",
  tokenRewards: "tokenRewards",
  advantages: "advantages",
} as const satisfies Partial<Record<keyof Rollout, keyof Experience>>;

/**
 * One rollout a row, for `writeRollouts` of surprisal/io. `reward` is the score, before any shaping; `rewards` are the sources'.
 * Log-probs that the policy computed again are the old ones and the recomputed ones.
 */
export function rolloutsOf(record: Samples | Experience, options: RolloutsOfOptions = {}): Rollout[] {
  const { step, groupPrefix, meta } = options;
  const { prompts, groups, promptIds, promptOffsets, tokenIds, offsets, mask, texts, finishReasons } = record;
  const from = record as Samples & Partial<Experience>;
  return Array.from({ length: rowCount(record) }, (_, b) => {
    const own = (values: FloatArray): Float64Array => Float64Array.from(values.subarray(offsets[b], offsets[b + 1]));
    const numbers = Object.entries(TOKEN_NUMBERS).flatMap(([name, field]) => (from[field] ? [[name, own(from[field])] as const] : []));
    const group = groups[b]!;
    const prompt = prompts[group]!.text;
    const text = texts[b];
    const finishReason = finishReasons[b];
    const rewards = Object.entries(from.sourceRewards ?? {}).flatMap(([name, values]) => (Number.isNaN(values[b]) ? [] : [[name, values[b]!] as const]));
    return {
      group: groupPrefix === undefined ? group : `${groupPrefix}${group}`,
      ...(step !== undefined && { step }),
      ...(prompt !== undefined && { prompt }),
      ...(text !== undefined && { text }),
      promptIds: promptIds.slice(promptOffsets[b], promptOffsets[b + 1]),
      tokenIds: tokenIds.slice(offsets[b], offsets[b + 1]),
      mask: mask.slice(offsets[b], offsets[b + 1]),
      ...Object.fromEntries(numbers),
      ...(from.logProbs && from.logProbSource !== "sampler" && { recomputedLogProbs: own(from.logProbs) }),
      ...(from.scores && { reward: from.scores[b]!, rewards: Object.fromEntries(rewards) }),
      ...(finishReason !== undefined && { finishReason }),
      ...(meta && { meta: meta(b) }),
    };
  });
}

function completionOf(op: string, rollout: Rollout, i: number): Completion {
  const { tokenIds, promptIds, text, logProbs, mask, finishReason } = rollout;
  if (!tokenIds || !promptIds)
    throw argumentError("ERR_SURPRISAL_OPTION", op, `rollouts[${i}].${tokenIds ? "promptIds" : "tokenIds"}`, undefined, "ids: text is not tokenised here");
  return {
    tokenIds,
    promptIds,
    ...(text !== undefined && { text }),
    ...(logProbs && { logProbs }),
    ...(mask && { mask }),
    ...(finishReason !== undefined && { finishReason }),
  };
}

/**
 * The samples of rollouts, for `ExperienceMaker.evaluate`. Rollouts of one group and step are brought together, in the order in
 * which groups first appear; without a `group` a rollout stands alone.
 *
 * @param promptOf what rewards need to know of a prompt, from its first rollout; default: its text
 * @throws SurprisalError ERR_SURPRISAL_OPTION for a rollout without ids; else as `samplesOf`
 */
export function samplesOfRollouts<Data = unknown>(
  rollouts: readonly Rollout[],
  promptOf: (rollout: Rollout) => Prompt<Data> = ({ prompt }) => (prompt === undefined ? {} : { text: prompt }),
): Samples<Data> {
  const op = "samplesOfRollouts";
  const groups = new Map<string, { prompt: Prompt<Data>; completions: Completion[] }>();
  rollouts.forEach((rollout, i) => {
    const label = rollout.group === undefined ? `#${i}` : `${rollout.step ?? ""}/${typeof rollout.group}/${rollout.group}`;
    const group = groups.get(label) ?? { prompt: promptOf(rollout), completions: [] };
    group.completions.push(completionOf(op, rollout, i));
    groups.set(label, group);
  });
  return samplesOf([...groups.values()]);
}

// Records of a step as rollouts, which files hold one by one, and back.
import { optionError } from "../core/errors";
import type { FloatArray } from "../core/dtype";
import { type Rollout, TOKEN_FIELDS } from "../io/record";
import { cutRows } from "../io/rollout-columns";
import { groupRollouts, membersOf } from "../io/rollout-groups";
import type { Completion, Prompt } from "./completion";
import { type Experience, responseLengths, type Samples } from "./records";
import { samplesOf } from "./samples";

export interface RolloutsOfOptions {
  /** Training step. */
  readonly step?: number;
  /** Put before the number of the prompt in `group`, as "a-3". Default: the number alone. */
  readonly groupPrefix?: string;
  /** What else to say about a row, as JSON values. */
  readonly meta?: (row: number) => Readonly<Record<string, unknown>>;
}

/** Log-probs that the policy itself computed, and not the sampler. */
function recomputedOf({ oldLogProbs, oldLogProbSource }: Partial<Experience>): FloatArray | undefined {
  return oldLogProbSource === "sampler" ? undefined : oldLogProbs;
}

/**
 * Returns one rollout for each row, for `writeRollouts` of surprisal/io. `reward` is the score, before any shaping; `rewards` are the sources'.
 * Log-probs that the policy computed again are the old ones and the recomputed ones.
 */
export function rolloutsOf(record: Samples | Experience, options: RolloutsOfOptions = {}): Rollout[] {
  const { step, groupPrefix, meta } = options;
  const { prompts, groups, promptIds, promptOffsets, tokenIds, offsets, mask, texts, finishReasons } = record;
  const from = record as Samples & Partial<Experience>;
  const lengths = responseLengths(record);
  const cut = (values: FloatArray): Float64Array[] => cutRows(values, offsets, lengths);
  const numbers = TOKEN_FIELDS.flatMap((field) => {
    const values = field === "recomputedLogProbs" ? recomputedOf(from) : from[field];
    return values ? [[field, cut(values)] as const] : [];
  });
  return Array.from(lengths, (_, b) => {
    const group = groups[b]!;
    const prompt = prompts[group]!.text;
    const text = texts[b];
    const finishReason = finishReasons[b];
    const rewards = Object.entries(from.sourceRewards ?? {}).flatMap(([name, values]) =>
      Number.isNaN(values[b]) ? [] : [[name, values[b]!] as const],
    );
    return {
      group: groupPrefix === undefined ? group : `${groupPrefix}${group}`,
      step,
      prompt,
      text,
      promptIds: promptIds.slice(promptOffsets[b], promptOffsets[b + 1]),
      tokenIds: tokenIds.slice(offsets[b], offsets[b + 1]),
      mask: mask.slice(offsets[b], offsets[b + 1]),
      ...Object.fromEntries(numbers.map(([field, rows]) => [field, rows[b]!])),
      reward: from.scores?.[b],
      rewards: from.scores && Object.fromEntries(rewards),
      finishReason,
      meta: meta?.(b),
    };
  });
}

/** A rollout with ids, which is a completion as it stands. */
function needCompletion(op: string, rollout: Rollout, i: number): Completion {
  const { tokenIds, promptIds } = rollout;
  if (tokenIds && promptIds) return { ...rollout, tokenIds };
  throw optionError(
    op,
    `rollouts[${i}].${tokenIds ? "promptIds" : "tokenIds"}`,
    undefined,
    "ids: text is not tokenised here",
  );
}

/**
 * Returns the samples of rollouts, for `ExperienceMaker.evaluate`. Rollouts of one group and step are brought together, in the order in
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
  const completions = rollouts.map((rollout, i) => needCompletion(op, rollout, i));
  return samplesOf(
    membersOf(groupRollouts(rollouts, "apart")).map((members) => ({
      prompt: promptOf(rollouts[members[0]!]!),
      completions: members.map((row) => completions[row]!),
    })),
  );
}

// Samples from the completions of a generation: each completion is checked, then all of them become columns.
import { completionTruncated } from "../advantage/maxent/completion-truncated";
import { dtypeError, optionError, rangeError, shapeError, valueError } from "../core/errors";
import { packRows } from "../core/packed-rows";
import type { Rollout } from "../io";
import { refusalOf, RolloutColumns } from "../io/rollout-columns";
import type { Completion, Prompt } from "./completion";
import type { GeneratedGroup } from "./generation";
import type { Samples } from "./records";

function needTokens(op: string, name: string, values: unknown): Int32Array {
  const list = values as ArrayLike<number> | null | undefined;
  if (list == null || typeof list !== "object" || typeof list.length !== "number")
    throw dtypeError(op, name, values, "a list of token ids");
  return Int32Array.from(list, (id, i) => {
    if (!Number.isInteger(id) || id < 0 || id > 2 ** 31 - 1)
      throw rangeError(op, `${name}[${i}]`, id, "a token id: an integer in [0, 2^31)");
    return id;
  });
}

function needNumbers(op: string, name: string, values: ArrayLike<number>, length: number): Float64Array {
  if (values.length !== length) throw shapeError(op, `${name}.length`, values.length, `${length}, one per token`);
  return Float64Array.from(values, (value, i) => {
    if (typeof value !== "number" || Number.isNaN(value)) throw valueError(op, `${name}[${i}]`, value, "a number");
    return value;
  });
}

/** A completion as a rollout, with as many log-probs and mask flags as ids. */
function checkedRollout(
  op: string,
  name: string,
  { tokenIds, samplerLogProbs, mask }: Completion,
  promptIds: ArrayLike<number> | undefined,
): Rollout & { readonly promptIds: Int32Array } {
  const ids = needTokens(op, `${name}.tokenIds`, tokenIds);
  if (promptIds === undefined)
    throw optionError(
      op,
      `${name}.promptIds`,
      undefined,
      "the ids of the prompt, from the policy or as ids of the prompt",
    );
  return {
    tokenIds: ids,
    promptIds: needTokens(op, `${name}.promptIds`, promptIds),
    mask: mask && Uint8Array.from(needNumbers(op, `${name}.mask`, mask, ids.length), (flag) => (flag === 0 ? 0 : 1)),
    samplerLogProbs: samplerLogProbs && needNumbers(op, `${name}.samplerLogProbs`, samplerLogProbs, ids.length),
  };
}

/**
 * Returns the record of the completions of a generation, prompt after prompt. Each completion is checked: it needs ids, and as many
 * log-probs and mask flags as ids.
 *
 * @param groups as `generateCompletions` returns them
 * @throws SurprisalError ERR_SURPRISAL_DTYPE, _SHAPE, _RANGE, _VALUE or _OPTION, naming the completion
 */
export function samplesOf<Data>(
  groups: readonly Pick<GeneratedGroup<Prompt<Data>, Completion>, "prompt" | "completions">[],
): Samples<Data> {
  const op = "samplesOf";
  const completions = groups.flatMap((group) => group.completions);
  const rollouts = groups.flatMap(({ prompt, completions: own }, group) =>
    own.map((completion, i) =>
      checkedRollout(op, `groups[${group}].completions[${i}]`, completion, completion.promptIds ?? prompt.ids),
    ),
  );
  const columns = new RolloutColumns(rollouts, refusalOf(op));
  const promptRows = packRows(
    rollouts.map(({ promptIds }) => promptIds),
    new Int32Array(0),
  );
  return {
    prompts: groups.map(({ prompt }) => prompt),
    groups: Int32Array.from(groups.flatMap(({ completions: own }, group) => own.map(() => group))),
    promptIds: promptRows.values,
    promptOffsets: promptRows.offsets,
    tokenIds: columns.tokenIds!,
    offsets: columns.offsets,
    mask: columns.mask,
    samplerLogProbs: rollouts.length > 0 ? columns.numbers("samplerLogProbs") : undefined,
    texts: completions.map(({ text }) => text),
    finishReasons: completions.map(({ finishReason }) => finishReason ?? undefined),
    truncated: Uint8Array.from(completions, ({ truncated, finishReason }) =>
      completionTruncated({ truncated: truncated ?? null, finishReason: finishReason ?? null }) ? 1 : 0,
    ),
  };
}

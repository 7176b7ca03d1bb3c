// LightRFT's and MaxEnt-GRPO's work before the advantages: rows cut and numbered, completions asked for and described.
import {
  completionInfo,
  generationRounds,
  logProbTotals,
  positionIds,
  unpackRows,
  type CompletionEntry,
  type GenerationRequest,
} from "surprisal/experience";
import { isGoldenArray, type GoldenValue } from "../golden";
import type { Inputs } from "../inputs";
import type { Mapping, Outputs } from "../mapping";

/** Inputs of one entry: those with the prefix `raw_` are those of its `raw_output`. */
function entryOf(inputs: Inputs, names: readonly string[]): CompletionEntry | null {
  if (!inputs.boolean("has_entry")) return null;
  const given = names.filter((name) => inputs.has(name)).map((name) => [name, plain(inputs.value(name))] as const);
  const raw = given.filter(([name]) => name.startsWith("raw_")).map(([name, value]) => [name.slice(4), value] as const);
  return {
    ...Object.fromEntries(given.filter(([name]) => !name.startsWith("raw_"))),
    raw_output: Object.fromEntries(raw),
  };
}

/** Lists as JSON has them. */
function plain(value: GoldenValue): unknown {
  return isGoldenArray(value) ? Array.from(value.data) : value;
}

const INFO = ["token_ids", "token_count", "finish_reason", "stop_reason"];
const RAW = [
  "token_ids",
  "output_token_ids",
  "token_count",
  "num_tokens",
  "finish_reason",
  "finishReason",
  "stop_reason",
  "stopReason",
];
const TOTALS = ["logprob_sum", "cumulative_logprob", "token_logprobs", "logprobs", "token_count", "num_tokens"];

interface Scripted {
  readonly completion: string;
  readonly metadata: string | null;
}

/** What the scripted policy says in each round: completions with their metadata, one record each; null for nothing. */
function script(inputs: Inputs): (readonly (readonly Scripted[])[] | null)[] {
  const metadata = inputs.list("round_metadata") as unknown as readonly (readonly (readonly string[])[] | null)[];
  return (inputs.list("round_completions") as unknown as readonly (readonly (readonly string[])[] | null)[]).map(
    (round, k) =>
      round &&
      round.map((group, g) => group.map((completion, i) => ({ completion, metadata: metadata[k]?.[g]?.[i] ?? null }))),
  );
}

function generate(inputs: Inputs): Outputs {
  const prompts = inputs.list("prompts") as readonly string[];
  const answers = inputs.list("answers");
  const retryRounds = inputs.has("max_retry_rounds") ? inputs.number("max_retry_rounds") : 0;
  const rounds = script(inputs);
  const withMetadata = (inputs.list("round_metadata") as readonly unknown[]).some((round) => round !== null);
  const requests: GenerationRequest<string>[] = [];
  const run = generationRounds<string, Scripted>(prompts, {
    samplesPerPrompt: inputs.number("expected_generations"),
    ...(retryRounds > 0 && { retryRounds }),
    onExcess: "drop",
    onShort: "drop",
    onNothing: "stop",
    surplusLists: "ignore",
    statistics: {
      rounds: 0,
      completions: 0,
      trimmedCompletions: 0,
      partialPrompts: inputs.number("stats_partial_prompts"),
      droppedPrompts: inputs.number("stats_dropped_prompts"),
    },
  });
  let step = run.next();
  while (!step.done) {
    requests.push(step.value);
    step = run.next(rounds[requests.length - 1] === undefined ? [] : rounds[requests.length - 1]!);
  }
  const { groups, statistics } = step.value;
  const calls = {
    call_prompts: requests.map((request) => request.prompts),
    call_counts: requests.map(({ round, counts }) => (round === 0 ? null : counts)),
    stats_dropped_prompts: statistics.droppedPrompts,
    stats_partial_prompts: statistics.partialPrompts,
  };
  if (groups.length === 0) return { is_null: true, ...calls };
  return {
    is_null: false,
    prompts: groups.map(({ prompt }) => prompt),
    answers: groups.map(({ index }) => answers[index]),
    completions: groups.map(({ completions }) => completions.map(({ completion }) => completion)),
    metadata: withMetadata ? groups.map(({ completions }) => completions.map(({ metadata }) => metadata)) : null,
    ...calls,
  };
}

export const experience: readonly Mapping[] = [
  {
    family: "lightrft",
    function: "unpack_samples",
    ours: "unpackRows",
    options: 'surplus "ignore"',
    backendFree: true,
    run: (inputs) => ({
      parts: unpackRows(inputs.float32("values"), inputs.numbers("lengths"), { surplus: "ignore" }),
    }),
  },
  {
    family: "lightrft",
    function: "reset_position_ids",
    ours: "positionIds",
    backendFree: true,
    run: (inputs) => {
      const shape = inputs.shape2("segment_ids");
      return { position_ids: { data: positionIds(inputs.int32("segment_ids"), { shape }), shape } };
    },
  },
  {
    family: "maxent",
    function: "prepare_generation_batch",
    ours: ["generationRounds", "generateCompletions"],
    options: 'onExcess "drop", onShort "drop", onNothing "stop", surplusLists "ignore"',
    differs:
      "a completion and its metadata are one record; the first round is counted too; with retryRounds 0 no prompt is asked again; there 0 means the default",
    backendFree: true,
    replacedBy: ({ name }) =>
      name === "quirk/retry returning nothing raises"
        ? "a round that returns nothing counts as one without completions"
        : "counters start at 0 where none are given",
    run: generate,
  },
  {
    family: "maxent",
    function: "completion_runtime_info",
    ours: "completionInfo",
    backendFree: true,
    run: (inputs) => {
      const info = completionInfo(entryOf(inputs, [...INFO, ...RAW.map((name) => `raw_${name}`)]));
      const { tokenIds, tokenCount, finishReason, stopReason, truncated } = info;
      return {
        token_ids: tokenIds,
        token_count: tokenCount,
        finish_reason: finishReason,
        stop_reason: stopReason,
        truncated,
      };
    },
  },
  {
    family: "maxent",
    function: "ref_logprob_fields",
    ours: "logProbTotals",
    backendFree: true,
    run: (inputs) => {
      const { logProbSum, tokenCount } = logProbTotals(entryOf(inputs, TOTALS));
      return { logprob_sum: logProbSum, token_count: tokenCount };
    },
  },
];

// A policy behind an inference server.
import { optionError } from "../../core/errors";
import { needWord } from "../../core/option-checks";
import type { CallOptions, Policy } from "../adapters";
import type { Completion, Prompt } from "../completion";
import type { GenerationRequest } from "../generation";
import { rowCount, type Samples } from "../records";
import { badAnswer, type RequestOptions, requestsTo, urlBelow } from "../request";
import type { Dialect, Sampling } from "./dialect";
import { sglang } from "./sglang";
import { vllm } from "./vllm";

const DIALECTS: Readonly<Record<string, Dialect>> = { vllm, sglang };

/** Finish reasons of responses that were given up: they are no samples of the policy. */
const GIVEN_UP = ["abort", "aborted", "error"];

export interface ServerPolicyOptions extends RequestOptions {
  /** Where the server listens, without a path: "http://localhost:8000". */
  readonly url: string;
  /** vLLM's /v1/completions, or SGLang's /generate. */
  readonly dialect: "vllm" | "sglang";
  /** Of `"vllm"`: the name under which the model is served. */
  readonly model?: string;
  readonly sampling?: Sampling;
  /** Fields of the request's body beside those of the dialect, and in place of them. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** A policy that also scores given tokens: the policy before an update, or a reference policy. */
export type ServerPolicy<Data = unknown> = Policy<Data> &
  Required<Pick<Policy<Data>, "logProbs" | "promptsPerCall" | "rowsPerCall">>;

/** The prompt as the server saw it is the one that was sent. */
function checkPrompt(prompt: Prompt, { promptIds }: Completion): void {
  if (!prompt.ids || !promptIds) return;
  const sent = Array.from(prompt.ids);
  if (sent.length !== promptIds.length || sent.some((id, i) => id !== promptIds[i]))
    throw badAnswer("the answer is about another prompt");
}

/**
 * A policy behind vLLM or SGLang: `generate` asks for the completions of a prompt with their ids and log-probs, `logProbs` for the
 * log-probs of given tokens. One request a prompt or a row; how many run side by side is up to the maker.
 *
 * Ids go in where the prompt has them, and always come out: no text is tokenised here. Completions that the server gave up are left
 * out, so that the prompt is asked again. Log-probs are what the server reports: vLLM's are those before the temperature unless it
 * runs with `--logprobs-mode processed_logprobs`.
 *
 * @throws (its methods) SurprisalError ERR_SURPRISAL_REMOTE as `details` say, also for answers without ids, with wrong lengths, or
 * about another prompt; _OPTION for a prompt with neither ids nor text
 */
export function serverPolicy<Data = unknown>(options: ServerPolicyOptions): ServerPolicy<Data> {
  const op = "serverPolicy";
  needWord(op, "dialect", options.dialect, ["vllm", "sglang"]);
  const { model, sampling = {}, extra = {}, ...request } = options;
  const dialect = DIALECTS[options.dialect]!;
  const requests = requestsTo(op, urlBelow(options.url, dialect.path), request);

  async function complete(prompt: Prompt<Data>, count: number, signal: AbortSignal): Promise<Completion[]> {
    if (!prompt.ids && prompt.text === undefined) throw optionError(op, "prompt", prompt, "ids or text");
    const body = { ...dialect.generation(prompt, Math.max(count, 1), model, sampling), ...extra };
    const read = (answer: unknown): Completion[] => {
      const completions = dialect.completions(answer);
      for (const completion of completions) checkPrompt(prompt, completion);
      return completions;
    };
    const completions = await requests.post(body, read, signal, requests.begin());
    return completions.filter(({ finishReason }) => !GIVEN_UP.includes(finishReason ?? ""));
  }

  async function score(samples: Samples<Data>, row: number, signal: AbortSignal): Promise<readonly number[]> {
    const { promptIds, promptOffsets, tokenIds, offsets } = samples;
    const prompt = promptIds.subarray(promptOffsets[row], promptOffsets[row + 1]);
    const response = tokenIds.subarray(offsets[row], offsets[row + 1]);
    if (response.length === 0) return [];
    if (prompt.length === 0)
      throw optionError(op, `the prompt of row ${row}`, "empty", "at least one id: nothing precedes the first token");
    const ids = [...prompt, ...response];
    return requests.post(
      { ...dialect.scoring(ids, prompt.length, model), ...extra },
      (answer) => dialect.scores(answer, ids, prompt.length),
      signal,
      requests.begin(),
    );
  }

  return {
    promptsPerCall: 1,
    rowsPerCall: 1,
    generate: ({ prompts, counts }: GenerationRequest<Prompt<Data>>, { signal }: CallOptions) =>
      Promise.all(prompts.map((prompt, i) => complete(prompt, counts[i]!, signal))),
    logProbs: async (samples: Samples<Data>, { signal }: CallOptions) => {
      const rows = await Promise.all(
        Array.from({ length: rowCount(samples) }, (_, row) => score(samples, row, signal)),
      );
      return Float64Array.from(rows.flat());
    },
  };
}

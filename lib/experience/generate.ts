// The rounds of a generation with a policy behind them.
import { SurprisalError } from "../core/errors";
import { needNumber } from "../core/option-checks";
import type { Policy } from "./adapters";
import type { Completion, Prompt } from "./completion";
import { pieces, runBounded } from "./bounded";
import {
  type Generated,
  type Generation,
  generationRounds,
  type GenerationOptions,
  type GenerationRequest,
  needGenerated,
  needGenerationOptions,
} from "./generation";
import { isTransient } from "./request";

export interface GenerationProgress {
  readonly step: "generate";
  /** Completions that have come. */
  readonly done: number;
  /** Completions that were wanted; 0 = not known. */
  readonly total: number;
  /** 0 = the first time, above: retries. */
  readonly round: number;
}

export interface GenerateOptions extends GenerationOptions {
  /** Prompts of one call. Default: what the policy says, else all. */
  readonly promptsPerCall?: number;
  /** Calls under way at a time. Default 8. */
  readonly concurrency?: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: GenerationProgress) => void;
}

export interface GenerationFailure {
  readonly round: number;
  /** Of the call that failed, among the prompts given. */
  readonly prompts: readonly number[];
  readonly error: SurprisalError;
}

export interface PolicyGeneration<Data> extends Generation<Prompt<Data>, Completion> {
  /** Calls whose server failed for the time being: their prompts counted as unanswered, and were asked again. */
  readonly failures: readonly GenerationFailure[];
}

/**
 * Completions of every prompt, asked for in rounds as `generationRounds` says. Calls run side by side. A call that fails with a
 * server's transient failure brings nothing for its prompts in that round and takes nothing from the others; any other error ends
 * the generation.
 *
 * @throws SurprisalError ERR_SURPRISAL_GENERATION where not one completion came, with the last failure as `cause`; else as
 * `generationRounds`, what the policy throws, and the signal's reason
 */
export async function generateCompletions<Data = unknown>(
  policy: Pick<Policy<Data>, "generate" | "promptsPerCall">,
  prompts: readonly Prompt<Data>[],
  options: GenerateOptions,
): Promise<PolicyGeneration<Data>> {
  const op = "generateCompletions";
  const { signal, onProgress, concurrency = 8 } = options;
  const { wanted, ignoresSurplus } = needGenerationOptions(op, options);
  const perCall = needNumber(
    op,
    "promptsPerCall",
    options.promptsPerCall ?? policy.promptsPerCall ?? Math.max(prompts.length, 1),
    { min: 1, integer: true },
  );
  const failures: GenerationFailure[] = [];
  let done = 0;

  async function ask(request: GenerationRequest<Prompt<Data>>, own: AbortSignal): Promise<Generated> {
    try {
      const generated = await policy.generate(request, { signal: own });
      // Nothing that comes after an abort counts.
      own.throwIfAborted();
      const lists = generated && needGenerated(op, generated, request.prompts.length, ignoresSurplus);
      done += lists?.reduce((sum, list) => sum + list.length, 0) ?? 0;
      onProgress?.({ step: "generate", done, total: prompts.length * wanted, round: request.round });
      return lists;
    } catch (error) {
      own.throwIfAborted();
      if (!isTransient(error)) throw error;
      failures.push({ round: request.round, prompts: request.indices, error });
      return null;
    }
  }

  async function round({
    prompts: asked,
    indices,
    counts,
    round: number,
  }: GenerationRequest<Prompt<Data>>): Promise<Generated> {
    const requests = pieces(asked.length, perCall).map(({ begin, end }) => ({
      prompts: asked.slice(begin, end),
      indices: indices.slice(begin, end),
      counts: counts.slice(begin, end),
      round: number,
    }));
    const answers = await runBounded(
      op,
      requests.map((request) => (own: AbortSignal) => ask(request, own)),
      concurrency,
      signal,
    );
    if (answers.every((answer) => answer === null)) return null;
    return answers.flatMap((answer, i) => needGenerated(op, answer, requests[i]!.prompts.length, false));
  }

  const rounds = generationRounds<Prompt<Data>, Completion>(prompts, options);
  let step = rounds.next();
  while (!step.done) step = rounds.next(await round(step.value));
  const { groups, leftOut, statistics } = step.value;
  if (groups.length === 0 && prompts.length > 0) throw nothingCame(op, prompts.length, statistics.rounds, failures);
  return { groups, leftOut, statistics, failures };
}

function nothingCame(
  op: string,
  prompts: number,
  rounds: number,
  failures: readonly GenerationFailure[],
): SurprisalError {
  const last = failures.at(-1)?.error;
  const why = last ? `; the last failure: ${last.message}` : "";
  return new SurprisalError(
    "ERR_SURPRISAL_GENERATION",
    `${op}: no group of completions for any of ${prompts} prompts after ${rounds} rounds${why}`,
    { op, name: "completions", got: 0, want: "completions" },
    last && { cause: last },
  );
}

// Asking for completions until every prompt has as many as were wanted. No input or output here: a round is asked for by
// yielding a request, and what came is sent back in.
import { dtypeError, shapeError, SurprisalError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import type { Completion, Prompt } from "./completion";

const ON_EXCESS = ["keep", "trim", "drop"] as const;
const ON_SHORT = ["keep", "drop", "error"] as const;
const ON_NOTHING = ["ask", "stop"] as const;
const SURPLUS = ["refuse", "ignore"] as const;

export interface GenerationOptions {
  /** Completions wanted of each prompt, an integer; 0 takes what the first round brings. */
  readonly samplesPerPrompt: number;
  /** How often prompts that lack completions are asked again, at most. Default: `samplesPerPrompt`. */
  readonly retryRounds?: number;
  /** More completions than wanted: all kept, the last ones left out, or the prompt left out. Default `"trim"`. */
  readonly onExcess?: (typeof ON_EXCESS)[number];
  /** Fewer, but some, after the last round: kept, the prompt left out, or an error. Default `"keep"`. */
  readonly onShort?: (typeof ON_SHORT)[number];
  /** The first round brought nothing at all (null): asked again, or taken for the end. Default `"ask"`. */
  readonly onNothing?: (typeof ON_NOTHING)[number];
  /** More lists of completions than prompts: refused, or left out. Default `"refuse"`. */
  readonly surplusLists?: (typeof SURPLUS)[number];
  /** Counters to go on with. Default: all 0. */
  readonly statistics?: GenerationStatistics;
}

export interface GenerationRequest<P = Prompt> {
  readonly prompts: readonly P[];
  /** Which prompts these are of those given. */
  readonly indices: readonly number[];
  /** Completions wanted of each prompt; 0 = as many as there are. */
  readonly counts: readonly number[];
  /** 0 = the first time; above: prompts that lack completions, with what they lack. */
  readonly round: number;
}

/** The completions of each prompt of a request, in its order. Fewer lists than prompts, or null: nothing came for the others. */
export type Generated<C = Completion> = readonly (readonly C[])[] | null;

export interface GenerationStatistics {
  /** Requests made: the first one and the retries. */
  readonly rounds: number;
  /** Completions that came. */
  readonly completions: number;
  /** Completions left out by `onExcess`: they are in `leftOut`. */
  readonly trimmedCompletions: number;
  /** Prompts with some completions but not as many as wanted, before `onExcess` and `onShort`. */
  readonly partialPrompts: number;
  /** Prompts left out: without completions, or by `onExcess` and `onShort`. */
  readonly droppedPrompts: number;
}

/** No generation yet. */
export const NO_GENERATION: GenerationStatistics = Object.freeze({
  rounds: 0,
  completions: 0,
  trimmedCompletions: 0,
  partialPrompts: 0,
  droppedPrompts: 0,
});

export interface GeneratedGroup<P, C> {
  readonly prompt: P;
  /** Which prompt of those given. */
  readonly index: number;
  /** In the order in which they came. At least one. */
  readonly completions: readonly C[];
}

export interface LeftOut<P, C> {
  readonly prompt: P;
  readonly index: number;
  /** Nothing came, fewer than wanted, or more. */
  readonly reason: "nothing" | "short" | "excess";
  /** The completions that are in no group. */
  readonly completions: readonly C[];
}

/** Every completion that came is in `groups` or in `leftOut`, once. */
export interface Generation<P, C> {
  readonly groups: readonly GeneratedGroup<P, C>[];
  readonly leftOut: readonly LeftOut<P, C>[];
  readonly statistics: GenerationStatistics;
}

interface Checked {
  readonly wanted: number;
  readonly retries: number;
  readonly onExcess: (typeof ON_EXCESS)[number];
  readonly onShort: (typeof ON_SHORT)[number];
  readonly stops: boolean;
  readonly ignoresSurplus: boolean;
}

export function needGenerationOptions(op: string, options: GenerationOptions): Checked {
  const wanted = needNumber(op, "samplesPerPrompt", options.samplesPerPrompt, { min: 0, integer: true });
  return {
    wanted,
    retries: needNumber(op, "retryRounds", options.retryRounds ?? wanted, { min: 0, integer: true }),
    onExcess: ON_EXCESS[needWord(op, "onExcess", options.onExcess ?? "trim", ON_EXCESS)]!,
    onShort: ON_SHORT[needWord(op, "onShort", options.onShort ?? "keep", ON_SHORT)]!,
    stops: needWord(op, "onNothing", options.onNothing ?? "ask", ON_NOTHING) === 1,
    ignoresSurplus: needWord(op, "surplusLists", options.surplusLists ?? "refuse", SURPLUS) === 1,
  };
}

/** What came for `count` prompts, one list for each. */
export function needGenerated<C>(
  op: string,
  generated: Generated<C>,
  count: number,
  ignoresSurplus: boolean,
): (readonly C[])[] {
  if (generated === null) return Array.from({ length: count }, () => []);
  // Adapters are written by callers, some of them in JavaScript.
  const lists: readonly unknown[] = Array.isArray(generated) ? generated : [];
  if (!Array.isArray(generated))
    throw dtypeError(op, "generate's answer", generated, "a list of completions for each prompt, or null");
  if (lists.length > count && !ignoresSurplus)
    throw shapeError(
      op,
      "generate's answer",
      `${lists.length} lists`,
      `${count} lists of completions, one for each prompt`,
    );
  return Array.from({ length: count }, (_, i) => {
    const list = lists[i] ?? [];
    if (!Array.isArray(list)) throw dtypeError(op, `generate's answer[${i}]`, list, "a list of completions");
    return list as readonly C[];
  });
}

/**
 * The rounds of a generation, as a generator: it yields requests, wants what came for each (`next(generated)`), and returns the
 * groups. First all prompts are asked; then, up to `retryRounds` times, those that lack completions, for as many as they lack.
 * What a retry brings is appended.
 *
 * `generateCompletions` drives it with a policy.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, _SHAPE or _DTYPE, naming the argument; _GENERATION with `onShort: "error"`
 */
export function* generationRounds<P, C>(
  prompts: readonly P[],
  options: GenerationOptions,
): Generator<GenerationRequest<P>, Generation<P, C>, Generated<C>> {
  const op = "generationRounds";
  const checked = needGenerationOptions(op, options);
  const { wanted, retries } = checked;
  const start = options.statistics ?? NO_GENERATION;
  const completions = prompts.map((): C[] => []);
  let rounds = 0;
  let asked = prompts.map((_, index) => index);
  while (asked.length > 0) {
    const request = {
      prompts: asked.map((index) => prompts[index]!),
      indices: asked,
      counts: asked.map((index) => Math.max(wanted - completions[index]!.length, 0)),
      round: rounds,
    };
    const generated = yield request;
    ++rounds;
    if (generated === null && rounds === 1 && checked.stops)
      return { groups: [], leftOut: [], statistics: { ...start, rounds: start.rounds + 1 } };
    const lists = needGenerated(op, generated, asked.length, checked.ignoresSurplus);
    lists.forEach((list, i) => completions[asked[i]!]!.push(...list));
    asked = rounds > retries ? [] : prompts.flatMap((_, index) => (completions[index]!.length < wanted ? [index] : []));
  }
  return sorted(op, prompts, completions, checked, { ...start, rounds: start.rounds + rounds });
}

/** Groups, and what is left out of them. */
function sorted<P, C>(
  op: string,
  prompts: readonly P[],
  completions: readonly (readonly C[])[],
  { wanted, onExcess, onShort }: Checked,
  start: GenerationStatistics,
): Generation<P, C> {
  const groups: GeneratedGroup<P, C>[] = [];
  const leftOut: LeftOut<P, C>[] = [];
  let { droppedPrompts, partialPrompts, trimmedCompletions, completions: count } = start;
  prompts.forEach((prompt, index) => {
    const own = completions[index]!;
    const leave = (reason: LeftOut<P, C>["reason"], from: number): void =>
      void leftOut.push({ prompt, index, reason, completions: own.slice(from) });
    count += own.length;
    const excess = wanted > 0 && own.length > wanted;
    const short = own.length < wanted;
    if (own.length > 0 && (excess || short)) ++partialPrompts;
    if (short && onShort === "error") throw shortError(op, index, own.length, wanted);
    if (own.length === 0 || (excess && onExcess === "drop") || (short && onShort === "drop")) {
      ++droppedPrompts;
      return leave(own.length === 0 ? "nothing" : excess ? "excess" : "short", 0);
    }
    const trims = excess && onExcess === "trim";
    if (trims) {
      trimmedCompletions += own.length - wanted;
      leave("excess", wanted);
    }
    groups.push({ prompt, index, completions: trims ? own.slice(0, wanted) : own });
  });
  return {
    groups,
    leftOut,
    statistics: { rounds: start.rounds, completions: count, trimmedCompletions, partialPrompts, droppedPrompts },
  };
}

function shortError(op: string, index: number, got: number, wanted: number): SurprisalError {
  return new SurprisalError(
    "ERR_SURPRISAL_GENERATION",
    `${op}: prompts[${index}] has ${got} completions after the last round, expected ${wanted}; more retryRounds, or onShort "keep" or "drop"`,
    { op, name: `prompts[${index}]`, got, want: `${wanted} completions` },
  );
}

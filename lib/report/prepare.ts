// Makes steps of a report from rollouts as they were read, and computes what the records allow.
import { empgAdvantage, type EmpgAdvantageOptions } from "../advantage/empg-advantage";
import { grpoAdvantage } from "../advantage/grpo-advantage";
import type { BackendOption } from "../backend/select";
import { needNumber } from "../core/option-checks";
import { type Rollout, tokenCount, withFields } from "../io/record";
import { refusalOf, RolloutColumns, spreadOverTokens } from "../io/rollout-columns";
import { groupRollouts, splitBySteps, type StepRollouts } from "../io/rollout-groups";
import { findSpans } from "../ops/delim";
import type { GroupConventions } from "../ops/group";
import { ratiosOf } from "./measures";
import type { ReportRollout, ReportSpan, ReportStep } from "./model";
import { spansOfRows, weightsOfSpan } from "./spans";

/** Start and end of the spans, and how EMPG weighs them: see `empgAdvantage`. */
export type SpanOptions = Omit<EmpgAdvantageOptions, "out" | "collective" | "backend" | "arena">;

export interface PrepareOptions extends BackendOption {
  /** Shown for rollouts without a `step`, and before the number of those with one. Default "step". */
  readonly label?: string;
  /**
   * Conventions by which rewards become advantages, for rollouts that carry neither `advantages` nor `advantage`; see
   * `grpoAdvantage`. Default: its own.
   */
  readonly grpoAdvantage?: GroupConventions;
  /** Spans between delimiters. Where all rollouts of a step have entropies, their advantages are those after EMPG. */
  readonly spans?: SpanOptions;
  /** What the spans are called, by the alternative of `start` that opened them: ["step", "answer"]. Default: "step". */
  readonly spanLabels?: readonly string[];
  /** A token above advantage 0 is clipped where its ratio is above 1 + clipHigh. Default 0.2. */
  readonly clipHigh?: number;
  /** A token below advantage 0 is clipped where its ratio is below 1 − clipLow. Default 0.2. */
  readonly clipLow?: number;
}

/** Advantages as recorded, or relative to the group. */
function withAdvantages(
  rollouts: readonly Rollout[],
  { grpoAdvantage: conventions, backend }: PrepareOptions,
): ReportRollout[] {
  const rewarded = rollouts.filter(({ reward }) => reward !== undefined);
  const { advantages } = grpoAdvantage(
    { rewards: Float64Array.from(rewarded, ({ reward }) => reward!), groups: groupRollouts(rewarded).groups },
    { ...conventions, backend },
  );
  const relative = new Map(rewarded.map((rollout, i) => [rollout, advantages[i]!]));
  return rollouts.map((rollout) => {
    const advantage = rollout.advantage ?? relative.get(rollout);
    if (rollout.advantages || advantage === undefined) return rollout;
    // A rollout that is known as text has no tokens to spread it over.
    if (tokenCount(rollout) === undefined) return withFields(rollout, { advantage });
    return withFields(rollout, { advantages: spreadOverTokens(rollout, advantage) });
  });
}

/** Spans only: what they weigh is not known without entropies and advantages. Named by the alternative that opened them. */
function foundSpans(
  { rollouts, offsets, tokenIds }: RolloutColumns,
  { spans: options, spanLabels = [] }: PrepareOptions,
  backend: BackendOption,
): ReportSpan[][] {
  const { start, end, head, startsOpen, includeEnd, unterminated } = options!;
  const matching = {
    start,
    end,
    head: head ?? undefined,
    startsOpen,
    includeEnd,
    unterminated,
  };
  const { spans, startAlternatives } = findSpans(tokenIds!, { offsets, ...matching, ...backend });
  const name = (span: number): string => spanLabels[Math.max(startAlternatives[span]!, 0)] ?? "step";
  return spansOfRows(rollouts.length, spans, (span) => ({ label: name(span) })).map(numbered);
}

/** "step 1", "step 2", "answer": a name that occurs once in a row needs no number. */
function numbered(spans: readonly ReportSpan[]): ReportSpan[] {
  const counts = new Map<string, number>();
  for (const { label } of spans) counts.set(label!, (counts.get(label!) ?? 0) + 1);
  const seen = new Map<string, number>();
  return spans.map((span) => {
    const name = span.label!;
    const place = (seen.get(name) ?? 0) + 1;
    seen.set(name, place);
    return counts.get(name) === 1 ? span : { ...span, label: `${name} ${place}` };
  });
}

/** Spans with their entropies and weights, and advantages after modulation. `found` has their names. */
function modulated(
  columns: RolloutColumns,
  found: readonly (readonly ReportSpan[])[],
  options: SpanOptions,
  backend: BackendOption,
): ReportRollout[] {
  const { rollouts, offsets, mask } = columns;
  const advantages = columns.numbers("advantages")!;
  const result = empgAdvantage(
    { offsets, tokens: columns.tokenIds!, entropies: columns.numbers("entropies")!, advantages, mask },
    { ...options, ...backend },
  );
  const rows = spansOfRows(rollouts.length, result.spans, (span, row, begin) => ({
    ...weightsOfSpan(result, span),
    before: advantages[offsets[row]! + begin]!,
    after: result.advantages[offsets[row]! + begin]!,
    ...named(found[row]!, begin),
  }));
  const after = columns.cut(result.advantages);
  return rollouts.map((rollout, row) => withFields(rollout, { advantages: after[row]!, spans: rows[row]! }));
}

/** The name of the span that begins there. */
function named(found: readonly ReportSpan[], begin: number): Pick<ReportSpan, "label"> {
  const label = found.find((span) => span.begin === begin)?.label;
  return label === undefined ? {} : { label };
}

function withSpans(rollouts: readonly ReportRollout[], options: PrepareOptions): ReportRollout[] {
  const { spans, backend } = options;
  const chosen: BackendOption = { backend };
  const tokenized = rollouts.filter(({ tokenIds }) => tokenIds !== undefined);
  if (spans === undefined || tokenized.length === 0) return [...rollouts];
  const columns = new RolloutColumns(tokenized, refusalOf("prepareSteps"));
  const found = foundSpans(columns, options, chosen);
  const known = tokenized.every(({ entropies, advantages }) => entropies && advantages);
  const done = known
    ? modulated(columns, found, spans, chosen)
    : tokenized.map((rollout, row) => withFields(rollout, { spans: found[row]! }));
  const places = new Map(tokenized.map((rollout, i) => [rollout, done[i]!]));
  return rollouts.map((rollout) => places.get(rollout) ?? rollout);
}

function withClipping(rollout: ReportRollout, low: number, high: number): ReportRollout {
  const ratios = ratiosOf(rollout);
  const { advantages, clipped } = rollout;
  if (clipped || !ratios || !advantages) return rollout;
  const clip = (ratio: number, advantage: number): number =>
    advantage > 0 && ratio > 1 + high ? 1 : advantage < 0 && ratio < 1 - low ? -1 : 0;
  return withFields(rollout, { clipped: Int8Array.from(ratios, (ratio, t) => clip(ratio, advantages[t]!)) });
}

/** Rollouts by training step, ascending; those without one come first. */
function ascendingSteps(rollouts: readonly Rollout[]): StepRollouts[] {
  return splitBySteps(rollouts).sort((a, b) => (a.step ?? -Infinity) - (b.step ?? -Infinity));
}

/**
 * Returns the steps that `summarize` and `renderHtml` take, one for each training step, from rollouts as a reader returns them. It adds
 * what the records lack and what follows from them:
 *
 *     advantages   as recorded per token or per completion; else of the rewards, relative to the group (`grpoAdvantage`)
 *     spans        between the delimiters of `options.spans`; with entropies also their weights and modulated advantages
 *                  (`empgAdvantage`, over the steps of the batch that is one training step)
 *     clipped      where the ratio is known: above 1 + clipHigh for a positive advantage, below 1 − clipLow for a negative one
 *
 * @param rollouts of one or several training steps
 * @throws SurprisalError as `grpoAdvantage`, `findSpans` and `empgAdvantage` do
 */
export function prepareSteps(rollouts: readonly Rollout[], options: PrepareOptions = {}): ReportStep[] {
  const { label = "step" } = options;
  const low = needNumber("prepareSteps", "clipLow", options.clipLow ?? 0.2, { min: 0 });
  const high = needNumber("prepareSteps", "clipHigh", options.clipHigh ?? 0.2, { min: 0 });
  return ascendingSteps(rollouts).map(({ step, rollouts: own }) => ({
    label: step === undefined ? label : `${label} ${step}`,
    step,
    rollouts: withSpans(withAdvantages(own, options), options).map((rollout) => withClipping(rollout, low, high)),
  }));
}

/** One step of a report out of rollouts of any training steps; each training step is prepared on its own. */
export function prepareAsOne(label: string, rollouts: readonly Rollout[], options: PrepareOptions = {}): ReportStep {
  const steps = prepareSteps(rollouts, options);
  return {
    label,
    step: steps.length === 1 ? steps[0]!.step : undefined,
    rollouts: steps.flatMap(({ rollouts: own }) => own),
  };
}

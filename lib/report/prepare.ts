// From rollouts as they were read to steps of a report: what can be computed from the record is.
import { empgAdvantage, type EmpgAdvantageOptions } from "../advantage/empg-advantage";
import { groupAdvantage } from "../advantage/group-advantage";
import type { BackendOption } from "../backend/select";
import { needNumber } from "../core/options";
import { type Rollout, tokenCount } from "../io/record";
import { findSpans } from "../ops/delim";
import type { GroupConventions } from "../ops/group";
import { groupLabel } from "./groups";
import { ratiosOf } from "./measures";
import type { ReportRollout, ReportSpan, ReportStep } from "./model";

/** Start and end of the spans, and how EMPG weighs them: see `empgAdvantage`. */
export type SpanOptions = Omit<EmpgAdvantageOptions, "out" | "collective" | "backend">;

export interface PrepareOptions extends BackendOption {
  /** Shown for rollouts without a `step`, and before the number of those with one. Default "step". */
  readonly label?: string;
  /**
   * Conventions by which rewards become advantages, for rollouts that carry neither `advantages` nor `advantage`; see
   * `groupAdvantage`. Default: its own.
   */
  readonly groupAdvantage?: GroupConventions;
  /** Spans between delimiters. Where all rollouts of a step have entropies, their advantages are those after EMPG. */
  readonly spans?: SpanOptions;
  /** What the spans are called, by the alternative of `start` that opened them: ["step", "answer"]. Default: "step". */
  readonly spanLabels?: readonly string[];
  /** A token above advantage 0 is clipped where its ratio is above 1 + clipHigh. Default 0.2. */
  readonly clipHigh?: number;
  /** A token below advantage 0 is clipped where its ratio is below 1 − clipLow. Default 0.2. */
  readonly clipLow?: number;
}

const spread = (rollout: Rollout, advantage: number): Float64Array =>
  Float64Array.from({ length: tokenCount(rollout) ?? 0 }, (_, t) => (rollout.mask?.[t] === 0 ? 0 : advantage));

/** Advantages as recorded, or relative to the group. */
function withAdvantages(rollouts: readonly Rollout[], { groupAdvantage: conventions, backend }: PrepareOptions): ReportRollout[] {
  const rewarded = rollouts.filter(({ reward }) => reward !== undefined);
  const { advantages } = groupAdvantage(Float64Array.from(rewarded, ({ reward }) => reward!), {
    groups: rewarded.map(groupLabel),
    ...conventions,
    ...(backend && { backend }),
  });
  const relative = new Map(rewarded.map((rollout, i) => [rollout, advantages[i]!]));
  return rollouts.map((rollout) => {
    const advantage = rollout.advantage ?? relative.get(rollout);
    return rollout.advantages || advantage === undefined ? rollout : { ...rollout, advantages: spread(rollout, advantage) };
  });
}

const concatenated = (parts: readonly ArrayLike<number>[]): number[] => parts.flatMap((part) => Array.from(part));

interface Packed {
  readonly tokens: Int32Array;
  readonly offsets: Int32Array;
}

function packed(rollouts: readonly ReportRollout[]): Packed {
  const offsets = new Int32Array(rollouts.length + 1);
  rollouts.forEach(({ tokenIds }, row) => (offsets[row + 1] = offsets[row]! + tokenIds!.length));
  return { tokens: Int32Array.from(concatenated(rollouts.map(({ tokenIds }) => tokenIds!))), offsets };
}

/** Spans [S,3] as lists of the rows; `more` adds what is known of the span with that number. */
function spansOfRows(count: number, spans: Int32Array, more: (span: number, row: number, begin: number) => Partial<ReportSpan>): ReportSpan[][] {
  const rows: ReportSpan[][] = Array.from({ length: count }, () => []);
  for (let span = 0; 3 * span < spans.length; ++span) {
    const [row, begin, finish] = spans.subarray(3 * span) as unknown as [number, number, number];
    rows[row]!.push({ begin, finish, ...more(span, row, begin) });
  }
  return rows;
}

/** Spans only: what they weigh is not known without entropies and advantages. Named by the alternative that opened them. */
function foundSpans(rollouts: readonly ReportRollout[], { tokens, offsets }: Packed, { spans: options, spanLabels = [] }: PrepareOptions, backend: BackendOption): ReportSpan[][] {
  const { start, end, head, startsOpen, includeEnd, unterminated } = options!;
  const matching = { start, end, ...(head && { head }), ...(startsOpen && { startsOpen }), ...(includeEnd && { includeEnd }), ...(unterminated && { unterminated }) };
  const { spans, startAlternatives } = findSpans(tokens, { offsets, ...matching, ...backend });
  const name = (span: number): string => spanLabels[Math.max(startAlternatives[span]!, 0)] ?? "step";
  return spansOfRows(rollouts.length, spans, (span) => ({ label: name(span) })).map(numbered);
}

/** "step 1", "step 2", "answer": a name that occurs once in a row needs no number. */
function numbered(spans: readonly ReportSpan[]): ReportSpan[] {
  const seen = new Map<string, number>();
  return spans.map((span) => {
    const name = span.label!;
    const place = (seen.get(name) ?? 0) + 1;
    seen.set(name, place);
    const alone = spans.filter(({ label }) => label === name).length === 1;
    return alone ? span : { ...span, label: `${name} ${place}` };
  });
}

/** Spans with their entropies and weights, and advantages after modulation. `found` has their names. */
function modulated(rollouts: readonly ReportRollout[], { tokens, offsets }: Packed, found: readonly (readonly ReportSpan[])[], options: SpanOptions, backend: BackendOption): ReportRollout[] {
  const entropies = Float64Array.from(concatenated(rollouts.map((rollout) => rollout.entropies!)));
  const advantages = Float64Array.from(concatenated(rollouts.map((rollout) => rollout.advantages!)));
  const mask = Uint8Array.from(concatenated(rollouts.map((rollout) => rollout.mask ?? new Uint8Array(rollout.tokenIds!.length).fill(1))));
  const result = empgAdvantage({ offsets, tokens, entropies, advantages, mask }, { ...options, ...backend });
  const rows = spansOfRows(rollouts.length, result.spans, (span, row, begin) => ({
    entropy: result.stepEntropies[span]!,
    scale: result.scales[span]!,
    clarity: result.clarities[span]!,
    before: advantages[offsets[row]! + begin]!,
    after: result.advantages[offsets[row]! + begin]!,
    ...named(found[row]!, begin),
  }));
  return rollouts.map((rollout, row) => ({
    ...rollout,
    advantages: Float64Array.from(result.advantages.subarray(offsets[row], offsets[row + 1])),
    spans: rows[row]!,
  }));
}

/** The name of the span that begins there. */
function named(found: readonly ReportSpan[], begin: number): Pick<ReportSpan, "label"> {
  const label = found.find((span) => span.begin === begin)?.label;
  return label === undefined ? {} : { label };
}

function withSpans(rollouts: readonly ReportRollout[], options: PrepareOptions): ReportRollout[] {
  const { spans, backend } = options;
  const chosen: BackendOption = backend ? { backend } : {};
  const tokenized = rollouts.filter(({ tokenIds }) => tokenIds !== undefined);
  if (spans === undefined || tokenized.length === 0) return [...rollouts];
  const batch = packed(tokenized);
  const found = foundSpans(tokenized, batch, options, chosen);
  const known = tokenized.every(({ entropies, advantages }) => entropies && advantages);
  const done = known ? modulated(tokenized, batch, found, spans, chosen) : tokenized.map((rollout, row) => ({ ...rollout, spans: found[row]! }));
  const places = new Map(tokenized.map((rollout, i) => [rollout, done[i]!]));
  return rollouts.map((rollout) => places.get(rollout) ?? rollout);
}

function withClipping(rollout: ReportRollout, low: number, high: number): ReportRollout {
  const ratios = ratiosOf(rollout);
  const { advantages, clipped } = rollout;
  if (clipped || !ratios || !advantages) return rollout;
  const clip = (ratio: number, advantage: number): number => (advantage > 0 && ratio > 1 + high ? 1 : advantage < 0 && ratio < 1 - low ? -1 : 0);
  return { ...rollout, clipped: Int8Array.from(ratios, (ratio, t) => clip(ratio, advantages[t]!)) };
}

/** Rollouts by training step, ascending; those without one come first. */
function byStep(rollouts: readonly Rollout[], label: string): { readonly label: string; readonly rollouts: Rollout[] }[] {
  const steps = new Map<number | undefined, Rollout[]>();
  for (const rollout of rollouts) {
    const known = steps.get(rollout.step);
    if (known) known.push(rollout);
    else steps.set(rollout.step, [rollout]);
  }
  // Of entries: a list of keys would have undefined last, whatever the comparison says.
  const order = [...steps].sort(([a], [b]) => (a ?? -Infinity) - (b ?? -Infinity));
  return order.map(([step, own]) => ({ label: step === undefined ? label : `${label} ${step}`, rollouts: own }));
}

/**
 * Rollouts as a reader gives them → steps for `summarize` and `renderHtml`: one a training step, with what the records do not say and
 * what follows from them:
 *
 *     advantages   as recorded per token or per completion; else of the rewards, relative to the group (`groupAdvantage`)
 *     spans        between the delimiters of `options.spans`; with entropies also their weights and modulated advantages
 *                  (`empgAdvantage`, over the steps of the batch that is one training step)
 *     clipped      where the ratio is known: above 1 + clipHigh for a positive advantage, below 1 − clipLow for a negative one
 *
 * @param rollouts of one or several training steps
 * @throws SurprisalError as `groupAdvantage`, `findSpans` and `empgAdvantage` do
 */
export function prepareSteps(rollouts: readonly Rollout[], options: PrepareOptions = {}): ReportStep[] {
  const low = needNumber("prepareSteps", "clipLow", options.clipLow ?? 0.2, { min: 0 });
  const high = needNumber("prepareSteps", "clipHigh", options.clipHigh ?? 0.2, { min: 0 });
  return byStep(rollouts, options.label ?? "step").map((step) => ({
    label: step.label,
    rollouts: withSpans(withAdvantages(step.rollouts, options), options).map((rollout) => withClipping(rollout, low, high)),
  }));
}

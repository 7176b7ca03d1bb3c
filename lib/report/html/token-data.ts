// The rollouts whose tokens can be looked at, as columns for the page's script. Text is made visible here, so that the script
// never sees a character that acts.
import { tokenCount } from "../../io/record";
import { ratiosOf } from "../measures";
import type { ReportRollout, ReportSpan, ReportStep } from "../model";
import type { HtmlOptions } from "../render-options";
import type { StepSummary, Summary } from "../summary";
import { clipped, label, visible } from "../visible";
import { inTurn, type Place } from "./in-turn";
import { lines } from "./rollout-text";

export type Caps = Required<Pick<HtmlOptions, "maxRollouts" | "maxTokens" | "maxTokenCharacters">>;

const LONGEST_PROMPT = 4000;
const LONGEST_TEXT = 20_000;

/** Rounded to four digits; null for what is not finite. */
type Column = readonly (number | null)[];

interface PageSpan {
  readonly begin: number;
  readonly finish: number;
  readonly label: string;
  readonly entropy?: number | null;
  readonly scale?: number | null;
  readonly clarity?: number | null;
  readonly before?: number | null;
  readonly after?: number | null;
}

/** One rollout on the page. Columns are absent where the rollout has no such numbers. */
interface PageRollout {
  /** Its place among the rollouts of its step. */
  readonly index: number;
  readonly group: string;
  readonly reward: number | null;
  readonly finish: string;
  readonly prompt: string;
  /** Tokens that it has; the columns may hold fewer. */
  readonly total: number;
  /** Shown in place of tokens where it has none. */
  readonly text: string;
  /** Indices into `pieces`. */
  readonly pieces: readonly number[];
  readonly ids?: readonly number[];
  /** 1 for tokens that are not the policy's. */
  readonly masked?: readonly number[];
  readonly logProbs?: Column;
  readonly sampler?: Column;
  readonly entropies?: Column;
  readonly advantages?: Column;
  readonly ratios?: Column;
  readonly clipped?: readonly number[];
  readonly spans: readonly PageSpan[];
}

export interface PageData {
  /** Distinct texts of tokens, visible. */
  readonly pieces: readonly string[];
  /** Whether the piece ends a line. */
  readonly breaks: readonly number[];
  readonly steps: readonly { readonly label: string; readonly rollouts: readonly PageRollout[] }[];
  /** Where the scales end: nats of the background, |advantage| of the underline. */
  readonly scales: { readonly nats: number; readonly advantage: number };
}

const short = (value: number): number | null => (Number.isFinite(value) ? Number(value.toPrecision(4)) : null);

/** Texts of tokens by number. */
class Pieces {
  readonly texts: string[] = [];
  readonly breaks: number[] = [];
  private readonly known = new Map<string, number>();

  constructor(private readonly limit: number) {}

  number(text: string): number {
    const known = this.known.get(text);
    if (known !== undefined) return known;
    const { text: kept, left } = clipped(text, this.limit);
    this.texts.push(left > 0 ? `${visible(kept)}… (${left} more characters)` : visible(kept));
    this.breaks.push(/[\n\r\u2028\u2029]$/.test(text) ? 1 : 0);
    this.known.set(text, this.texts.length - 1);
    return this.texts.length - 1;
  }
}

/** Begin and finish are tokens; everything else is a number that may be absent. */
function pageSpan({ begin, finish, label: name, ...numbers }: ReportSpan, place: number, count: number): PageSpan {
  const rounded = Object.entries(numbers).flatMap(([key, value]: [string, number | undefined]) =>
    value === undefined ? [] : [[key, short(value)] as const],
  );
  return {
    begin,
    finish: Math.min(finish, count),
    label: name === undefined ? `step ${place + 1}` : label(name, 40),
    ...Object.fromEntries(rounded),
  };
}

function pageRollout(rollout: ReportRollout, index: number, group: string, count: number, pieces: Pieces): PageRollout {
  const { tokens, tokenIds, mask, recomputedLogProbs, oldLogProbs, samplerLogProbs } = rollout;
  const first = <T>(values: ArrayLike<T>): T[] => Array.from({ length: count }, (_, t) => values[t]!);
  const column = (values: ArrayLike<number> | undefined): Column | undefined => values && first(values).map(short);
  const trainer = recomputedLogProbs ?? oldLogProbs;
  const columns = {
    ids: tokenIds && first(tokenIds),
    masked: mask?.includes(0) ? first(mask).map((flag) => (flag === 0 ? 1 : 0)) : undefined,
    logProbs: column(trainer ?? samplerLogProbs),
    sampler: trainer && column(samplerLogProbs),
    entropies: column(rollout.entropies),
    advantages: column(rollout.advantages),
    ratios: column(ratiosOf(rollout)),
    clipped: rollout.clipped && first(rollout.clipped).map(Math.sign),
  };
  const text = count > 0 ? undefined : rollout.text;
  return {
    index,
    group: label(group),
    reward: rollout.reward === undefined ? null : short(rollout.reward),
    finish: label(rollout.finishReason ?? "", 40),
    prompt: lines(rollout.prompt, LONGEST_PROMPT),
    total: tokenCount(rollout) ?? 0,
    text: lines(text, LONGEST_TEXT),
    pieces: Array.from({ length: count }, (_, t) =>
      pieces.number(tokens ? tokens[t]! : tokenIds ? String(tokenIds[t]) : "□"),
    ),
    ...Object.fromEntries(Object.entries(columns).filter(([, values]) => values !== undefined)),
    spans: (rollout.spans ?? [])
      .filter(({ begin }) => begin < count)
      .map((span, place) => pageSpan(span, place, count)),
  };
}

function chosen(
  step: ReportStep,
  summary: StepSummary,
  caps: Caps,
  budget: number,
): (Place & { readonly count: number })[] {
  const taken: (Place & { readonly count: number })[] = [];
  let left = budget;
  for (const place of inTurn(summary)) {
    if (taken.length === caps.maxRollouts) break;
    const total = tokenCount(step.rollouts[place.index]!) ?? 0;
    if (total > left && taken.length > 0) continue;
    const count = Math.min(total, left);
    left -= count;
    taken.push({ ...place, count });
  }
  return taken.sort((a, b) => a.place - b.place || a.index - b.index);
}

/** Nats: for surprisals alone. A token of 5 % has that. */
const SCALE_WITHOUT_ENTROPIES = 3;

/** Where the background reaches its full colour: a quarter above the 95th percentile, so that one outlier does not pale the rest. */
function natsScale({ steps }: Summary): number {
  const ends = steps.flatMap(({ distributions }) => distributions.entropy?.p95 ?? []);
  const end = ends.reduce((most, one) => Math.max(most, one), 0);
  return end > 0 ? Number((end * 1.25).toPrecision(2)) : SCALE_WITHOUT_ENTROPIES;
}

function advantageScale({ steps }: Summary): number {
  const ends = steps.flatMap(({ distributions: { advantage } }) =>
    advantage ? [Math.abs(advantage.p5), Math.abs(advantage.p95)] : [],
  );
  return ends.reduce((most, one) => Math.max(most, one), 0) || 1;
}

export function pageData(steps: readonly ReportStep[], summary: Summary, caps: Caps): PageData {
  const pieces = new Pieces(caps.maxTokenCharacters);
  const budget = Math.floor(caps.maxTokens / Math.max(steps.length, 1));
  const pages = steps.map((step, s) => ({
    label: label(step.label),
    rollouts: chosen(step, summary.steps[s]!, caps, budget).map(({ index, group, count }) =>
      pageRollout(step.rollouts[index]!, index, group, count, pieces),
    ),
  }));
  return {
    pieces: pieces.texts,
    breaks: pieces.breaks,
    steps: pages,
    scales: { nats: natsScale(summary), advantage: advantageScale(summary) },
  };
}

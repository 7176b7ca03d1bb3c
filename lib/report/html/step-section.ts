// Everything of one step but its tokens: warnings, numbers, distributions, groups.
import { counted, shortNumber } from "../numbers";
import type { ReportStep } from "../model";
import type { Course } from "../scalars";
import { type Measure, MEASURES, type StepSummary, type Summary } from "../summary";
import { label } from "../visible";
import { histogramChart, sparkline } from "./charts";
import { groupTable } from "./group-table";
import { type TextCaps, textSection } from "./text-section";
import { html, type Markup, nothing } from "./markup";

const NAMES: Readonly<Record<Measure, string>> = {
  reward: "Reward",
  length: "Length",
  entropy: "Entropy",
  advantage: "Advantage",
  ratio: "Importance ratio",
};
const UNITS: Readonly<Record<Measure, string>> = {
  reward: "per rollout",
  length: "tokens per rollout",
  entropy: "nats per token",
  advantage: "per token",
  ratio: "per token",
};

function tiles(courses: readonly Course[], current: number): Markup {
  const shown = courses.flatMap(({ title, series, show, unit }) => {
    const here = series[current] ?? null;
    if (here === null) return [];
    return [
      html`<div class="tile"><dt>${label(title, 40)}</dt><dd>${show(here)}${unit === undefined ? nothing : html` <small>${unit}</small>`}</dd>${sparkline(series, current)}</div>
`,
    ];
  });
  return shown.length === 0 ? nothing : html`<dl class="tiles">${shown}</dl>`;
}

function warnings({ warnings: list }: StepSummary): Markup {
  if (list.length === 0) return html`<p class="calm">Nothing to warn of.</p>`;
  const items = list.map(
    ({ severity, message }) =>
      html`<li class="${severity}"><span class="sign" aria-hidden="true"></span><span><span class="unseen">${severity}: </span>${message}</span></li>
`,
  );
  return html`<ul class="warnings" aria-label="Warnings">${items}</ul>`;
}

function distributions(summary: Summary, current: number): Markup {
  const { distributions: here } = summary.steps[current]!;
  const first = current > 0 ? summary.steps[0]!.distributions : null;
  const cards = MEASURES.flatMap((measure) => {
    const known = here[measure];
    if (known === null) return [];
    const { mean, std, min, max } = known;
    return [
      html`<figure class="card"><figcaption><b>${NAMES[measure]}</b> <span>${UNITS[measure]}</span></figcaption>
${histogramChart(measure, NAMES[measure], known, first?.[measure] ?? null)}
<p class="figures"><span><b>${shortNumber(mean)}</b> ± ${shortNumber(std)}</span><span>${shortNumber(min)} … ${shortNumber(max)}</span></p></figure>
`,
    ];
  });
  if (cards.length === 0) return nothing;
  const ghost = first ? html` The thin outline is the first step.` : nothing;
  return html`<h3>Distributions</h3><div class="cards">${cards}</div>
<p class="note">Dashed line: mean. Thick line on the axis: 5 % to 95 %. The bars at the ends hold what lies beyond them.${ghost}</p>`;
}

export interface SectionOptions {
  /** But for the one that the page opens with. */
  readonly hidden: boolean;
  readonly maxGroups: number;
  /** The rollouts whose tokens can be looked at; undefined where there are only texts. */
  readonly onPage: ReadonlySet<number> | undefined;
  readonly texts: TextCaps;
  /** Of every scalar of the summary. */
  readonly courses: readonly Course[];
}

/** The section of step number `current`. */
export function stepSection(
  step: ReportStep,
  summary: Summary,
  current: number,
  { hidden, maxGroups, onPage, texts, courses }: SectionOptions,
): Markup {
  const own = summary.steps[current]!;
  const sizes = [counted(own.rollouts, "rollout"), counted(own.groups.length, "group")];
  if (own.tokens > 0) sizes.push(counted(own.keptTokens, "token"));
  if (own.spans > 0) sizes.push(counted(own.spans, "span"));
  const table = groupTable(step, own, current, maxGroups, onPage);
  return html`<section class="step" data-step="${current}" aria-labelledby="step-${current}"${hidden ? html` hidden` : nothing}>
<h2 id="step-${current}"><bdi>${label(own.label)}</bdi> <small>${sizes.join(" · ")}</small></h2>
${warnings(own)}
${tiles(courses, current)}
${distributions(summary, current)}
${own.groups.length > 0 ? html`<h3>Groups</h3>${table}` : nothing}
${textSection(step, own, current, texts)}
</section>
`;
}

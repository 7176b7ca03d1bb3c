// The rollouts of a step, group by group: prompts and responses are the body of the page.
import { figuresOf } from "../figures";
import { counted, shortNumber } from "../numbers";
import type { ReportStep } from "../model";
import type { GroupSummary, StepSummary } from "../summary";
import { label } from "../visible";
import { inTurn } from "./in-turn";
import { html, type Markup, nothing } from "./markup";
import { fieldsOf, lines, rolloutText, textOf } from "./rollout-text";

function tools(step: ReportStep, current: number): Markup {
  const figures = new Set<string>();
  const fields = new Set<string>();
  for (const rollout of step.rollouts) {
    for (const name of figuresOf(rollout).keys()) figures.add(name);
    for (const [name] of fieldsOf(rollout)) fields.add(name);
  }
  const names = new Set([...figures, ...fields]);
  const sorts = Array.from(names, (name) => html`<option value="${label(name)}">${label(name, 32)}</option>`);
  const id = `texts-${current}`;
  return html`<div class="toolbar text-tools needs-script"><label for="${id}-search">Search</label><input type="search" id="${id}-search" class="search" placeholder="words, or reward &gt; 0.5" title="Words of a prompt, a response or a field; or a field, one of = &lt; &gt; &lt;= &gt;=, and a value" aria-keyshortcuts="/">
<label for="${id}-sort">Sort by</label><select id="${id}-sort" class="sort-by"><option value="">groups, as recorded</option>${sorts}</select><button type="button" class="turn-round" aria-pressed="false">Smallest first</button>
<label for="${id}-show">Show</label><select id="${id}-show" class="show"><option value="all">all</option><option value="best">best of each group</option><option value="worst">worst of each group</option><option value="cut">cut off</option></select>
<output class="found" for="${id}-search ${id}-show"></output></div>`;
}

/** Goes from page to page where there are several. */
function pageTurner(current: number): Markup {
  const id = `texts-${current}-page`;
  return html`<div class="toolbar page-turner needs-script" role="group" aria-label="Pages of rollouts" hidden><button type="button" class="page-back" aria-label="Previous page">‹</button><label for="${id}">Page</label><select id="${id}" class="page"></select><button type="button" class="page-on" aria-label="Next page">›</button></div>`;
}

/** The rollouts of one group that stand together; `prompt` is its text. */
function groupTexts(
  group: GroupSummary,
  prompt: Markup,
  articles: readonly Markup[],
  place: number,
  part: string,
): Markup {
  const apart = group.rewardMin !== null && group.rewardMin !== group.rewardMax;
  const pair = apart
    ? html`<button type="button" class="pair-up needs-script" aria-pressed="false">Best against worst</button>`
    : nothing;
  return html`<section class="group-texts" data-group="${place}"><h4><bdi>${label(group.name)}</bdi> <small><bdi>${label(group.group, 48)}</bdi> · ${counted(group.rollouts.length, "rollout")}${part}</small>${pair}</h4>
${prompt}<div class="responses">${articles}</div></section>
`;
}

export interface TextCaps {
  /** Rollouts of this step whose text is in the file. */
  readonly most: number;
  /** Of these, rollouts that are part of the page when it opens; the script has the others. */
  readonly first: number;
  /** Rollouts that the script shows at a time. */
  readonly atOnce: number;
  /** Characters of a text. */
  readonly characters: number;
  /** Characters of markup in all texts of this step. */
  readonly room: number;
}

const promptOf = (step: ReportStep, { rollouts }: GroupSummary, { characters }: TextCaps): Markup => {
  const { prompt } = step.rollouts[rollouts[0]!]!;
  return prompt === undefined
    ? nothing
    : html`<details class="prompt" open><summary>Prompt</summary><pre dir="auto" tabindex="0">${lines(prompt, characters)}</pre></details>`;
};

/** The articles of the rollouts that there is room for, by rollout, and the prompts of their groups, by group: some of every group first. */
function keptTexts(step: ReportStep, own: StepSummary, current: number, caps: TextCaps) {
  const articles = new Map<number, Markup>();
  const prompts = new Map<number, Markup>();
  let { room } = caps;
  for (const { index, place } of inTurn(own)) {
    if (articles.size === caps.most) break;
    const group = own.groups[place]!;
    const prompt = prompts.get(place) ?? promptOf(step, group, caps);
    const article = rolloutText(step, index, `${current}/${index}`, label(group.name), caps.characters);
    room -= article.source.length + (prompts.has(place) ? 0 : prompt.source.length);
    if (room < 0 && articles.size > 0) break;
    articles.set(index, article);
    prompts.set(place, prompt);
  }
  return { articles, prompts };
}

/** The groups with what is kept of them; a group of more than `first` rollouts in several parts. `size` is how many are in a part. */
function groupParts(own: StepSummary, { articles, prompts }: ReturnType<typeof keptTexts>, first: number) {
  return own.groups.flatMap((group, place) => {
    const members = group.rollouts.filter((index) => articles.has(index));
    return Array.from({ length: Math.ceil(members.length / first) }, (_, p) => {
      const part = members.slice(p * first, (p + 1) * first);
      const which = members.length > first ? `, ${p * first + 1} to ${p * first + part.length}` : "";
      const own = part.map((index) => articles.get(index)!);
      return { size: part.length, markup: groupTexts(group, prompts.get(place)!, own, place, which) };
    });
  });
}

/** Prompts and responses of step number `current`; nothing where no text is known. */
export function textSection(step: ReportStep, own: StepSummary, current: number, caps: TextCaps): Markup {
  const known = step.rollouts.some((rollout) => rollout.prompt !== undefined || textOf(rollout) !== undefined);
  if (!known || caps.most === 0) return nothing;
  const kept = keptTexts(step, own, current, caps);
  const first = Math.max(1, caps.first);
  let begun = 0;
  const parts = groupParts(own, kept, first).map((part) => ({ ...part, later: (begun += part.size) > first }));
  const at = parts.findIndex(({ later }) => later);
  const [now, later] = at < 0 ? [parts, []] : [parts.slice(0, at), parts.slice(at)];
  const { size } = kept.articles;
  const left = step.rollouts.length - size;
  const cap =
    left > 0
      ? html`<p class="cap">The texts of ${counted(size, "rollout")} out of ${shortNumber(step.rollouts.length)} are here, some of every group first.</p>`
      : nothing;
  const pages =
    later.length > 0
      ? html`<template class="later-texts">${later.map(({ markup }) => markup)}</template>
<noscript><p class="cap">Scripts are off: the first of ${counted(size, "rollout")} are here.</p></noscript>`
      : nothing;
  return html`<h3 id="texts-${current}">Rollouts</h3>
${tools(step, current)}
${later.length > 0 ? pageTurner(current) : nothing}<div class="texts" data-at-once="${caps.atOnce}"><div class="sorted" hidden></div>${now.map(({ markup }) => markup)}</div>
${pages}${cap}<p class="note needs-script"><kbd>j</kbd> and <kbd>k</kbd> go to the next rollout and the one before, <kbd>/</kbd> to the search.</p>`;
}

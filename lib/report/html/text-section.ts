// The rollouts of a step, group by group: prompts and responses are the body of the page.
import { figuresOf } from "../figures";
import { counted } from "../numbers";
import type { ReportStep } from "../model";
import type { GroupSummary, StepSummary } from "../summary";
import { label } from "../visible";
import { inTurn } from "./in-turn";
import { html, type Markup, nothing } from "./markup";
import { lines, rolloutText, textOf } from "./rollout-text";

function tools(step: ReportStep, current: number): Markup {
  const names = new Set(step.rollouts.flatMap((rollout) => Array.from(figuresOf(rollout).keys())));
  const sorts = Array.from(names, (name) => html`<option value="${label(name)}">${label(name, 32)}</option>`);
  const id = `texts-${current}`;
  return html`<div class="toolbar text-tools needs-script"><label for="${id}-search">Search</label><input type="search" id="${id}-search" class="search" placeholder="words of a prompt or response" aria-keyshortcuts="/">
<label for="${id}-sort">Sort by</label><select id="${id}-sort" class="sort-by"><option value="">groups, as recorded</option>${sorts}</select><button type="button" class="turn-round" aria-pressed="false">Smallest first</button>
<label for="${id}-show">Show</label><select id="${id}-show" class="show"><option value="all">all</option><option value="best">best of each group</option><option value="worst">worst of each group</option><option value="cut">cut off</option></select>
<output class="found" for="${id}-search ${id}-show"></output></div>`;
}

function groupTexts(
  group: GroupSummary,
  members: readonly number[],
  step: ReportStep,
  current: number,
  limit: number,
): Markup {
  const name = label(group.name);
  const { prompt } = step.rollouts[group.rollouts[0]!]!;
  const sizes = [label(group.group, 48), counted(group.rollouts.length, "rollout")];
  const apart = group.rewardMin !== null && group.rewardMin !== group.rewardMax;
  const pair = apart
    ? html`<button type="button" class="pair-up needs-script" aria-pressed="false">Best against worst</button>`
    : nothing;
  const shown =
    prompt === undefined
      ? nothing
      : html`<details class="prompt" open><summary>Prompt</summary><pre dir="auto" tabindex="0">${lines(prompt, limit)}</pre></details>`;
  return html`<section class="group-texts"><h4><bdi>${name}</bdi> <small><bdi>${sizes[0]}</bdi> · ${sizes[1]}</small>${pair}</h4>
${shown}<div class="responses">${members.map((index) => rolloutText(step, index, `${current}/${index}`, name, limit))}</div></section>
`;
}

export interface TextCaps {
  /** Rollouts of this step whose text is on the page. */
  readonly most: number;
  /** Characters of a text. */
  readonly characters: number;
}

/** Prompts and responses of step number `current`; nothing where no text is known. */
export function textSection(step: ReportStep, own: StepSummary, current: number, caps: TextCaps): Markup {
  const known = step.rollouts.some((rollout) => rollout.prompt !== undefined || textOf(rollout) !== undefined);
  if (!known || caps.most === 0) return nothing;
  const kept = new Set(
    inTurn(own)
      .slice(0, caps.most)
      .map(({ index }) => index),
  );
  const groups = own.groups.flatMap((group) => {
    const members = group.rollouts.filter((index) => kept.has(index));
    return members.length === 0 ? [] : [groupTexts(group, members, step, current, caps.characters)];
  });
  const left = step.rollouts.length - kept.size;
  const cap =
    left > 0
      ? html`<p class="cap">The texts of ${counted(kept.size, "rollout")} out of ${step.rollouts.length} are here, some of every group first.</p>`
      : nothing;
  return html`<h3 id="texts-${current}">Rollouts</h3>
${tools(step, current)}
<div class="texts"><div class="sorted" hidden></div>${groups}</div>
${cap}<p class="note needs-script"><kbd>j</kbd> and <kbd>k</kbd> go to the next rollout and the one before, <kbd>/</kbd> to the search.</p>`;
}

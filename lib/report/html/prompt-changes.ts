// Which prompts got better or worse, and what the runs answered them.
import type { Comparison, PromptChange } from "../compare/comparison";
import type { Run } from "../model";
import { counted, shortNumber, signedNumber } from "../numbers";
import { promptNames } from "../prompt-names";
import { label } from "../visible";
import { runSwatch } from "./curve-chart";
import { html, type Markup, nothing } from "./markup";
import { lines, textOf } from "./rollout-text";
import { heading } from "./sortable";

/** Prompts whose responses are on the page. */
const MOST_TEXTS = 24;

/** `text` as a link to a place on the page of a run, where there is one. */
export type RunLink = (run: number, place: string, text: Markup) => Markup;

/** What each change is called. */
type Names = ReadonlyMap<PromptChange, string>;

function namesOf(changes: readonly PromptChange[]): Names {
  const names = promptNames(changes.map(({ prompt }) => prompt));
  return new Map(changes.map((change, i) => [change, label(names[i] ?? change.prompt)]));
}

function changesTable({ runs, prompts }: Comparison, names: Names, most: number): Markup {
  const rows = prompts.slice(0, most).map((change) => {
    const rewards = change.rewards.map(
      (reward, run) =>
        html`<td class="number" data-value="${reward ?? ""}">${reward === null ? "–" : html`${shortNumber(reward)} <small>of ${change.counts[run]}</small>`}</td>`,
    );
    const way = change.difference > 0 ? "better" : change.difference < 0 ? "worse" : "same";
    return html`<tr class="${way}"><th scope="row" data-value="${names.get(change)}"><bdi>${names.get(change)}</bdi></th>${rewards}<td class="number" data-value="${change.difference}">${signedNumber(change.difference)}</td></tr>
`;
  });
  const left = prompts.length - rows.length;
  const cap =
    left > 0
      ? html`<p class="cap">The ${counted(rows.length, "prompt")} that changed most, out of ${shortNumber(prompts.length)}.</p>`
      : nothing;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Prompts"><table class="groups"><caption class="unseen">Mean rewards by prompt. Buttons in the header sort.</caption>
<thead><tr>${heading("Prompt", "text")}${runs.map(({ name }) => heading(label(name, 40), "number"))}${heading("Change", "number")}</tr></thead>
<tbody>
${rows}</tbody></table></div>${cap}`;
}

function responses(change: PromptChange, name: string, runs: readonly Run[], linkOf: RunLink, limit: number): Markup {
  const shown = change.best.map((place, run) => {
    const title = html`<h5>${runSwatch(run)}<bdi>${label(runs[run]!.name, 40)}</bdi></h5>`;
    if (place === null)
      return html`<div class="answer">${title}<p class="calm">It does not have this prompt.</p></div>`;
    const [step, index] = place;
    const rollout = runs[run]!.steps[step]!.rollouts[index]!;
    const text = textOf(rollout);
    const said =
      text === undefined
        ? html`<p class="calm">No text was recorded.</p>`
        : html`<pre class="response" dir="auto" tabindex="0">${lines(text, limit)}</pre>`;
    const reward = rollout.reward === undefined ? nothing : html` · reward ${shortNumber(rollout.reward)}`;
    return html`<div class="answer">${title}<p class="figures"><span>${linkOf(run, `#${step}/${index}`, html`${label(runs[run]!.steps[step]!.label, 40)}, rollout ${index + 1}`)}${reward}</span></p>${said}</div>`;
  });
  return html`<details class="change"><summary><b>${signedNumber(change.difference)}</b> <bdi>${name}</bdi></summary><pre class="prompt-text" dir="auto" tabindex="0">${lines(change.prompt, limit)}</pre><div class="answers">${shown}</div></details>
`;
}

/** The table of prompts, then the best response of each run to those that changed most. */
export function promptChanges(
  comparison: Comparison,
  runs: readonly Run[],
  linkOf: RunLink,
  most: number,
  limit: number,
): Markup {
  const { prompts } = comparison;
  if (prompts.length === 0) return html`<p class="calm">No prompt with rewards is in two runs.</p>`;
  const better = prompts.filter(({ difference }) => difference > 0).length;
  const names = namesOf(prompts);
  const worse = prompts.filter(({ difference }) => difference < 0).length;
  const texts = prompts
    .slice(0, Math.min(most, MOST_TEXTS))
    .filter(({ best }) =>
      best.some(
        (place, run) => place !== null && textOf(runs[run]!.steps[place[0]]!.rollouts[place[1]]!) !== undefined,
      ),
    );
  const told =
    texts.length === 0
      ? nothing
      : html`<h4>The best response of each run</h4>${texts.map((change) => responses(change, names.get(change)!, runs, linkOf, limit))}`;
  return html`<p class="note">${better} better, ${worse} worse, ${prompts.length - better - worse} the same, of ${counted(prompts.length, "prompt")} in common.</p>
${changesTable(comparison, names, most)}${told}`;
}

// Runs side by side as one HTML file.
import { needNumber } from "../../core/option-checks";
import { compareRuns } from "../compare/compare-runs";
import type { Comparison } from "../compare/comparison";
import type { Run } from "../model";
import { counted } from "../numbers";
import type { ComparisonHtmlOptions } from "../render-options";
import { label } from "../visible";
import { curveChart, runSwatch } from "./curve-chart";
import { differenceTable } from "./difference-table";
import { documentOf } from "./document";
import { type Live, liveControl, livePages, liveProblems } from "./live";
import { html, type Markup, nothing } from "./markup";
import { promptChanges, type RunLink } from "./prompt-changes";

function runList({ runs }: Comparison, linkOf: RunLink): Markup {
  const items = runs.map(
    ({ name, steps, rollouts }, i) =>
      html`<li>${runSwatch(i)}<b>${linkOf(i, "", html`<bdi>${label(name, 60)}</bdi>`)}</b> <span>${counted(steps, "step")}, ${counted(rollouts, "rollout")}${i === 0 ? "; the others are compared with it" : ""}</span></li>`,
  );
  return html`<ul class="runs">${items}</ul>`;
}

/**
 * Returns runs side by side as one HTML document that needs nothing else: every scalar as curves over training steps, differences from
 * the first run with bootstrap intervals, and which prompts got better or worse with the best response of each run. What it promises
 * about hostile text, light and dark is what `renderHtml` promises.
 *
 * @param runs two or more; the first is what the others are compared with
 * @param options of `compareRuns`, and `title`, `facts`, `maxPrompts`, `maxTextCharacters`
 * @returns the document, to be written as UTF-8
 * @throws SurprisalError as `compareRuns` does
 */
export function renderComparison(runs: readonly Run[], options: ComparisonHtmlOptions = {}): string {
  return document("renderComparison", runs, options);
}

/** As `renderComparison`, for a server: the page asks it for news of the runs, and links lead to the pages of the runs. */
export function renderLiveComparison(runs: readonly Run[], live: Live, options: ComparisonHtmlOptions = {}): string {
  return document("renderLiveComparison", runs, options, live);
}

function document(op: string, runs: readonly Run[], options: ComparisonHtmlOptions, live?: Live): string {
  const { title, facts, maxPrompts, maxTextCharacters, ...comparing } = options;
  const most = needNumber(op, "maxPrompts", maxPrompts ?? 200, { min: 0, integer: true });
  const limit = needNumber(op, "maxTextCharacters", maxTextCharacters ?? 20_000, { min: 1, integer: true });
  const comparison = compareRuns(runs, comparing);
  const names = comparison.runs.map(({ name }) => name);
  const curves = comparison.curves.map((curve) => curveChart(curve, names));
  // The first page is this one.
  const pages = live?.pages?.slice(1) ?? [];
  const linkOf: RunLink = (run, place, text) =>
    pages[run] === undefined ? text : html`<a href="${pages[run].path}${place}">${text}</a>`;
  const above = live ? html`${livePages(live)}${liveProblems(live)}` : nothing;
  const body = html`${above}<section class="comparison" aria-labelledby="runs"><h2 id="runs">Runs <small>${counted(names.length, "run")}</small></h2>
${runList(comparison, linkOf)}
<h3>Curves</h3>${curves.length > 0 ? html`<div class="cards curve-cards">${curves}</div>` : html`<p class="calm">There is no number to draw.</p>`}
<h3>Differences</h3>${differenceTable(comparison)}
<h3>Prompts</h3>${promptChanges(comparison, runs, linkOf, most, limit)}
</section>
`;
  return documentOf({
    title: label(title ?? names.join(" · "), 120),
    skip: ["main", "curves"],
    controls: live ? liveControl(live) : nothing,
    withoutScripts: html`Scripts are off: tables cannot be sorted.${live ? html` Loading the page again shows what is new.` : nothing}`,
    body,
    facts,
    data: { pieces: [], breaks: [], steps: [], scales: { nats: 1, advantage: 1 } },
    live: live !== undefined,
  });
}

// The report as one HTML file.
import { needNumber } from "../../core/option-checks";
import { checkSteps } from "../check";
import type { Report } from "../model";
import { counted, shortNumber } from "../numbers";
import type { HtmlOptions } from "../render-options";
import { coursesOf } from "../scalars";
import { summarizeChecked } from "../summarize";
import type { Summary } from "../summary";
import { label } from "../visible";
import { documentOf } from "./document";
import { type Live, liveControl, livePages, liveProblems } from "./live";
import { html, type Markup, nothing } from "./markup";
import { stepSection } from "./step-section";
import { type PageData, pageData } from "./token-data";
import { tokenSection } from "./token-section";

/** Characters of markup in all texts: a file that browsers open, and far from the longest string that there can be. */
const TEXT_ROOM = 200e6;

type PageCaps = Required<Omit<HtmlOptions, "limits" | "correctAbove">>;

function capsOf(op: string, options: HtmlOptions): PageCaps {
  const whole = (name: keyof PageCaps, fallback: number, min: number): number =>
    needNumber(op, name, options[name] ?? fallback, { min, integer: true });
  return {
    maxGroups: whole("maxGroups", 200, 0),
    maxTexts: whole("maxTexts", 100_000, 0),
    textsAtOnce: whole("textsAtOnce", 10_000, 1),
    maxTextCharacters: whole("maxTextCharacters", 20_000, 1),
    maxRollouts: whole("maxRollouts", 128, 0),
    maxTokens: whole("maxTokens", 400_000, 1),
    maxTokenCharacters: whole("maxTokenCharacters", 200, 1),
  };
}

function slider({ steps }: Summary): Markup {
  if (steps.length < 2) return nothing;
  const last = steps.length - 1;
  return html`<div class="slider needs-script"><button type="button" id="step-back" aria-label="Previous step">‹</button>
<label for="step-slider">Step</label><input id="step-slider" type="range" aria-label="Step" min="0" max="${last}" step="1" value="${last}" aria-valuetext="${label(steps[last]!.label)}, ${steps.length} of ${steps.length}">
<button type="button" id="step-on" aria-label="Next step">›</button><output id="step-name" for="step-slider">${label(steps[last]!.label, 32)}</output></div>`;
}

function kept({ steps }: Report, data: PageData): string {
  const all = steps.reduce((sum, { rollouts }) => sum + rollouts.length, 0);
  const shown = data.steps.flatMap(({ rollouts }) => rollouts);
  const cut = shown.filter(({ total, pieces }) => pieces.length < total).length;
  const rollouts =
    shown.length === all
      ? `The tokens of all ${counted(all, "rollout")} are here.`
      : `The tokens of ${counted(shown.length, "rollout")} out of ${shortNumber(all)} are here; the numbers above are of all.`;
  return cut > 0 ? `${rollouts} ${counted(cut, "rollout")} ${cut === 1 ? "is" : "are"} cut to what fits.` : rollouts;
}

/**
 * The report as one HTML document that needs nothing else: summary and warnings, distributions, a sortable table of groups, prompts
 * and responses that can be searched, sorted and compared, and the tokens of rollouts with entropies, advantages, ratios, clipping and spans; a slider where there are several steps. Light and dark as
 * the reader's system is. Text of models is shown as text: everything is escaped, characters that act are made visible, and a
 * Content-Security-Policy lets neither foreign script nor any request through.
 *
 * Rows, rollouts and tokens beyond the limits are left out, and the page says how many.
 *
 * @param report steps in the order of the run; the page opens with the last
 * @param options `maxGroups`, `maxTexts`, `textsAtOnce`, `maxTextCharacters`, `maxRollouts`, `maxTokens`, `maxTokenCharacters`, and `limits` of warnings; each has a default
 * @returns the document, to be written as UTF-8
 * @throws SurprisalError as `summarize` does, and _OPTION
 */
export function renderHtml(report: Report, options: HtmlOptions = {}): string {
  return document("renderHtml", report, options);
}

/** As `renderHtml`, for a server: the page asks it for news of the run at /events, and loads itself anew. */
export function renderLive(report: Report, live: Live, options: HtmlOptions = {}): string {
  return document("renderLive", report, options, live);
}

function document(op: string, report: Report, options: HtmlOptions, live?: Live): string {
  const caps = capsOf(op, options);
  checkSteps(op, report.steps);
  const summary = summarizeChecked(op, report.steps, options);
  const data = pageData(report.steps, summary, caps);
  const title = label(report.title ?? "surprisal report", 120);
  const last = report.steps.length - 1;
  const tokensKnown = data.pieces.length > 0;
  const share = (all: number): number => Math.floor(all / Math.max(report.steps.length, 1));
  const texts = {
    most: share(caps.maxTexts),
    first: share(caps.textsAtOnce),
    atOnce: caps.textsAtOnce,
    characters: caps.maxTextCharacters,
    room: share(TEXT_ROOM),
  };
  const courses = coursesOf(summary.steps);
  const sections = report.steps.map((step, s) => {
    const onPage = tokensKnown ? new Set(data.steps[s]!.rollouts.map(({ index }) => index)) : undefined;
    return stepSection(step, summary, s, { hidden: s !== last, maxGroups: caps.maxGroups, onPage, texts, courses });
  });
  // Without a token there is nothing to look at but the texts.
  const tokens = tokensKnown ? tokenSection(data, summary, kept(report, data)) : nothing;
  const none = html`<p class="calm">No rollouts${live ? html` yet` : nothing}.</p>`;
  const body = report.steps.length === 0 ? none : html`${sections}${tokens}`;
  return documentOf({
    title,
    skip: tokensKnown ? ["tokens", "tokens"] : ["main", "rollouts"],
    controls: html`${slider(summary)}${live ? liveControl(live) : nothing}`,
    withoutScripts: html`Scripts are off: this is the last step, without its tokens and without search.${live ? html` Loading the page again shows what is new.` : nothing}`,
    body: html`${live ? html`${livePages(live)}${liveProblems(live)}` : nothing}${body}`,
    facts: report.facts,
    data,
    live: live !== undefined,
  });
}

// The frame that every page has: head, title, footer, data and script.
import type { ReportFacts } from "../model";
import { label } from "../visible";
import { embeddedData, embeddedHead, embeddedScript } from "./embedded";
import { html, type Markup, nothing } from "./markup";

export interface Page {
  readonly title: string;
  /** Where "skip" leads: the id of an element, and its name. */
  readonly skip: readonly [id: string, name: string];
  /** Right of the title. */
  readonly controls: Markup;
  /** What readers without scripts are told. */
  readonly withoutScripts: string | Markup;
  readonly body: Markup;
  readonly facts: ReportFacts | undefined;
  /** For the script. */
  readonly data: unknown;
  /** Whether it asks its server for news of a run. */
  readonly live: boolean;
}

function factList(given: ReportFacts | undefined): Markup {
  const entries = Object.entries(given ?? {});
  if (entries.length === 0) return nothing;
  const rows = entries.map(
    ([name, value]) => html`<div><dt>${label(name)}</dt><dd><bdi>${label(String(value), 300)}</bdi></dd></div>`,
  );
  return html`<h2>Configuration</h2><dl class="facts">${rows}</dl>`;
}

/** The whole document. */
export function documentOf({ title, skip, controls, withoutScripts, body, facts, data, live }: Page): string {
  const [target, name] = skip;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
${embeddedHead(live)}
<title>${title}</title>
</head>
<body>
<a class="skip" href="#${target}">Skip to the ${name}</a>
<header class="top"><h1><svg class="mark" viewBox="0 0 16 16" aria-hidden="true"><rect width="16" height="16" rx="4"/><path d="M3.2 12V9.5m3.2 2.5V4m3.2 8V7.5m3.2 4.5v-1.5"/></svg><bdi>${title}</bdi></h1>${controls}</header>
<main id="main">
<noscript><p class="note">${withoutScripts}</p></noscript>
${body}</main>
<footer>${factList(facts)}<p class="note">Made by surprisal. Entropies, log-probs and divergences in nats. ${live ? html`This page asks for news of the run, and for nothing else.` : html`This file loads nothing.`}</p></footer>
<p id="says" class="unseen" role="status"></p>
${embeddedData("report-data", data)}
${embeddedScript(live)}
</body>
</html>
`.source;
}

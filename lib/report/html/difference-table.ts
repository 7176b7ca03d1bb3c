// How far each run is from the first one, with intervals.
import type { Comparison, Difference } from "../compare/comparison";
import { shortNumber, signedNumber } from "../numbers";
import { label } from "../visible";
import { runSwatch } from "./curve-chart";
import { html, type Markup, nothing } from "./markup";
import { heading } from "./sortable";

const WIDTH = 150;

/** The interval as a line and the difference as a dot, around 0; `reach` is the end of the axis. */
function intervalPicture({ low, difference, high }: Difference, reach: number): Markup {
  const x = (value: number): string =>
    (reach > 0 ? WIDTH / 2 + (value / reach) * (WIDTH / 2 - 6) : WIDTH / 2).toFixed(1);
  return html`<svg class="interval" viewBox="0 0 ${WIDTH} 16" aria-hidden="true"><line class="zero" x1="${WIDTH / 2}" x2="${WIDTH / 2}" y1="0" y2="16"/><line class="spread" x1="${x(low)}" x2="${x(high)}" y1="8" y2="8"/><circle cx="${x(difference)}" cy="8" r="4"/></svg>`;
}

const reachOf = (own: readonly Difference[]): number =>
  own.reduce((most, { low, high }) => Math.max(most, Math.abs(low), Math.abs(high)), 0);

/** "steps 30 to 40" */
function windowText(window: readonly [number, number] | null): string {
  if (window === null) return "no steps";
  return window[0] === window[1] ? `step ${window[0]}` : `steps ${window[0]} to ${window[1]}`;
}

export function differenceTable({ runs, differences, window }: Comparison): Markup {
  const names = runs.map(({ name }) => label(name, 40));
  const windows = names.map((name, i) => `${name} ${windowText(window[i]!)}`).join(", ");
  if (differences.length === 0)
    return html`<p class="calm">The runs have no number of rollouts in common (${windows}).</p>`;
  const rows = differences.map((one) => {
    const { figure, run, first, mean, difference, low, high, paired, prompts } = one;
    const reach = reachOf(differences.filter((other) => other.figure === figure));
    const sure = low > 0 || high < 0 ? html` <span class="pill">not 0</span>` : nothing;
    const basis = paired ? `${prompts[0]} in common` : `${prompts[0]} and ${prompts[1]}`;
    return html`<tr><th scope="row" data-value="${label(figure)}"><bdi>${label(figure, 40)}</bdi></th><td class="text" data-value="${names[run]}">${runSwatch(run)}<bdi>${names[run]}</bdi></td><td class="number" data-value="${first}">${shortNumber(first)}</td><td class="number" data-value="${mean}">${shortNumber(mean)}</td><td class="number" data-value="${difference}">${signedNumber(difference)}${sure}</td><td class="number" data-value="${low}">${signedNumber(low)} … ${signedNumber(high)}</td><td class="picture">${intervalPicture(one, reach)}</td><td class="number" data-value="${prompts[1]}">${basis}</td></tr>
`;
  });
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Differences"><table class="groups"><caption class="unseen">Differences from ${names[0]}. Buttons in the header sort.</caption>
<thead><tr>${heading("Figure", "text")}${heading("Run", "text")}${heading(names[0]!, "number")}${heading("This run", "number")}${heading("Difference", "number")}${heading("95 %", "number")}<th scope="col" class="text">Around 0</th>${heading("Prompts", "number")}</tr></thead>
<tbody>
${rows}</tbody></table></div>
<p class="note">Means over prompts in the last steps of each run: ${windows}. Intervals: bootstrap over prompts; prompts that both runs have are drawn as pairs.</p>`;
}

// The frame in which the page's script shows the tokens of a rollout.
import { shortNumber } from "../numbers";
import type { Summary } from "../summary";
import { html, type Markup, nothing } from "./markup";
import type { PageData } from "./token-data";

const LEVELS = 10;

function legend(data: PageData, summary: Summary): Markup {
  const has = (test: (step: Summary["steps"][number]) => boolean): boolean => summary.steps.some(test);
  const steps = Array.from({ length: LEVELS }, (_, level) => html`<i class="heat h${level}"></i>`);
  const weights = has(({ distributions }) => distributions.advantage !== null)
    ? html`<li><span class="token sample up"><i class="heat h0">A</i></span><span class="token sample down"><i class="heat h0">A</i></span> advantage above and below 0; thicker is larger, up to ±${shortNumber(data.scales.advantage)}</li>`
    : nothing;
  const clips = has(({ clipped }) => clipped !== null)
    ? html`<li><span class="token sample clip-high"><i class="heat h0">A</i></span><span class="token sample clip-low"><i class="heat h0">A</i></span> clipped above, below</li>`
    : nothing;
  const masked = data.steps.some(({ rollouts }) => rollouts.some((rollout) => rollout.masked))
    ? html`<li><span class="token sample masked"><i class="heat">A</i></span> not the policy's</li>`
    : nothing;
  return html`<ul class="legend" aria-label="Legend"><li><span id="heat-name"></span> <span>0</span><span class="ramp" aria-hidden="true">${steps}</span><span>${shortNumber(data.scales.nats)}+ nats</span></li>${weights}${clips}${masked}</ul>`;
}

const FIELDS: readonly (readonly [id: string, name: string])[] = [
  ["place", "Token"],
  ["id", "Id"],
  ["logprob", "Log-prob"],
  ["probability", "Probability"],
  ["entropy", "Entropy"],
  ["sampler", "Sampler"],
  ["ratio", "Ratio"],
  ["clipped", "Clipped"],
  ["advantage", "Advantage"],
];

function inspector(): Markup {
  const rows = FIELDS.map(([id, name]) => html`<div><dt>${name}</dt><dd id="see-${id}">–</dd></div>`);
  return html`<div id="inspector" class="inspector" role="group" aria-label="Token under the cursor"><p id="see-text" class="see-text"><span class="hint">Point at a token, or move with the arrow keys.</span></p><dl>${rows}</dl><div id="see-span" class="see-span" hidden></div></div>`;
}

/** What the background can show: entropies where some rollout has them, and −log p. */
function choices({ steps }: Summary): readonly Markup[] {
  const known = steps.some(({ distributions }) => distributions.entropy !== null);
  return (known ? ["entropy", "surprisal"] : ["surprisal"]).map(
    (heat, place) =>
      html`<label><input type="radio" name="heat" value="${heat}"${place === 0 ? html` checked` : nothing}>${heat}</label>`,
  );
}

/** `kept`: how much of the report can be looked at here. */
export function tokenSection(data: PageData, summary: Summary, kept: string): Markup {
  return html`<section id="tokens" class="tokens" aria-labelledby="tokens-title" tabindex="-1">
<h2 id="tokens-title">Tokens <small>${kept}</small></h2>
<div class="needs-script">
<div class="toolbar"><label for="rollout">Rollout</label><select id="rollout" aria-label="Rollout"></select><button type="button" id="rollout-back" aria-label="Previous rollout">‹</button><button type="button" id="rollout-on" aria-label="Next rollout">›</button>
<fieldset class="choice"><legend>Background</legend>${choices(summary)}</fieldset></div>
${legend(data, summary)}
<div class="reader"><div class="reading"><details class="prompt" id="prompt-box" hidden><summary>Prompt</summary><p id="prompt"></p></details>
<div id="ribbon" class="ribbon" aria-hidden="true"></div>
<div id="view" class="view" role="listbox" tabindex="0" aria-label="Tokens" aria-describedby="keys"></div>
<p id="cut" class="cap" hidden></p></div>${inspector()}</div>
<p id="keys" class="note">Arrow keys move by token and by line, Home and End within the line, with Ctrl to the ends, Page Up and Page Down by screen; <kbd>s</kbd> goes to the next span, <kbd>c</kbd> to the next clipped token, with Shift to the one before.</p>
</div></section>`;
}

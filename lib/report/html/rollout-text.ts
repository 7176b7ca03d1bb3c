// Prompt and response of rollouts, as text that can be read without a script.
import { shortNumber } from "../numbers";
import { readable } from "../conversation";
import { figuresOf } from "../figures";
import type { ReportRollout, ReportStep } from "../model";
import { clipped, label, visibleLines } from "../visible";
import { html, type Markup, nothing } from "./markup";

/** Fields of `meta` that are shown, and how much of each. */
const MOST_FIELDS = 16;
const LONGEST_FIELD = 400;

/** Text of several lines, each of them visible, and no more of it than `limit`. Conversations are shown as who says what. */
export function lines(text: string | undefined, limit: number): string {
  if (text === undefined) return "";
  const { text: kept, left } = clipped(readable(text), limit);
  const shown = visibleLines(kept);
  return left > 0 ? `${shown}… (${left} more characters)` : shown;
}

/** The completion, as the source has it or as its tokens spell it. */
export const textOf = ({ text, tokens }: ReportRollout): string | undefined => text ?? tokens?.join("");

/** What the source says besides, where it is one word, number or sentence: the right answer, the answer that was found. */
export function fieldsOf({
  meta = {},
  finishReason,
  id,
}: ReportRollout): readonly (readonly [name: string, value: string])[] {
  const simple = Object.entries(meta).flatMap(([name, value]) =>
    ["string", "number", "boolean"].includes(typeof value) ? [[name, String(value)] as const] : [],
  );
  const own = Object.entries({ id, finish: finishReason }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return [...simple, ...own].slice(0, MOST_FIELDS);
}

/** The article of one rollout; `address` is what links point to. */
export function rolloutText(step: ReportStep, index: number, address: string, group: string, limit: number): Markup {
  const rollout = step.rollouts[index]!;
  const figures = Array.from(
    figuresOf(rollout),
    ([name, value]) =>
      html`<div data-name="${label(name)}" data-value="${value}"><dt>${label(name, 32)}</dt><dd>${shortNumber(value)}</dd></div>`,
  );
  const fields = fieldsOf(rollout).map(
    ([name, value]) =>
      html`<div data-name="${label(name)}"><dt>${label(name, 32)}</dt><dd><bdi>${label(value, LONGEST_FIELD)}</bdi></dd></div>`,
  );
  const text = textOf(rollout);
  const response =
    text === undefined
      ? html`<p class="calm">No text was recorded.</p>`
      : html`<pre class="response" dir="auto" tabindex="0">${lines(text, limit)}</pre>`;
  return html`<article class="rollout" id="${address}" tabindex="-1" data-cut="${rollout.finishReason === "length" ? "1" : ""}"><h5><a class="link" href="#${address}">Rollout ${index + 1}</a> <span class="of-group"><bdi>${group}</bdi></span></h5><dl class="figures-line">${figures}</dl>
${response}${fields.length > 0 ? html`<dl class="fields">${fields}</dl>` : nothing}</article>
`;
}

// A scalar over the training steps of several runs. Labels keep their size however wide the chart is: only the lines stretch.
import type { Curve } from "../compare/comparison";
import { shortNumber } from "../numbers";
import { label } from "../visible";
import { html, type Markup, nothing } from "./markup";
import { ticks } from "./ticks";

/** More runs than this share looks. */
const RUN_LOOKS = 8;
/** Above it only the last point of a line is marked. */
const MOST_MARKS = 80;

/** From the smallest to the largest; around a single value where there is one. */
function rangeOf(values: readonly number[]): readonly [from: number, to: number] {
  const least = values.reduce((low, value) => Math.min(low, value), Infinity);
  const most = values.reduce((high, value) => Math.max(high, value), -Infinity);
  if (most > least && Number.isFinite(most - least)) return [least, most];
  const around = least === 0 ? 0.5 : Math.abs(least) * 0.5;
  return [least - around, least + around];
}

/** Share of a range in percent. */
const part = (value: number, [from, to]: readonly [number, number]): string =>
  (((value - from) / (to - from)) * 100).toFixed(2);

/** The line and mark of a run, for legends. */
export const runSwatch = (run: number): Markup =>
  html`<svg class="swatch run-${run % RUN_LOOKS}" viewBox="0 0 34 12" aria-hidden="true"><line x1="1" x2="33" y1="6" y2="6"/><circle cx="17" cy="6" r="3.4"/></svg>`;

/** One figure: axes with numbers, a line a run, a legend. */
export function curveChart({ title, unit, series }: Curve, names: readonly string[]): Markup {
  const points = series.flat();
  const steps = rangeOf(points.map(({ step }) => step));
  const values = rangeOf(points.map(({ value }) => value));
  const lines = series.map((own, run) => {
    const at = own.map(({ step, value }) => `${part(step, steps)},${(100 - Number(part(value, values))).toFixed(2)}`);
    return html`<polyline class="run-${run % RUN_LOOKS}" points="${at.join(" ")}"/>`;
  });
  const marks = series.flatMap((own, run) =>
    (own.length > MOST_MARKS ? own.slice(-1) : own).map(
      ({ step, value }) =>
        html`<circle class="run-${run % RUN_LOOKS}" cx="${part(step, steps)}%" cy="${(100 - Number(part(value, values))).toFixed(2)}%" r="3"><title>${label(names[run]!, 40)}, step ${shortNumber(step)}: ${shortNumber(value)}</title></circle>`,
    ),
  );
  const rows = ticks(...values).map((tick) => {
    const y = `${(100 - Number(part(tick, values))).toFixed(2)}%`;
    return html`<line class="grid" x1="0" x2="100%" y1="${y}" y2="${y}"/><text x="-8" y="${y}" dy="0.35em" text-anchor="end">${shortNumber(tick)}</text>`;
  });
  const columns = ticks(...steps)
    .filter(Number.isInteger)
    .map((tick) => {
      const x = part(tick, steps);
      const anchor = Number(x) > 95 ? "end" : Number(x) < 5 ? "start" : "middle";
      return html`<text x="${x}%" y="100%" dy="1.5em" text-anchor="${anchor}">${shortNumber(tick)}</text>`;
    });
  const shown = series.flatMap((own, run) => (own.length > 0 ? [run] : []));
  const courses = shown.map((run) => {
    const own = series[run]!;
    return `${label(names[run]!, 40)} from ${shortNumber(own[0]!.value)} to ${shortNumber(own.at(-1)!.value)}`;
  });
  const legend = shown.map((run) => html`<li>${runSwatch(run)}<bdi>${label(names[run]!, 40)}</bdi></li>`);
  const measured = unit === null ? nothing : html` <span>${label(unit, 40)}</span>`;
  return html`<figure class="card curve"><figcaption><b>${label(title, 60)}</b>${measured}</figcaption>
<svg class="curves" role="img" aria-label="${label(title, 60)} by training step: ${courses.join("; ")}"><line class="axis" x1="0" x2="100%" y1="100%" y2="100%"/>${rows}${columns}<svg class="stretched" viewBox="0 0 100 100" preserveAspectRatio="none">${lines}</svg>${marks}</svg>
<p class="x-name">training step</p><ul class="legend">${legend}</ul></figure>
`;
}

// Charts as inline SVG. Colours come from the style sheet by class.
import { counted, shortNumber } from "../numbers";
import type { Distribution, Histogram, Measure } from "../summary";
import { html, type Markup, nothing } from "./markup";
import { ticks } from "./ticks";

/** Pixels, of the bars. Widths are shares of the chart, so that labels keep their size however wide it is. */
const HEIGHT = 88;
/** Labels that are longer stand at every other mark. */
const SHORT_LABEL = 5;

/** Where differences overflow there is no place. */
const place = (value: number): string => (Number.isFinite(value) ? value.toFixed(1) : "0");
const share = (value: number): string => `${place(value)}%`;

const outline = ({ edges, counts }: Histogram, x: (value: number) => number): string => {
  const most = Math.max(...counts, 1);
  const heights = counts.map((count) => HEIGHT - (count / most) * (HEIGHT - 8));
  const steps = heights.flatMap((y, i) => [
    `${place(x(edges[i]!))},${place(y)}`,
    `${place(x(edges[i + 1]!))},${place(y)}`,
  ]);
  return [`0,${HEIGHT}`, ...steps, `100,${HEIGHT}`].join(" ");
};

/** The marks of the axis, with their numbers. */
function marksOf(from: number, to: number, x: (value: number) => number): readonly Markup[] {
  const values = ticks(from, to);
  const every = values.some((tick) => shortNumber(tick).length > SHORT_LABEL) ? 2 : 1;
  return values.map((tick, i) => {
    const at = x(tick);
    const anchor = at < 6 ? "start" : at > 94 ? "end" : "middle";
    const text =
      i % every === 0
        ? html`<text x="${share(at)}" y="${HEIGHT + 20}" text-anchor="${anchor}">${shortNumber(tick)}</text>`
        : nothing;
    return html`<line class="tick" x1="${share(at)}" x2="${share(at)}" y1="${HEIGHT}" y2="${HEIGHT + 4}"/>${text}`;
  });
}

/**
 * One measure: a bar a bin, the mean as a line, 5 % to 95 % as a band on the axis; the first step's shape behind it as a thin
 * outline. Heights are relative to each shape's largest bin.
 */
export function histogramChart(
  measure: Measure,
  name: string,
  current: Distribution,
  first: Distribution | null,
): Markup {
  const { edges, counts } = current.histogram;
  const [from, to] = [edges[0]!, edges.at(-1)!];
  const x = (value: number): number => ((Math.min(Math.max(value, from), to) - from) / (to - from)) * 100;
  const most = Math.max(...counts, 1);
  const bars = counts.map((count, i) => {
    if (count === 0) return nothing;
    const height = Math.max((count / most) * (HEIGHT - 8), 2.5);
    const [left, right] = [x(edges[i]!), x(edges[i + 1]!)];
    const sign = measure === "advantage" && edges[i + 1]! <= 1e-12 ? " negative" : "";
    return html`<rect class="bar${sign}" x="${share(left)}" y="${place(HEIGHT - height)}" width="${share(Math.max(right - left, 0.3))}" height="${place(height)}" rx="1.5"><title>${shortNumber(edges[i]!)} to ${shortNumber(edges[i + 1]!)}: ${count}</title></rect>`;
  });
  const ghost = first
    ? html`<svg class="stretched" viewBox="0 0 100 ${HEIGHT}" height="${HEIGHT}" preserveAspectRatio="none"><polyline class="ghost" points="${outline(first.histogram, x)}"/></svg>`
    : nothing;
  const { mean, p5, p95 } = current;
  const says = `Histogram of ${name.toLowerCase()} over ${counted(current.count, "value")}: mean ${shortNumber(mean)}, from ${shortNumber(current.min)} to ${shortNumber(current.max)}, nine in ten between ${shortNumber(p5)} and ${shortNumber(p95)}`;
  return html`<svg class="histogram ${measure}" role="img" aria-label="${says}">
<line class="axis" x1="0" x2="100%" y1="${HEIGHT}" y2="${HEIGHT}"/>${bars}${ghost}${marksOf(from, to, x)}
<line class="range" x1="${share(x(p5))}" x2="${share(Math.max(x(p95), x(p5) + 0.4))}" y1="${HEIGHT}" y2="${HEIGHT}"/>
<line class="mean" x1="${share(x(mean))}" x2="${share(x(mean))}" y1="2" y2="${HEIGHT}"/></svg>`;
}

const SPARK_WIDTH = 120;
const SPARK_HEIGHT = 30;
/** More steps than this are more than the line can show, and every step has such lines. */
const SPARK_POINTS = 60;

/** One value a step as a line, with a dot at the current one. Nothing for fewer than two. */
export function sparkline(values: readonly (number | null)[], current: number): Markup {
  const known = values.flatMap((value) => value ?? []);
  if (known.length < 2) return nothing;
  const least = known.reduce((low, value) => Math.min(low, value));
  const most = known.reduce((high, value) => Math.max(high, value));
  const x = (step: number): number => 4 + (step / (values.length - 1)) * (SPARK_WIDTH - 8);
  const y = (value: number): number =>
    most > least ? SPARK_HEIGHT - 5 - ((value - least) / (most - least)) * (SPARK_HEIGHT - 10) : SPARK_HEIGHT / 2;
  const every = Math.ceil(values.length / SPARK_POINTS);
  const points = values.flatMap((value, step) =>
    value === null || (step % every > 0 && step !== values.length - 1) ? [] : [`${place(x(step))},${place(y(value))}`],
  );
  const here = values[current] ?? null;
  const dot = here === null ? nothing : html`<circle cx="${place(x(current))}" cy="${place(y(here))}" r="3.2"/>`;
  return html`<svg class="spark" viewBox="0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}" aria-hidden="true"><polyline points="${points.join(" ")}"/>${dot}</svg>`;
}

const WHISKER = 110;

/** Smallest to largest reward of a group as a line, their mean as a dot, on the scale of the step. */
export function whisker(low: number, mean: number, high: number, { min, max }: Distribution): Markup {
  const x = (value: number): string =>
    place(max > min ? 5 + ((value - min) / (max - min)) * (WHISKER - 10) : WHISKER / 2);
  return html`<svg class="whisker" viewBox="0 0 ${WHISKER} 14" aria-hidden="true"><line class="rail" x1="5" x2="${WHISKER - 5}" y1="7" y2="7"/><line class="spread" x1="${x(low)}" x2="${x(high)}" y1="7" y2="7"/><circle cx="${x(mean)}" cy="7" r="4"/></svg>`;
}

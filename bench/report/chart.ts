// The shares of the roof that a goal judges, as bars with the goal as marks: an SVG that needs nothing.
import { type Goal, GOALS, matches } from "../goals";
import { OURS } from "../harness/names";
import type { ResultLine } from "../record";
import type { ResultFile } from "./page";

const CHARACTER = 6.2; // of a label, on average
const SCALE = 440; // a share of 1
const RIGHT = 90;
const LINE = 20;
const TOP = 54;

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

interface Bar {
  readonly label: string;
  readonly line: ResultLine;
  readonly goal: Goal;
}

function barsOf(lines: readonly ResultLine[]): Bar[] {
  return lines
    .filter(({ contender, backend, share }) => contender.startsWith(OURS) && backend !== "js" && share !== undefined)
    .flatMap((line) => {
      const goal = GOALS.find((one) => one.figure === "share" && matches(line, one.match));
      if (goal === undefined) return [];
      const { op, shape, dtype, rowKind, threads, contender } = line;
      const extra = contender === OURS ? "" : contender.slice(OURS.length);
      const label = [`${op}${extra}`, shape.name, dtype, rowKind, threads > 1 ? `${threads} threads` : ""]
        .filter(Boolean)
        .join(", ");
      return [{ label, line, goal }];
    });
}

function mark(left: number, share: number, y: number, kind: "must" | "aim"): string {
  const x = left + share * SCALE;
  return `<line class="${kind}" x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${y + 1}" y2="${y + LINE - 3}"/>`;
}

function bar({ label, line, goal }: Bar, i: number, left: number): string[] {
  const y = TOP + i * LINE;
  const { median, p20, p80 } = line.share!;
  const x = (share: number) => (left + Math.min(share, 1.1) * SCALE).toFixed(1);
  return [
    `<text x="${left - 8}" y="${y + 14}" text-anchor="end">${escaped(label)}</text>`,
    `<rect class="${median < goal.must ? "short" : "bar"}" x="${left}" y="${y + 3}" width="${(Math.min(median, 1.1) * SCALE).toFixed(1)}" height="${LINE - 7}"/>`,
    `<line class="spread" x1="${x(p20)}" x2="${x(p80)}" y1="${y + LINE / 2}" y2="${y + LINE / 2}"/>`,
    mark(left, goal.must, y, "must"),
    ...(goal.aim === undefined ? [] : [mark(left, goal.aim, y, "aim")]),
    `<text x="${(left + 1.12 * SCALE).toFixed(1)}" y="${y + 14}">${median.toFixed(2)}</text>`,
  ];
}

const STYLE = `
  text { font: 11px system-ui, sans-serif; fill: #333 }
  .title { font-size: 14px }
  .ground { fill: #fff }
  .bar { fill: #4a7fb5 }
  .short { fill: #c2703d }
  .roof { stroke: #999; stroke-dasharray: 3 3 }
  .spread { stroke: #1d3a57; stroke-width: 2 }
  .must { stroke: #333; stroke-width: 2 }
  .aim { stroke: #2e8b57; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #ccc } .ground { fill: #151515 } .must { stroke: #eee } .spread { stroke: #cfe2f5 }
  }`;

export function toChart(files: readonly ResultFile[]): string {
  const bars = files.flatMap(({ lines }) => barsOf(lines));
  const left = 20 + Math.ceil(CHARACTER * Math.max(0, ...bars.map(({ label }) => label.length)));
  const height = TOP + bars.length * LINE + 12;
  const width = Math.round(left + 1.12 * SCALE + RIGHT);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>Share of the roof of memory, by case</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="ground" width="${width}" height="${height}"/>`,
    `<text class="title" x="12" y="20">Share of what memory gives in the same run</text>`,
    `<text x="12" y="38">bar: median; thin line: 20th to 80th percentile; dark mark: must; green mark: aim; orange: short of must</text>`,
    `<line class="roof" x1="${left + SCALE}" x2="${left + SCALE}" y1="${TOP - 4}" y2="${height - 8}"/>`,
    ...bars.flatMap((one, i) => bar(one, i, left)),
    "</svg>",
    "",
  ].join("\n");
}

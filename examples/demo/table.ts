// The table at the end, as text.
import type { MethodSummary } from "./summary";

type Column = readonly [heading: string, cell: (summary: MethodSummary) => string];

const signed = (value: number): string => `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(2)}`;

const COLUMNS: readonly Column[] = [
  ["method", ({ title }) => title],
  ["reward start", ({ rewardStart }) => rewardStart.toFixed(2)],
  ["end", ({ rewardEnd }) => rewardEnd.toFixed(2)],
  ["spread", ({ rewardSpread, runs }) => (runs.length > 1 ? rewardSpread.toFixed(2) : "-")],
  [
    "against GRPO",
    ({ againstGrpo, runs }) =>
      againstGrpo ? `${signed(againstGrpo.difference)}, ahead ${againstGrpo.seedsAhead} of ${runs.length}` : "",
  ],
  ["right answers", ({ solvedEnd }) => `${(100 * solvedEnd).toFixed(0)} %`],
  ["entropy", ({ entropyEnd }) => entropyEnd.toFixed(3)],
  ["steps/s", ({ stepsPerSecond }) => (stepsPerSecond > 0 ? stepsPerSecond.toFixed(0) : "-")],
];

export function tableOf(summaries: readonly MethodSummary[]): string {
  const lines = [
    COLUMNS.map(([heading]) => heading),
    ...summaries.map((summary) => COLUMNS.map(([, cell]) => cell(summary))),
  ];
  const widths = COLUMNS.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  const text = lines.map((line) =>
    line
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join("  ")
      .trimEnd(),
  );
  text.splice(1, 0, widths.map((width) => "-".repeat(width)).join("  "));
  return text.join("\n");
}

// The tables of a comparison.
import type { Comparison } from "../compare/comparison";
import type { Table } from "./csv";

/** Returns "curves", "differences" and "prompts" of a comparison as tables; runs are named in full. */
export function comparisonTables({ runs, curves, differences, prompts }: Comparison): Table[] {
  const names = runs.map(({ name }) => name);
  return [
    {
      name: "curves",
      columns: ["run", "scalar", "unit", "step", "value"],
      rows: curves.flatMap(({ name, unit, series }) =>
        series.flatMap((points, run) => points.map(({ step, value }) => [names[run]!, name, unit, step, value])),
      ),
    },
    {
      name: "differences",
      columns: ["figure", "run", "against", "mean", "first_mean", "difference", "low", "high", "paired", "prompts"],
      rows: differences.map(({ figure, run, mean, first, difference, low, high, paired, prompts: [, own] }) => [
        figure,
        names[run]!,
        names[0]!,
        mean,
        first,
        difference,
        low,
        high,
        paired ? "yes" : "no",
        own,
      ]),
    },
    {
      name: "prompts",
      columns: ["prompt", "difference", ...names.flatMap((name) => [`reward in ${name}`, `rollouts in ${name}`])],
      rows: prompts.map(({ prompt, difference, rewards, counts }) => [
        prompt,
        difference,
        ...rewards.flatMap((reward, run) => [reward, counts[run]!]),
      ]),
    },
  ];
}

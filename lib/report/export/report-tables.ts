// The tables of a report.
import { checkSteps } from "../check";
import { figuresOf } from "../figures";
import type { ReportStep } from "../model";
import { scalarsOf } from "../scalars";
import { summarizeChecked, type SummarizeOptions } from "../summarize";
import { MEASURES, type StepSummary } from "../summary";
import type { Table } from "./csv";

function stepsTable(steps: readonly StepSummary[]): Table {
  const scalars = scalarsOf(steps);
  return {
    name: "steps",
    columns: ["step", "label", "rollouts", "groups", "kept_tokens", ...scalars.map(({ name }) => name)],
    rows: steps.map((step) => [
      step.step,
      step.label,
      step.rollouts,
      step.groups.length,
      step.keptTokens,
      ...scalars.map(({ value }) => value(step)),
    ]),
  };
}

const GROUP_COLUMNS = {
  reward_mean: "rewardMean",
  reward_std: "rewardStd",
  reward_min: "rewardMin",
  reward_max: "rewardMax",
  length_mean: "lengthMean",
  entropy_mean: "entropyMean",
  truncated: "truncated",
  clipped: "clipped",
} as const;

function groupsTable(steps: readonly StepSummary[]): Table {
  return {
    name: "groups",
    columns: ["step", "group", "rollouts", ...Object.keys(GROUP_COLUMNS)],
    rows: steps.flatMap(({ step, groups }) =>
      groups.map((group) => [
        step,
        group.group,
        group.rollouts.length,
        ...Object.values(GROUP_COLUMNS).map((field) => group[field]),
      ]),
    ),
  };
}

function rolloutsTable(steps: readonly ReportStep[], summaries: readonly StepSummary[]): Table {
  const figures = steps.map(({ rollouts }) => rollouts.map(figuresOf));
  const names = Array.from(new Set(figures.flat().flatMap((own) => Array.from(own.keys()))));
  return {
    name: "rollouts",
    columns: ["step", "rollout", "group", "id", "finish_reason", ...names],
    rows: steps.flatMap(({ rollouts }, s) => {
      const groupOf = new Map(
        summaries[s]!.groups.flatMap(({ group, rollouts: own }) => own.map((index) => [index, group] as const)),
      );
      return rollouts.map(({ id, finishReason }, r) => [
        summaries[s]!.step,
        r,
        groupOf.get(r)!,
        id ?? null,
        finishReason ?? null,
        ...names.map((name) => figures[s]![r]!.get(name) ?? null),
      ]);
    }),
  };
}

function histogramsTable(steps: readonly StepSummary[]): Table {
  return {
    name: "histograms",
    columns: ["step", "measure", "from", "to", "count"],
    rows: steps.flatMap(({ step, distributions }) =>
      MEASURES.flatMap((measure) => {
        const { edges = [], counts = [] } = distributions[measure]?.histogram ?? {};
        return counts.map((count, bin) => [step, measure, edges[bin]!, edges[bin + 1]!, count]);
      }),
    ),
  };
}

/**
 * Returns what a report shows as tables: "steps" (every scalar), "groups", "rollouts" (every number of each) and "histograms". Units are
 * those of `summarize`.
 *
 * @param steps in the order of the run
 * @throws SurprisalError as `summarize` does
 */
export function reportTables(steps: readonly ReportStep[], options: SummarizeOptions = {}): Table[] {
  checkSteps("reportTables", steps);
  const summaries = summarizeChecked("reportTables", steps, options).steps;
  return [stepsTable(summaries), groupsTable(summaries), rolloutsTable(steps, summaries), histogramsTable(summaries)];
}

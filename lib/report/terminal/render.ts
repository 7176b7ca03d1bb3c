// The summary on a terminal.
import { needNumber } from "../../core/option-checks";
import { counted, percent, shortNumber } from "../numbers";
import type { TerminalOptions } from "../render-options";
import { type GroupSummary, type Measure, MEASURES, type StepSummary, type Summary } from "../summary";
import { label } from "../visible";
import { bars, heaped, meter, sparkline } from "./blocks";
import { columns, fit, type Paint, painter, wrap } from "./text";

const LEAST_WIDTH = 40;
const TITLES: Readonly<Record<Measure, string>> = {
  reward: "reward",
  length: "length",
  entropy: "entropy",
  advantage: "advantage",
  ratio: "ratio",
};
/** Entropies have a unit that is not obvious. */
const UNITS: Readonly<Partial<Record<Measure, string>>> = { length: "tokens", entropy: "nats" };
const COLOURS = { reward: "green", length: "blue", entropy: "magenta", advantage: "cyan", ratio: "yellow" } as const;

interface Page {
  readonly paint: Paint;
  readonly width: number;
  readonly maxGroups: number;
}

function warnings({ warnings }: StepSummary, { paint, width }: Page): string[] {
  return warnings.flatMap(({ severity, message }) => {
    const colour = severity === "serious" ? "red" : "yellow";
    return wrap(severity === "serious" ? "  ■ " : "  ▲ ", message, width, 4).map((line) => paint(colour, line));
  });
}

function distributions({ distributions }: StepSummary, { paint, width }: Page): string[] {
  const room = Math.min(26, width - 12);
  return MEASURES.flatMap((measure) => {
    const known = distributions[measure];
    if (known === null) return [];
    const shape = heaped(known.histogram.counts, room);
    const { mean, std, min, max } = known;
    const numbers = `${shortNumber(mean)} ± ${shortNumber(std)}`;
    const range = `${shortNumber(min)} … ${shortNumber(max)} ${UNITS[measure] ?? ""}`.trim();
    const start = `  ${paint("dim", fit(TITLES[measure], 10))}${paint(COLOURS[measure], fit(bars(shape), room))}`;
    const left = width - 12 - room - 2;
    return left >= 16 + columns(range)
      ? [`${start}  ${fit(numbers, 16)}${paint("dim", range)}`]
      : [start, `${" ".repeat(12)}${paint("dim", fit(`${numbers}  ${range}`, width - 12).trimEnd())}`];
  });
}

/** One number a step: how it went. */
function trends({ steps }: Summary, { paint, width }: Page): string[] {
  const shown = steps.slice(-(width - 36));
  return MEASURES.flatMap((measure) => {
    const means = shown.map(({ distributions }) => distributions[measure]?.mean ?? null);
    const known = means.flatMap((value) => value ?? []);
    if (known.length < 2) return [];
    const change = `${shortNumber(known[0]!)} → ${shortNumber(known.at(-1)!)}`;
    return [
      `  ${paint("dim", fit(`mean ${TITLES[measure]}`, 16))}${paint(COLOURS[measure], sparkline(means))}  ${change}`,
    ];
  });
}

interface Column {
  readonly head: string;
  readonly width: number;
  readonly cell: (group: GroupSummary) => string;
}

const orDash = (value: number | null, show: (value: number) => string): string => (value === null ? "–" : show(value));

function columnsOf(groups: readonly GroupSummary[]): Column[] {
  const some = (of: (group: GroupSummary) => number | null): boolean => groups.some((group) => of(group) !== null);
  const optional = (of: (group: GroupSummary) => number | null, column: Column): Column[] => (some(of) ? [column] : []);
  return [
    { head: "n", width: 5, cell: ({ rollouts }) => String(rollouts.length) },
    ...optional(({ rewardMean }) => rewardMean, {
      head: "reward",
      width: 9,
      cell: ({ rewardMean }) => orDash(rewardMean, shortNumber),
    }),
    ...optional(({ rewardStd }) => rewardStd, {
      head: "std",
      width: 9,
      cell: ({ rewardStd }) => orDash(rewardStd, shortNumber),
    }),
    ...optional(({ lengthMean }) => lengthMean, {
      head: "length",
      width: 8,
      cell: ({ lengthMean }) => orDash(lengthMean, shortNumber),
    }),
    ...optional(({ entropyMean }) => entropyMean, {
      head: "entropy",
      width: 9,
      cell: ({ entropyMean }) => orDash(entropyMean, shortNumber),
    }),
    ...optional(({ truncated }) => truncated, {
      head: "cut",
      width: 7,
      cell: ({ truncated }) => orDash(truncated, percent),
    }),
    ...optional(({ clipped }) => clipped, {
      head: "clipped",
      width: 8,
      cell: ({ clipped }) => orDash(clipped, percent),
    }),
  ];
}

const METER = 10;
const LEAST_LABEL = 10;

function groupTable({ groups, distributions }: StepSummary, { paint, width, maxGroups }: Page): string[] {
  const all = columnsOf(groups);
  // On a narrow terminal the last columns give way.
  const kept = all.filter(
    (_, i) => all.slice(0, i + 1).reduce((sum, column) => sum + column.width, 0) <= width - 2 - LEAST_LABEL,
  );
  const taken = kept.reduce((sum, column) => sum + column.width, 2);
  const metered = distributions.reward !== null && width - taken >= LEAST_LABEL + METER + 2;
  const longest = Math.max(5, ...groups.slice(0, maxGroups).map(({ name }) => columns(label(name))));
  const room = Math.min(width - taken - (metered ? METER + 2 : 0), longest + 1);
  const { min, max } = distributions.reward ?? { min: 0, max: 0 };
  const filled = ({ rewardMean }: GroupSummary): string =>
    meter(rewardMean === null || max === min ? 0 : (rewardMean - min) / (max - min), METER);
  const head = `  ${fit("group", room)}${kept.map(({ head, width: own }) => fit(head, own, "right")).join("")}`;
  const rows = groups.slice(0, maxGroups).map((group) => {
    const cells = kept.map(({ cell, width: own }) => fit(cell(group), own, "right")).join("");
    const line = `  ${fit(label(group.name), room)}${cells}`;
    return (group.equalRewards ? paint("yellow", line) : line) + (metered ? `  ${paint("green", filled(group))}` : "");
  });
  const left = groups.length - rows.length;
  if (left > 0) rows.push(paint("dim", `  and ${counted(left, "more group")}`));
  return [paint("dim", head), ...rows];
}

function facts(step: StepSummary, { paint, width }: Page): string[] {
  const { equalRewardGroups, lengthRewardCorrelation, truncated, clipped, samplerGap, referenceKl } = step;
  const known = [
    equalRewardGroups === null ? [] : [`equal rewards ${percent(equalRewardGroups)}`],
    lengthRewardCorrelation === null ? [] : [`r(length, reward) ${shortNumber(lengthRewardCorrelation)}`],
    truncated === null ? [] : [`cut off ${percent(truncated)}`],
    clipped === null ? [] : [`clipped ${percent(clipped)}`],
    samplerGap === null ? [] : [`sampler gap ${shortNumber(samplerGap.meanAbsolute)} nats`],
    referenceKl === null ? [] : [`KL to reference ${shortNumber(referenceKl)} nats`],
  ].flat();
  return known.length === 0 ? [] : wrap("  ", known.join(" · "), width, 2).map((line) => paint("dim", line));
}

function logProbs({ logProbs: known }: StepSummary, { paint, width }: Page): string[] {
  return Object.entries(known).flatMap(([source, { tokens, nll, least, nonFinite, positive }]) => {
    const figures = [
      nll === null ? [] : [`NLL ${shortNumber(nll)} nats a token`],
      least === null ? [] : [`least log-prob ${shortNumber(least)}`],
      nonFinite === 0 ? [] : [`${nonFinite} not finite`],
      positive === 0 ? [] : [`${positive} above 0`],
    ].flat();
    const line = `${fit(source, 11)}${[counted(tokens, "log-prob"), ...figures].join(" · ")}`;
    return wrap("  ", line, width, 13).map((text) => paint("dim", text));
  });
}

function rewardFunctions({ rewardFunctions: functions }: StepSummary, { paint, width }: Page): string[] {
  const names = Object.keys(functions);
  const room = Math.min(28, Math.max(...names.map((name) => columns(label(name)))) + 2);
  return Object.entries(functions).map(([name, { count, mean, std, min, max }]) => {
    const numbers = `${shortNumber(mean)} ± ${shortNumber(std)}  ${shortNumber(min)} … ${shortNumber(max)}  n ${count}`;
    return `  ${paint("dim", fit(label(name), room))}${fit(numbers, Math.max(8, width - 2 - room)).trimEnd()}`;
  });
}

const blankBefore = (lines: readonly string[]): string[] => (lines.length === 0 ? [] : ["", ...lines]);

function stepInFull(step: StepSummary, page: Page): string[] {
  const sizes = [counted(step.rollouts, "rollout"), counted(step.groups.length, "group")];
  if (step.tokens > 0) sizes.push(counted(step.keptTokens, "token"));
  const beside = `  ${sizes.join(" · ")}`;
  const room = page.width - columns(beside);
  const title = fit(label(step.label), Math.max(room, page.width / 2)).trimEnd();
  const [bold, dim] = [page.paint("bold", title), page.paint("dim", beside)];
  const titleLines = columns(title) > room ? [bold, dim] : [bold + dim];
  const groups = step.groups.length > 0 ? groupTable(step, page) : [];
  return [
    ...titleLines,
    ...warnings(step, page),
    ...facts(step, page),
    ...logProbs(step, page),
    ...blankBefore(distributions(step, page)),
    ...blankBefore(rewardFunctions(step, page)),
    ...blankBefore(groups),
  ];
}

/** The steps before the last one: what they warn of. */
function earlierWarnings(steps: readonly StepSummary[], { paint, width }: Page): string[] {
  const warned = steps.filter(({ warnings }) => warnings.length > 0);
  return warned.slice(-8).map((step) => {
    const serious = step.warnings.some(({ severity }) => severity === "serious");
    const name = fit(label(step.label, 24), 16);
    const more = step.warnings.length > 1 ? ` (and ${step.warnings.length - 1} more)` : "";
    return `  ${paint("dim", name)}${paint(serious ? "red" : "yellow", fit(step.warnings[0]!.message + more, width - 18).trimEnd())}`;
  });
}

/**
 * Returns the summary as text for a terminal: the course of the means over the steps, and the last step in full, with its warnings,
 * histograms in block characters and the table of its groups. Text of models and files is made visible: no escape sequence in it
 * reaches the terminal.
 *
 * @param options `colour` (default false), `width` in columns (default 80, at least 40), `maxGroups` (default 12)
 * @returns lines that end with a newline each
 * @throws SurprisalError ERR_SURPRISAL_OPTION
 */
export function renderTerminal(summary: Summary, options: TerminalOptions = {}): string {
  const op = "renderTerminal";
  const page: Page = {
    paint: painter(options.colour ?? false),
    width: needNumber(op, "width", options.width ?? 80, { min: LEAST_WIDTH, integer: true }),
    maxGroups: needNumber(op, "maxGroups", options.maxGroups ?? 12, { min: 0, integer: true }),
  };
  const last = summary.steps.at(-1);
  if (!last) return "no rollouts\n";
  const earlier = summary.steps.slice(0, -1);
  const course = [...trends(summary, page), ...earlierWarnings(earlier, page)];
  const above = course.length === 0 ? [] : [page.paint("bold", counted(summary.steps.length, "step")), ...course, ""];
  return `${[...above, ...stepInFull(last, page)].join("\n")}\n`;
}

// Goals with what was measured, for the terminal and for the page.
import { type Figure, type Goal, isCost, type Judged } from "../goals";
import { LIMITS } from "../limits";
import { number, table } from "./markdown";

const UNIT: Readonly<Record<Figure, string>> = {
  share: "",
  ratio: "x",
  slowdown: "x",
  milliseconds: " ms",
  megabytes: " MB",
};

function wanted({ figure }: Goal, value: number | undefined): string {
  return value === undefined ? "" : `${isCost(figure) ? "≤" : "≥"} ${number(value)}${UNIT[figure]}`;
}

function measured({ goal, value }: Judged): string {
  return value === undefined ? "–" : `${number(value)}${UNIT[goal.figure]}`;
}

function verdict({ verdict: word, note }: Judged): string {
  return note === "" ? word : `${word}${word === "missed" ? " " : ": "}${note}`;
}

/** One line of a terminal. */
export function verdictLine(judged: Judged): string {
  const { goal, line } = judged;
  const where = line
    ? `${line.shape.name}, ${line.rowKind}${line.contender.startsWith("surprisal") ? "" : `, ${line.contender}`}`
    : "";
  return `${verdict(judged).padEnd(16)} ${goal.says}: ${measured(judged)}, must ${wanted(goal, goal.must)}${goal.aim === undefined ? "" : `, aim ${wanted(goal, goal.aim)}`} (${where})`;
}

/** `predicted`: what is known of a goal's measure without a device, in a column of its own. */
export function goalsTable(judged: readonly Judged[], predicted?: (goal: Goal) => number | undefined): string[] {
  const prediction = (goal: Goal) => {
    const value = predicted?.(goal);
    return value === undefined ? "" : `≤ ${number(value)}`;
  };
  return table(
    ["goal", "must", "aim", "measured", ...["predicted, H200"].slice(predicted ? 0 : 1), "", "the worst of its cases"],
    judged.map((one) => {
      const { goal, line } = one;
      const mark = one.verdict === "missed" ? `**${verdict(one)}**` : verdict(one);
      const where = line
        ? [line.shape.name, line.rowKind, line.contender === "surprisal" ? "" : line.contender]
            .filter(Boolean)
            .join(", ")
        : "";
      const shown = [goal.says, wanted(goal, goal.must), wanted(goal, goal.aim), measured(one)];
      return predicted ? [...shown, prediction(goal), mark, where] : [...shown, mark, where];
    }),
  );
}

/** What holds the missed ones back, as far as it is known. */
export function limitsList(judged: readonly Judged[]): string[] {
  const known = judged.filter(({ goal, verdict: word }) => word === "missed" && goal.says in LIMITS);
  if (known.length === 0) return [];
  return [
    "What holds the missed ones back, as far as it is known:",
    "",
    ...known.map(({ goal }) => `- ${goal.says}: ${LIMITS[goal.says]}`),
    "",
  ];
}

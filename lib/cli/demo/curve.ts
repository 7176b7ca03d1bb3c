// The table of the demo, a line at a time: a run's line is printed when the run ends, so the widths are known before the cells are.
import type { Method } from "./train";

export interface RunAnswer {
  readonly method: Method;
  readonly seed: number;
  /** Mean rewards of the first step and of the last ten. */
  readonly rewardStart: number;
  readonly rewardEnd: number;
  readonly entropyEnd: number;
  readonly rewards: readonly number[];
  readonly seconds: number;
}

const BARS = "▁▂▃▄▅▆▇█";
const SHOWN = 30;
const COLUMNS = [
  ["method", 6],
  ["mean reward of each step", SHOWN],
  ["start", 5],
  ["end", 5],
  ["entropy", 7],
  ["time", 7],
] as const;

/** A line of block characters; rewards lie in [−0.5, 0.8]. */
function course(rewards: readonly number[]): string {
  const every = Math.max(1, rewards.length / SHOWN);
  return Array.from({ length: Math.min(SHOWN, rewards.length) }, (_, i) => {
    const share = (rewards[Math.floor(i * every)]! + 0.5) / 1.3;
    return BARS[Math.max(0, Math.min(BARS.length - 1, Math.floor(share * BARS.length)))]!;
  }).join("");
}

/** The first two cells to the left, numbers to the right. */
const row = (cells: readonly string[]): string =>
  `${cells
    .map((cell, c) => (c < 2 ? cell.padEnd(COLUMNS[c]![1]) : cell.padStart(COLUMNS[c]![1])))
    .join("  ")
    .trimEnd()}\n`;

export const heading = (): string =>
  row(COLUMNS.map(([title]) => title)) + row(COLUMNS.map(([, width]) => "-".repeat(width)));

export const line = ({ method, rewards, rewardStart, rewardEnd, entropyEnd, seconds }: RunAnswer): string =>
  row([
    method,
    course(rewards),
    rewardStart.toFixed(2),
    rewardEnd.toFixed(2),
    entropyEnd.toFixed(3),
    `${seconds.toFixed(1)} s`,
  ]);

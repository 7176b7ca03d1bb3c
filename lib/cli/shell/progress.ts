// A line on a terminal that says how far the work is, how fast it goes and how long it will take. Nothing where there is no terminal.
import { visible } from "../../report/visible";
import type { Sink } from "./host";

const REDRAW_MS = 100;
const BAR = 24;

/** 1234567 → "1.23 M". */
export function compact(value: number): string {
  for (const [unit, size] of [
    ["G", 1e9],
    ["M", 1e6],
    ["k", 1e3],
  ] as const)
    if (value >= size) return `${(value / size).toPrecision(3)} ${unit}`;
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toPrecision(2);
}

/** Seconds as people say them. */
export function duration(seconds: number): string {
  if (seconds < 1) return "<1 s";
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export interface Stage {
  readonly label: string;
  /** What is counted, in the plural. */
  readonly unit: string;
  /** Absent: the end is not known. */
  readonly total?: number;
}

/** The text of one moment; `width` is that of the terminal. */
export function progressLine({ label, unit, total }: Stage, done: number, seconds: number, width: number): string {
  const rate = seconds > 0 ? done / seconds : 0;
  const speed = rate > 0 ? `  ${compact(rate)} ${unit}/s` : "";
  let line: string;
  if (total === undefined || total <= 0) line = `${label}  ${compact(done)} ${unit}${speed}`;
  else {
    const share = Math.min(1, done / total);
    const full = Math.round(share * BAR);
    const left = rate > 0 && share < 1 ? `  ${duration((total - done) / rate)} left` : "";
    line = `${label}  ${"█".repeat(full)}${"░".repeat(BAR - full)} ${(100 * share).toFixed(0).padStart(3)} %${speed}${left}`;
  }
  return line.length < width ? line : line.slice(0, Math.max(0, width - 1));
}

export class Progress {
  private stage: Stage | undefined;
  private done = 0;
  private begun = 0;
  private drawn = -Infinity;
  private shown = false;

  constructor(
    private readonly sink: Sink,
    private readonly enabled: boolean,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Begins something new. */
  start(label: string, unit: string, total?: number): void {
    this.end();
    this.stage = { label: visible(label), unit, total };
    this.done = 0;
    this.begun = this.now();
    this.drawn = this.begun;
  }

  /** So much more is done. */
  advance(count: number): void {
    this.reach(this.done + count);
  }

  /** So much is done in all. */
  reach(done: number): void {
    this.done = done;
    const now = this.now();
    if (!this.enabled || !this.stage || now - this.drawn < REDRAW_MS) return;
    this.drawn = now;
    this.shown = true;
    const text = progressLine(this.stage, done, (now - this.begun) / 1000, this.sink.columns ?? 80);
    this.sink.write(`\r\u001b[2K${text}`);
  }

  /** Takes the line away. */
  end(): void {
    if (this.shown) this.sink.write("\r\u001b[2K");
    this.shown = false;
    this.stage = undefined;
  }
}

// One line of bench/results/*.jsonl: one contender, timed in one case of one run. Results of a GPU have the same fields.
import type { Spread } from "./harness/statistics";
import type { RoofKind } from "./roof/roof";

/** What the lines of a run have in common. */
export interface RunFacts {
  readonly date: string;
  /** Of the tree; "+" behind it: with changes that are not committed. */
  readonly commit: string;
  /** The processor (or GPU) and how many cores were there. No name of a host. */
  readonly machine: string;
  readonly cores: number;
  readonly caches: string;
  readonly pages: string;
  /** Kept on as many cores as it had threads. */
  readonly pinned: boolean;
  readonly versions: Readonly<Record<string, string>>;
  /** Instruction set of the roofs. */
  readonly roofs: string;
  /** Of a GPU: what drove it, where that was not the C ABI from Python: "Node". */
  readonly through?: string;
}

export interface ErrorFigure {
  readonly maxAbs: number;
  readonly maxRel: number;
  /** What was allowed, in words; absent: nothing is promised (of a peer). */
  readonly budget?: string;
  /** Largest share of it; at most 1, or the line would not be here. */
  readonly used?: number;
}

/** Of each output, by its name. */
export type Errors = Readonly<Record<string, ErrorFigure>>;

export interface ResultLine {
  readonly format: 1;
  readonly run: RunFacts;
  /** Family, as in lib/ops. */
  readonly kernel: string;
  /** The public function and what was asked of it: "logprobBackward, in place". */
  readonly op: string;
  readonly backend: string;
  /** Instruction set, or compute capability; "" of a peer. */
  readonly level: string;
  /** "surprisal", or who else did the same work: "torch tuned: TRL form". */
  readonly contender: string;
  readonly shape: { readonly name: string; readonly sizes: readonly number[] };
  readonly dtype: string;
  readonly rowKind: string;
  readonly threads: number;
  readonly metric: "time";
  readonly unit: "ms";
  readonly time: Spread;
  readonly repetitions: number;
  /** Part of the shape that was timed; the time is scaled up to the whole. Absent: all of it. */
  readonly part?: number;
  /** Each input read once, each output written once. */
  readonly bytes?: { readonly least: number; readonly formula: string };
  /** GB/s that memory gave in the same repetitions. */
  readonly roof?: { readonly kind: RoofKind; readonly gigabytesPerSecond: Spread };
  /** least bytes / time, as a share of the roof, by repetition. */
  readonly share?: Spread;
  /** Of any contender but the first: its time over that of "surprisal", by repetition. */
  readonly ratio?: Spread;
  /** By output. */
  readonly error: Readonly<Record<string, ErrorFigure>>;
  /** Peak growth of resident memory during a call, outputs not among it. */
  readonly extraMegabytes?: number;
  /** How unevenly the cores ran a fixed piece of work ahead of the case: (slowest − fastest) / fastest. */
  readonly canary?: number;
}

const NEEDED: Readonly<Record<string, string>> = {
  kernel: "string",
  op: "string",
  backend: "string",
  level: "string",
  contender: "string",
  dtype: "string",
  rowKind: "string",
  threads: "number",
  metric: "string",
  unit: "string",
  repetitions: "number",
  run: "object",
  shape: "object",
  time: "object",
  error: "object",
};

/** Reads JSON lines; refuses what lacks a field, by line number. */
export function parseLines(text: string, name: string): ResultLine[] {
  return text
    .split("\n")
    .map((line, i) => [line, i + 1] as const)
    .filter(([line]) => line.trim() !== "")
    .map(([line, number]) => {
      const found = JSON.parse(line) as Record<string, unknown>;
      if (found["format"] !== 1) throw new Error(`${name}:${number}: not format 1`);
      for (const [field, type] of Object.entries(NEEDED))
        if (typeof found[field] !== type) throw new Error(`${name}:${number}: ${field} is no ${type}`);
      return found as unknown as ResultLine;
    });
}

export function toLines(lines: readonly ResultLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

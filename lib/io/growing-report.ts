// The report of a reading, while it grows.
import type { Dialect, FileFormat, ReadReport, ReadWarning } from "./read-options";
import { withMinusInfinity } from "./minus-infinity";
import type { Place } from "./place";
import type { Rollout } from "./record";

const LISTED = 100;

export class GrowingReport implements ReadReport {
  format: FileFormat = "jsonl";
  dialect: Dialect | undefined;
  rewardFrom: string | undefined;
  gzip = false;
  bytes = 0;
  totalBytes: number | undefined;
  lines = 0;
  rollouts = 0;
  skipped = 0;
  minusInfinities = 0;
  cutOff: { readonly line: number; readonly bytes: number } | undefined;
  warningCount = 0;
  readonly warnings: ReadWarning[] = [];
  /** Each record stood on a line of its own, so that a reading of what is added later can begin where this one ended. */
  ofLines = false;
  readonly name: string;
  readonly #said = new Set<string>();

  constructor(name: string) {
    this.name = name;
  }

  /** The rollout as it is meant; log-probs that servers write for −∞ are counted. */
  meant(given: Rollout): Rollout {
    const { rollout, count } = withMinusInfinity(given);
    this.minusInfinities += count;
    return rollout;
  }

  warn(kind: ReadWarning["kind"], message: string, line?: number, field?: string): void {
    ++this.warningCount;
    if (this.warnings.length === LISTED) return;
    this.warnings.push({ kind, message, line, field });
  }

  /** A place that warns here; what is true of every record of a source is said once for each field. */
  place(op: string, line: number): Place {
    const { name: file } = this;
    return {
      op,
      file,
      line,
      warn: (kind, field, message) => {
        const general = field.replaceAll(/\d+/g, "#");
        if (kind !== "lengths" && (this.#said.has(`${kind} ${general}`) || this.#said.size === LISTED)) return;
        this.#said.add(`${kind} ${general}`);
        this.warn(kind, `${file}:${line}: ${field}: ${message}`, line, field);
      },
    };
  }
}

// The results of a run that has not ended: kept case by case beside the file that they will be, so that what was cut off can go on.
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type Case, titleOf } from "./harness/case";
import { OURS } from "./harness/names";
import { parseLines, type ResultLine, type RunFacts, toLines } from "./record";

/** The same code on the same machine: lines of such runs may stand side by side, since each is paired within its own case. */
function sameRun(a: RunFacts, b: RunFacts): boolean {
  return (
    a.commit === b.commit &&
    a.machine === b.machine &&
    a.cores === b.cores &&
    JSON.stringify(a.versions) === JSON.stringify(b.versions)
  );
}

export class Underway {
  private readonly partial: string;
  /** Of all cases so far, in the order in which they ran. */
  readonly lines: ResultLine[];

  /** `resume`: go on with what a run of the same code on the same machine left; else it is discarded. */
  constructor(
    private readonly file: string,
    facts: RunFacts,
    resume: boolean,
  ) {
    this.partial = `${file}.partial`;
    mkdirSync(dirname(file), { recursive: true });
    const left = resume && existsSync(this.partial) ? parseLines(readFileSync(this.partial, "utf8"), this.partial) : [];
    this.lines = left.filter(({ run }) => sameRun(run, facts));
    writeFileSync(this.partial, toLines(this.lines));
  }

  has(one: Case): boolean {
    const title = titleOf(one);
    return this.lines.some((line) => line.contender === OURS && titleOf(line) === title);
  }

  add(lines: readonly ResultLine[]): void {
    this.lines.push(...lines);
    appendFileSync(this.partial, toLines(lines));
  }

  finish(): void {
    renameSync(this.partial, this.file);
  }
}

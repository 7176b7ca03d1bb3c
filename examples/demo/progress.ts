// How far training is, on stderr: one line that is written over on a terminal, an occasional line elsewhere.
import type { MethodName } from "./methods";

const EVERY_MS = { terminal: 100, elsewhere: 10_000 } as const;

export interface ProgressStep {
  readonly method: MethodName;
  readonly seed: number;
  readonly step: number;
  readonly steps: number;
  readonly reward: number;
}

export class Progress {
  readonly #total: number;
  readonly #started = performance.now();
  readonly #terminal = process.stderr.isTTY;
  readonly #latest = new Map<string, ProgressStep>();
  #done = 0;
  #shown = -Infinity;

  constructor(totalSteps: number) {
    this.#total = totalSteps;
  }

  update(at: ProgressStep): void {
    this.#done += 1;
    const run = `${at.method} seed ${at.seed}`;
    this.#latest.set(run, at);
    const now = performance.now();
    if (now - this.#shown >= (this.#terminal ? EVERY_MS.terminal : EVERY_MS.elsewhere)) {
      this.#shown = now;
      this.#write(this.#line());
    }
    if (at.step === at.steps) this.#latest.delete(run);
  }

  /** Leaves the terminal's line empty. */
  finish(): void {
    if (this.#terminal) this.#write("");
  }

  #line(): string {
    const seconds = (performance.now() - this.#started) / 1000;
    const share = Math.floor((100 * this.#done) / this.#total);
    const runs = [...this.#latest].map(
      ([run, { step, steps, reward }]) => `${run}: step ${step}/${steps}, reward ${reward.toFixed(2)}`,
    );
    return [`${String(share).padStart(3)} %, ${seconds.toFixed(0)} s`, ...runs].join(" | ");
  }

  #write(line: string): void {
    const width = process.stderr.columns || 80;
    // A line longer than the terminal would wrap, and only its last part be written over.
    process.stderr.write(this.#terminal ? `\r\x1b[2K${line.slice(0, width - 1)}` : `${line}\n`);
  }
}

// Markdown out of numbers.
import type { Spread } from "../harness/statistics";
import type { ErrorFigure } from "../record";

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  // A bar would end the cell.
  const line = (texts: readonly string[]) => `| ${texts.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line), ""];
}

/** Three digits; exponents only where zeros would be counted. */
export function number(x: number): string {
  if (x === 0) return "0";
  if (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e6) return String(Number(x.toPrecision(3)));
  return x.toExponential(1);
}

export function milliseconds(ms: number): string {
  return ms < 0.1 ? `${number(ms * 1e3)} µs` : `${number(ms)} ms`;
}

export function spread({ median, p20, p80 }: Spread, show: (x: number) => string = number): string {
  return `${show(median)} (${show(p20)}–${show(p80)})`;
}

/** Errors by output: of what has a budget as a share of it, of others with the relative one, which is where they differ. */
export function errors(error: Readonly<Record<string, ErrorFigure>>): string {
  return Object.entries(error)
    .map(([name, { maxAbs, maxRel, used, budget }]) => {
      if (maxAbs === 0) return `${name} exact`;
      const beside =
        used === undefined
          ? `relative ${maxRel.toExponential(1)}`
          : `${Math.max(1, Math.round(100 * used))} % of ${budget}`;
      return `${name} ${maxAbs.toExponential(1)}, ${beside}`;
    })
    .join("; ");
}

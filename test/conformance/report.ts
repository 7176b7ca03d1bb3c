// What a person reads: a line a function, the failing cases under it, a closing line.
import type { BackendReport, CaseResult, FunctionReport, Totals } from "./run";

/** Failing cases shown for one function; `--json` lists all. */
const SHOWN_FAILURES = 10;

export function closingLine({ passed, failed, skipped, leftOut, notImplemented }: Totals): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped, ${leftOut} left out, ${notImplemented} not implemented`;
}

export function backendLines({ backend, functions, totals }: BackendReport): string[] {
  const width = Math.max(...functions.map((f) => title(f).length));
  return [
    `backend ${backend}`,
    ...functions.flatMap((f) => functionLines(f, width)),
    `${backend}: ${closingLine(totals)}${maskedNote(totals)}`,
    "",
  ];
}

function title({ family, function: name }: FunctionReport): string {
  return `${family}/${name}`;
}

function functionLines(report: FunctionReport, width: number): string[] {
  const { totals, cases } = report;
  const parts = [
    [totals.passed, "passed"],
    [totals.failed, "failed"],
    [totals.skipped, "skipped"],
    [totals.leftOut, "left out"],
    [totals.notImplemented, "not implemented"],
  ] as const;
  const counts = parts.filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}`);
  return [
    `  ${title(report).padEnd(width)}  ${counts.join(", ") || "no cases"}${maskedNote(totals)}${report.backendFree ? " (uses no backend)" : ""}`,
    ...(report.notCompared === undefined ? [] : [`    not compared: ${report.notCompared}`]),
    ...skipLines(cases),
    ...failureLines(cases),
  ];
}

function maskedNote({ maskedNotCompared }: Totals): string {
  return maskedNotCompared > 0 ? ` (${maskedNotCompared} masked positions not compared)` : "";
}

/** One line a reason: many cases are usually skipped for the same one. */
function skipLines(cases: readonly CaseResult[]): string[] {
  const byReason = new Map<string, number>();
  for (const result of cases) {
    if (result.status === "skipped") byReason.set(result.reason, (byReason.get(result.reason) ?? 0) + 1);
  }
  const left = cases.find((result) => result.status === "leftOut");
  return [
    ...Array.from(byReason, ([reason, n]) => `    skipped ${n}: ${reason}`),
    ...(left ? [`    left out: ${left.reason}`] : []),
  ];
}

function failureLines(cases: readonly CaseResult[]): string[] {
  const failed = cases.flatMap((result) => (result.status === "failed" ? [result] : []));
  const lines = failed
    .slice(0, SHOWN_FAILURES)
    .flatMap(({ name, differences }) => [
      `    failed ${name}`,
      ...differences.map(({ path, message }) => `      ${path}: ${message}`),
    ]);
  const hidden = failed.length - SHOWN_FAILURES;
  return hidden > 0 ? [...lines, `    and ${hidden} more failed (all of them with --json)`] : lines;
}

/** JSON has no NaN and no infinities: they are written as strings, as in golden files. */
export function toJson(document: unknown): string {
  return JSON.stringify(
    document,
    (_, value: unknown) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value),
    2,
  );
}

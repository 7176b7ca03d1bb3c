// expect(got).toBeAllClose(want, { rtol, atol }): numbers, typed arrays, arrays and plain objects of them, nested.
// A typed array is close to an array of the same numbers: the kind is not compared, the structure is.
import { compareNumbers, isNumberArray, type NumbersReport, type Tolerance } from "./close";

interface Finding extends NumbersReport {
  path: string;
}

function isNumberList(value: unknown): value is ArrayLike<number> {
  return isNumberArray(value) || (Array.isArray(value) && value.every((v) => typeof v === "number"));
}

function kindOf(value: unknown): string {
  if (isNumberArray(value) || Array.isArray(value)) return `array of ${value.length}`;
  return value === null ? "null" : typeof value;
}

/** Walks both values side by side. Returns what differs in structure, else collects the numeric findings. */
function walk(
  got: unknown,
  want: unknown,
  tolerance: Tolerance,
  path: string,
  findings: Finding[],
): string | undefined {
  if (typeof want === "number" && typeof got === "number") {
    findings.push({ path, ...compareNumbers([got], [want], tolerance) });
    return undefined;
  }
  if (isNumberList(want) && isNumberList(got)) {
    if (got.length !== want.length) return `${path}: length is ${got.length}, expected ${want.length}`;
    findings.push({ path, ...compareNumbers(got, want, tolerance) });
    return undefined;
  }
  if (Array.isArray(want) && Array.isArray(got)) {
    if (got.length !== want.length) return `${path}: length is ${got.length}, expected ${want.length}`;
    return firstProblem(want, (_, i) => walk(got[i], want[i], tolerance, `${path}[${i}]`, findings));
  }
  if (isRecord(want) && isRecord(got)) {
    const extra = Object.keys(got).find((key) => !(key in want));
    if (extra !== undefined) return `${path}: unexpected key "${extra}"`;
    return firstProblem(Object.keys(want), (key) =>
      key in got
        ? walk(got[key], want[key], tolerance, `${path}.${key}`, findings)
        : `${path}: key "${key}" is missing`,
    );
  }
  return Object.is(got, want) ? undefined : `${path}: is ${kindOf(got)}, expected ${kindOf(want)}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return Object.prototype.toString.call(value) === "[object Object]";
}

function firstProblem<T>(items: readonly T[], check: (item: T, index: number) => string | undefined) {
  for (let i = 0; i < items.length; ++i) {
    const problem = check(items[i] as T, i);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function describeFinding({ path, compared, mismatches, worst }: Finding): string {
  if (!worst) return `${path}: all ${compared} close`;
  return (
    `${path}: ${mismatches} of ${compared} differ; worst at [${worst.index}]: got ${worst.got}, ` +
    `expected ${worst.want}, difference ${Math.abs(worst.got - worst.want)}, allowed ${worst.allowed}`
  );
}

expect.extend({
  toBeAllClose(got: unknown, want: unknown, tolerance: Tolerance) {
    const findings: Finding[] = [];
    const problem = walk(got, want, tolerance, "value", findings);
    const bad = findings.filter((finding) => finding.mismatches > 0);
    const pass = problem === undefined && bad.length === 0;
    const lines = problem === undefined ? (pass ? findings : bad).map(describeFinding) : [problem];
    return {
      pass,
      message: () => [this.utils.matcherHint(pass ? ".not.toBeAllClose" : ".toBeAllClose"), "", ...lines].join("\n"),
    };
  },
});

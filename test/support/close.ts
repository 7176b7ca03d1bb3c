// Closeness of numbers: |got - want| <= atol + rtol * |want|. NaN is close to NaN, an infinity only to itself.
// No jest in here, so that programs can use it too.

export interface Tolerance {
  /** Allowed error relative to the wanted value. Defaults to 0. */
  rtol?: number;
  /** Allowed error whatever the size of the value. Defaults to 0. */
  atol?: number;
}

export interface NumbersReport {
  /** How many pairs were compared. */
  compared: number;
  mismatches: number;
  /** The pair that exceeds its allowance most; present when there are mismatches. */
  worst?: { index: number; got: number; want: number; allowed: number };
}

function allowedError(want: number, { rtol = 0, atol = 0 }: Tolerance): number {
  return Number.isFinite(want) ? atol + rtol * Math.abs(want) : 0;
}

function isClose(got: number, want: number, tolerance: Tolerance): boolean {
  // Object.is separates NaN from numbers, === joins 0 and -0 and equal infinities.
  if (got === want || Object.is(got, want)) return true;
  return Math.abs(got - want) <= allowedError(want, tolerance);
}

/** How far a mismatch is beyond what is allowed: the larger, the worse. A wrong NaN or infinity is worst of all. */
function excess(got: number, want: number, tolerance: Tolerance): number {
  const error = Math.abs(got - want);
  return Number.isNaN(error) ? Infinity : error - allowedError(want, tolerance);
}

/** Compares element by element; `select(i)` false leaves element i out. Both have the same length. */
export function compareNumbers(
  got: ArrayLike<number>,
  want: ArrayLike<number>,
  tolerance: Tolerance,
  select?: (index: number) => boolean,
): NumbersReport {
  const report: NumbersReport = { compared: 0, mismatches: 0 };
  let worstExcess = -1;
  for (let index = 0; index < want.length; ++index) {
    if (select && !select(index)) continue;
    ++report.compared;
    const g = got[index] as number;
    const w = want[index] as number;
    if (isClose(g, w, tolerance)) continue;
    ++report.mismatches;
    const e = excess(g, w, tolerance);
    if (e > worstExcess) {
      worstExcess = e;
      report.worst = { index, got: g, want: w, allowed: allowedError(w, tolerance) };
    }
  }
  return report;
}

/** Any view of numbers, whatever realm made it. BigInt views and DataView are not number arrays. */
export function isNumberArray(value: unknown): value is ArrayLike<number> {
  if (!ArrayBuffer.isView(value)) return false;
  const tag = Object.prototype.toString.call(value);
  return tag !== "[object DataView]" && !tag.startsWith("[object Big");
}

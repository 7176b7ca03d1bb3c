// Whether two backends give the same: the same error, or the same numbers to a tolerance; NaN, infinities, integers and lengths
// exactly.
import { SurprisalError } from "../../lib";

export type Outcome = { readonly error: string } | { readonly result: unknown };

export function outcomeOf(call: () => unknown): Outcome {
  try {
    return { result: call() };
  } catch (error) {
    if (error instanceof SurprisalError) return { error: error.code };
    throw error;
  }
}

/** The first difference, as "path: wanted, got"; undefined where there is none. `scale`: how large the numbers are that went in. */
export function difference(wanted: Outcome, got: Outcome, tolerance: number, scale: number): string | undefined {
  if ("error" in wanted || "error" in got) {
    const [a, b] = [wanted, got].map((outcome) => ("error" in outcome ? outcome.error : "a result"));
    return a === b ? undefined : `${a}, ${b}`;
  }
  return compare("", wanted.result, got.result, tolerance, scale);
}

function compare(path: string, wanted: unknown, got: unknown, tolerance: number, scale: number): string | undefined {
  if (typeof wanted === "number" && typeof got === "number")
    return close(wanted, got, tolerance, scale) ? undefined : `${path}: ${wanted}, ${got}`;
  if (typeof wanted !== "object" || wanted === null || typeof got !== "object" || got === null)
    return Object.is(wanted, got) ? undefined : `${path}: ${String(wanted)}, ${String(got)}`;
  const exact = ArrayBuffer.isView(wanted) && !(wanted instanceof Float32Array || wanted instanceof Float64Array);
  const [a, b] = [Object.entries(wanted), Object.entries(got)];
  if (a.length !== b.length) return `${path}.length: ${a.length}, ${b.length}`;
  const rounding = wanted instanceof Float32Array ? 3e-7 : 0;
  for (const [i, [name, value]] of a.entries()) {
    const found = compare(`${path}.${name}`, value, b[i]![1], exact ? 0 : tolerance + rounding, scale);
    if (found !== undefined) return found;
  }
  return undefined;
}

function close(wanted: number, got: number, tolerance: number, scale: number): boolean {
  if (Number.isNaN(wanted) || Number.isNaN(got)) return Number.isNaN(wanted) && Number.isNaN(got);
  if (!Number.isFinite(wanted) || !Number.isFinite(got)) return wanted === got;
  return Math.abs(wanted - got) <= tolerance * Math.max(scale, Math.abs(wanted));
}

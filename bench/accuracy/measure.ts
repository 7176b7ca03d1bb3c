// How far outputs are from their definition, and from the budget that the op's header states.
import type { BackendName } from "../../lib";

export type FloatName = "float64" | "float32" | "float16" | "bfloat16";

export interface Budget {
  /** The header's words, short enough for a table. */
  readonly says: string;
  /** Largest absolute error of element i, whose definition gives `want`. undefined = the header promises no figure. */
  readonly allowed: ((want: number, i: number) => number) | undefined;
}

export interface Expected {
  readonly values: ArrayLike<number>;
  readonly budget: Budget;
}

export interface Case {
  readonly op: string;
  /** Of the inputs. */
  readonly dtype: FloatName;
  /** What kind of input: "random", "peaked", … */
  readonly input: string;
  /** By output; float64 definitions. */
  readonly want: Readonly<Record<string, Expected>>;
  readonly run: (backend: BackendName) => Readonly<Record<string, ArrayLike<number>>>;
}

export interface Measurement {
  readonly op: string;
  readonly output: string;
  readonly dtype: FloatName;
  readonly input: string;
  readonly backend: BackendName;
  readonly compared: number;
  /** Largest |got − want|. Infinity where NaN or an infinity is missing or too many. */
  readonly maxAbs: number;
  /** Largest |got − want| / |want| where want is neither 0 nor infinite. */
  readonly maxRel: number;
  readonly budget: string;
  /** Largest |got − want| / allowed; above 1 is outside. undefined without a stated figure. */
  readonly used: number | undefined;
  readonly within: boolean | undefined;
}

/** Equal infinities and two NaN have no error; a wrong one has no bound. */
function errorOf(got: number, want: number): number {
  if (got === want || (Number.isNaN(got) && Number.isNaN(want))) return 0;
  const error = Math.abs(got - want);
  return Number.isNaN(error) ? Infinity : error;
}

export function compare(got: ArrayLike<number>, { values, budget }: Expected) {
  if (got.length !== values.length) throw new Error(`${got.length} results, the definition has ${values.length}`);
  let maxAbs = 0;
  let maxRel = 0;
  let used = 0;
  for (let i = 0; i < values.length; ++i) {
    const want = values[i]!;
    const error = errorOf(got[i]!, want);
    if (error === 0) continue;
    maxAbs = Math.max(maxAbs, error);
    if (want !== 0 && Number.isFinite(want)) maxRel = Math.max(maxRel, error / Math.abs(want));
    // x/0 is Infinity: outside of a budget of 0.
    if (budget.allowed) used = Math.max(used, error / budget.allowed(want, i));
  }
  // A wrong NaN or infinity is wrong without a stated figure too.
  const outside = used > 1 || maxAbs === Infinity;
  return {
    compared: values.length,
    maxAbs,
    maxRel,
    budget: budget.says,
    used: budget.allowed ? used : undefined,
    within: budget.allowed || outside ? !outside : undefined,
  };
}

/** One measurement an output, in the order of `want`. */
export function measure({ op, dtype, input, want, run }: Case, backend: BackendName): Measurement[] {
  const got = run(backend);
  return Object.entries(want).map(([output, expected]) => {
    const found = got[output];
    if (!found) throw new Error(`${op}: the case gives no ${output}`);
    return { op, output, dtype, input, backend, ...compare(found, expected) };
  });
}

export function isOutside({ within }: Measurement): boolean {
  return within === false;
}

// Numbers that an op cannot take: a backend finds them in the pass that it makes anyway, and only then somebody looks for the place.
import { SurprisalError, valueError } from "./errors";

/** What a backend throws: an argument has a NaN, or an infinity where the op takes none. */
export function notFinite(name: string): SurprisalError {
  return new SurprisalError("ERR_SURPRISAL_VALUE", `${name} has a number that is not finite`, { name });
}

/** An argument as a refusal names it. */
export interface Numbers {
  readonly name: string;
  readonly values: ArrayLike<number>;
  /** Whether an element counts. */
  readonly kept: (i: number) => boolean;
}

/** What an op takes: every number and ±Infinity, or finite numbers alone. */
export type Takes = "a number" | "a finite number";

/** The refusal of a backend with the first such element by name; any other error as it is. */
export function namedNumber(
  op: string,
  error: unknown,
  takes: Takes,
  inputs: readonly Numbers[],
  hint: string,
): unknown {
  if (!(error instanceof SurprisalError) || error.code !== "ERR_SURPRISAL_VALUE") return error;
  const refused = (x: number): boolean => (takes === "a number" ? Number.isNaN(x) : !Number.isFinite(x));
  for (const { name, values, kept } of inputs)
    for (let i = 0; i < values.length; ++i)
      if (refused(values[i]!) && kept(i)) return valueError(op, `${name}[${i}]`, values[i], takes, hint);
  return error;
}

import type { ErrorDetails } from "../../lib";

/** Code, function and argument of the error that a call throws; undefined where it throws none. */
export function errorFacts(call: () => unknown): readonly (string | undefined)[] | undefined {
  try {
    call();
  } catch (error) {
    const { code, details } = error as { code?: string; details?: ErrorDetails };
    return [code, details?.op, details?.name];
  }
  return undefined;
}

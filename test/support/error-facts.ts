import type { ErrorDetails } from "../../lib";
import { thrownBy } from "./thrown-by";

/** Code, function and argument of the error that a call throws; undefined where it throws none. */
export function errorFacts(call: () => unknown): readonly (string | undefined)[] | undefined {
  const error = thrownBy(call) as { code?: string; details?: ErrorDetails } | undefined;
  return error && [error.code, error.details?.op, error.details?.name];
}

import { thrownBy } from "./thrown-by";

/** The code of the error that a call throws; undefined where it throws none, or one without a code. */
export function errorCode(call: () => unknown): string | undefined {
  return (thrownBy(call) as { code?: string } | undefined)?.code;
}

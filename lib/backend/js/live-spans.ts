// Lists of spans whose number is known where they lie.
import { SurprisalError } from "../../core/errors";

/** How many of the S spans of a call there are. */
export function liveSpans({ S, found }: { readonly S: number; readonly found: BigInt64Array | null }): number {
  const count = found ? Number(found[0]) : S;
  if (count <= S) return count;
  throw new SurprisalError(
    "ERR_SURPRISAL_SHAPE",
    `${count} spans were found, but there is room for ${S}; pass a larger capacity`,
  );
}

// Lists of spans whose number is known where they lie.
import { SurprisalError } from "../../core/errors";

/** How many of the S spans of a call there are. */
export function liveSpans({ S, count }: { readonly S: number; readonly count: BigInt64Array | null }): number {
  const live = count ? Number(count[0]) : S;
  if (live <= S) return live;
  throw new SurprisalError(
    "ERR_SURPRISAL_SHAPE",
    `${live} spans were found, but there is room for ${S}; pass a larger capacity`,
  );
}

// Which tokens of a response were generated: those up to its end token.
import type { BackendOption } from "../../backend/select";
import { needIds, type TokenIds } from "../../core/arrays";
import { needRows, type RowLayout } from "../../core/row-layout";
import { type EndIds, firstEnds, needEndIds } from "./first-end";

export interface EndOfSequenceMaskOptions extends RowLayout, BackendOption {
  /** The id, or the ids, that end a response. */
  readonly endIds: EndIds;
}

/**
 * Marks each row up to and including its first end token; all of a row without one.
 *
 * @param tokens ids, [n] as `shape` or `offsets` say
 * @returns 0 and 1, [n]
 * @throws SurprisalError ERR_SURPRISAL_SHAPE (no end id, a wrong length), _DTYPE, _OPTION, _RANGE or _BUFFER
 */
export function endOfSequenceMask(tokens: TokenIds, options: EndOfSequenceMaskOptions): Uint8Array {
  const op = "endOfSequenceMask";
  const rows = needRows(op, options);
  const ids = needIds(op, "tokens", tokens, rows.n, rows.meaning);
  const ends = needEndIds(op, "endIds", options.endIds);
  const { backend } = options;
  return firstEnds(ids, ends, rows, options, { backend }).mask;
}

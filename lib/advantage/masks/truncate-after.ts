// Responses cut behind their first stop token.
import type { BackendOption } from "../../backend/select";
import { needIds, type TokenIds } from "../../core/arrays";
import { needRows, type RowLayout } from "../../core/row-layout";
import { type EndIds, firstEnds, needEndIds } from "./first-end";

export interface TruncateAfterOptions extends RowLayout, BackendOption {
  /** The id, or the ids, behind which a row is cut. */
  readonly stopIds: EndIds;
  /** What the tokens behind become. */
  readonly padId: number;
}

export interface TruncateAfterResult {
  /** The tokens, with `padId` behind the first stop of each row. */
  readonly tokens: Int32Array;
  /** 1 up to and including the first stop, 0 behind it. */
  readonly mask: Uint8Array;
  /** Where the first stop stands in its row; the row's length without one. One per row. */
  readonly firstStops: Int32Array;
}

/**
 * Replaces what stands behind the first stop token of each row by padding. A row without stop token stays as it is.
 *
 * @param tokens ids, [n] as `shape` or `offsets` say; they are not changed
 * @throws SurprisalError ERR_SURPRISAL_SHAPE (no stop id, a wrong length), _DTYPE, _OPTION, _RANGE or _BUFFER
 */
export function truncateAfter(tokens: TokenIds, options: TruncateAfterOptions): TruncateAfterResult {
  const op = "truncateAfter";
  const rows = needRows(op, options);
  const ids = needIds(op, "tokens", tokens, rows.n, rows.meaning);
  const stops = needEndIds(op, "stopIds", options.stopIds);
  const [padId] = needIds(op, "padId", [options.padId]);
  const { backend } = options;
  const { mask, positions } = firstEnds(ids, stops, rows, options, { backend });
  return { tokens: ids.map((id, i) => (mask[i] !== 0 ? id : padId!)), mask, firstStops: positions };
}

// Completions that ran into their length limit, left out of the loss.
import { needIds, optionalMask, type TokenIds } from "../../core/arrays";
import { needRows, rowBegin, rowEnd, type RowLayout } from "../../core/row-layout";
import { type EndIds, needEndIds } from "./first-end";

export interface TruncatedCompletionMaskOptions extends RowLayout {
  /** The id, or the ids, that end a completion. */
  readonly endIds: EndIds;
  /** A row that ends in this id is complete too: it was shorter than the batch. Default: none. */
  readonly padId?: number;
  /** 1 = a token of the completion. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface TruncatedCompletionMaskResult {
  /** `mask`, with 0 in all of a truncated row; one per token. */
  readonly mask: Uint8Array;
  /** 1 = the row's completion was cut off; one per row. */
  readonly truncated: Uint8Array;
}

/**
 * Masks all of a row whose last token is neither an end nor padding. The last token is the last kept one, without `mask` the
 * row's last. A row without tokens is not truncated.
 *
 * @param tokens ids, [n] as `shape` or `offsets` say
 * @throws SurprisalError ERR_SURPRISAL_SHAPE (no end id, a wrong length), _DTYPE, _OPTION, _RANGE or _BUFFER
 */
export function truncatedCompletionMask(
  tokens: TokenIds,
  options: TruncatedCompletionMaskOptions,
): TruncatedCompletionMaskResult {
  const op = "truncatedCompletionMask";
  const rows = needRows(op, options);
  const ids = needIds(op, "tokens", tokens, rows.n, rows.meaning);
  const complete = new Set(needEndIds(op, "endIds", options.endIds));
  if (options.padId !== undefined) complete.add(needIds(op, "padId", [options.padId])[0]!);
  const given = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const mask = given ? given.map((flag) => (flag !== 0 ? 1 : 0)) : new Uint8Array(rows.n).fill(1);
  const truncated = new Uint8Array(rows.B);
  for (let b = 0; b < rows.B; ++b) {
    const [begin, end] = [rowBegin(rows, b), rowEnd(rows, b)];
    let last = end - 1;
    while (last >= begin && mask[last] === 0) --last;
    if (last < begin || complete.has(ids[last]!)) continue;
    truncated[b] = 1;
    mask.fill(0, begin, end);
  }
  return { mask, truncated };
}

// Segments and positions of sequences that lie in one row, one behind the other.
import { needIds, type TokenIds } from "../core/arrays";
import { rangeError } from "../core/errors";
import { needRows } from "../core/row-layout";

/**
 * The segment of each token of packed sequences: 1 for the first sequence, 2 for the second, …
 *
 * @throws SurprisalError ERR_SURPRISAL_DTYPE or _RANGE, naming `offsets`
 */
export function segmentIds(offsets: Int32Array): Int32Array {
  const { n, B } = needRows("segmentIds", { offsets });
  const ids = new Int32Array(n);
  for (let b = 0; b < B; ++b) ids.fill(b + 1, offsets[b], offsets[b + 1]);
  return ids;
}

/**
 * Where each token stands in its segment of its row, from 0:
 *
 *     position[b,t] = #{s < t : segments[b,s] = segments[b,t]}        0 where the segment is 0, which is padding
 *
 * A segment may be in several pieces: it is counted on.
 *
 * @param segments ids per token, >= 0
 * @param options `shape` of the rows; default: one row
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE or _RANGE, naming the argument
 */
export function positionIds(
  segments: TokenIds,
  options: { readonly shape?: readonly [rows: number, tokens: number] } = {},
): Int32Array {
  const op = "positionIds";
  const given = needIds(op, "segments", segments);
  const { B, T } = needRows(op, { shape: options.shape ?? [1, given.length] });
  needIds(op, "segments", given, B * T, "rows * tokens");
  const positions = new Int32Array(given.length);
  for (let b = 0; b < B; ++b) {
    const seen = new Map<number, number>();
    for (let i = b * T; i < (b + 1) * T; ++i) {
      const segment = given[i]!;
      if (segment < 0) throw rangeError(op, `segments[${i}]`, segment, "an id >= 0");
      if (segment === 0) continue;
      const position = seen.get(segment) ?? 0;
      positions[i] = position;
      seen.set(segment, position + 1);
    }
  }
  return positions;
}

// Lists of alternatives, one list per token, as flat arrays.
import type { TopK } from "../record";

/** One alternative; id and text where the source has them. */
export interface Alternative {
  readonly logProb: number;
  readonly id?: number | undefined;
  readonly token?: string | undefined;
}

/** undefined where no list has an entry. Ids and texts are kept where every alternative has one. */
export function topKOf(lists: readonly (readonly Alternative[])[]): TopK | undefined {
  const all = lists.flat();
  if (all.length === 0) return undefined;
  const offsets = new Int32Array(lists.length + 1);
  lists.forEach((list, t) => {
    offsets[t + 1] = offsets[t]! + list.length;
  });
  const ids = all.every(({ id }) => id !== undefined) ? Int32Array.from(all, ({ id }) => id!) : undefined;
  const tokens = all.every(({ token }) => token !== undefined) ? all.map(({ token }) => token!) : undefined;
  return {
    offsets,
    logProbs: Float64Array.from(all, ({ logProb }) => logProb),
    ids,
    tokens,
  };
}

// The number at one end of each row: the value of a turn's first token, the reward at its last one.
import { needsHostArrays } from "../../core/device-ops";
import { needFloats } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { allocateFloat, floatDType } from "../../core/float-arrays";
import { needWord } from "../../core/option-checks";
import { needMaskedRows, rowBegin, rowEnd, type RowLayout } from "../../core/row-layout";

needsHostArrays("endValues", "the ends of rows are looked for in host memory");

const ENDS = ["first", "last"] as const;

export interface EndValuesOptions extends RowLayout {
  /** The first or the last kept token of the row. */
  readonly at: (typeof ENDS)[number];
  /** 1 = kept, 0 = is not read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/**
 * Picks the number at the first or last kept token of each row; with `offsets` of `segments`, of each segment.
 *
 * @param values per token; [n] as `shape` or `offsets` say
 * @returns one per row, in the type of `values`; 0 for a row without a kept token
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function endValues(values: FloatArray, options: EndValuesOptions): FloatArray {
  const op = "endValues";
  const { rows, mask } = needMaskedRows(op, options);
  const given = needFloats(op, "values", values, rows.n, rows.meaning);
  const step = needWord(op, "at", options.at, ENDS) === 0 ? 1 : -1;
  const picked = allocateFloat(floatDType(given), rows.B);
  for (let b = 0; b < rows.B; ++b) {
    const [begin, end] = [rowBegin(rows, b), rowEnd(rows, b)];
    let i = step > 0 ? begin : end - 1;
    while (i >= begin && i < end && mask?.[i] === 0) i += step;
    if (i >= begin && i < end) picked[b] = given[i]!;
  }
  return picked;
}

// Arrays that have one entry per row or one per token.
import { needFloats } from "./arrays";
import type { FloatArray } from "./dtype";
import { optionError } from "./errors";
import { needWord } from "./option-checks";
import type { Rows } from "./row-layout";

const UNITS = ["row", "token"] as const;
/** What an entry belongs to. */
export type Per = (typeof UNITS)[number];

/** A checked array with an entry a row or a token. */
export interface PerRowOrToken {
  readonly array: FloatArray;
  readonly perToken: boolean;
}

function everyRowHasOneToken({ B, T, offsets }: Rows): boolean {
  if (!offsets) return T === 1;
  for (let b = 0; b < B; ++b) if (offsets[b + 1]! - offsets[b]! !== 1) return false;
  return true;
}

/**
 * Reads `values` per row or per token as `option`, `<name>Per`, says, else by length. As many rows as tokens, but not one of
 * each, leave that open: then it must be said.
 */
export function needPerRowOrToken(
  op: string,
  name: string,
  values: unknown,
  rows: Rows,
  per: Per | undefined,
  option = `${name}Per`,
): PerRowOrToken {
  const { n, B, meaning } = rows;
  if (per !== undefined) needWord(op, option, per, UNITS);
  const length = (values as FloatArray | undefined)?.length;
  if (per === undefined && n === B && length === n && !everyRowHasOneToken(rows))
    throw optionError(op, option, per, `"row" or "token", since there are as many rows as tokens`);
  const perToken = per === undefined ? length !== B : per === "token";
  const array = perToken
    ? needFloats(op, name, values, n, per === undefined ? `${meaning}, or ${B}: one per row` : meaning)
    : needFloats(op, name, values, B, "one per row");
  return { array, perToken };
}

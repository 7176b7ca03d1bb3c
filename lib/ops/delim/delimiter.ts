// What callers may pass as a delimiter, and how backends take it.
import { needIds } from "../../core/arrays";
import { typedArrayName } from "../../core/dtype";
import { dtypeError, show, SurprisalError } from "../../core/errors";

/** One way in which a delimiter appears among token ids. An object with `ids` is one too: see `delimiterVariants`. */
export type Alternative =
  | readonly number[]
  | Int32Array
  | BigInt64Array
  | { readonly ids: readonly number[] | Int32Array };

/**
 * An id sequence, or a list of alternatives: tokenizers merge a delimiter with what stands around it, so one string has
 * several. At a token the longest alternative that matches wins, then the one listed first.
 */
export type Delimiter = Alternative | readonly Alternative[];

/** Alternatives behind one another: alternative k is ids[offsets[k]] … ids[offsets[k+1] - 1]. */
export interface PackedDelimiter {
  readonly ids: Int32Array;
  readonly offsets: Int32Array;
  readonly count: number;
}

function isAlternative(value: unknown): boolean {
  return (
    Array.isArray(value) ||
    typedArrayName(value) !== undefined ||
    (typeof value === "object" && value !== null && "ids" in value)
  );
}

function idsOf(op: string, name: string, alternative: unknown): Int32Array {
  const wrapped = typeof alternative === "object" && alternative !== null && "ids" in alternative;
  const ids = wrapped ? needIds(op, `${name}.ids`, alternative.ids) : needIds(op, name, alternative);
  if (ids.length > 0) return ids;
  throw new SurprisalError("ERR_SURPRISAL_SHAPE", `${op}: ${name} is empty, expected at least one token id`, {
    op,
    name,
    got: 0,
    want: "at least one token id",
  });
}

/** What each argument was in the last call: most calls of a program have the same delimiters, and nobody writes into these. */
const lastPacked = new Map<string, PackedDelimiter>();

/** Whether an alternative is the one in `place`, number by number. */
function isThat(alternative: unknown, { ids, offsets }: PackedDelimiter, place: number): boolean {
  const wrapped = typeof alternative === "object" && alternative !== null && "ids" in alternative;
  const given: unknown = wrapped ? alternative.ids : alternative;
  if (!Array.isArray(given) && !(given instanceof Int32Array)) return false;
  const begin = offsets[place]!;
  if (given.length !== offsets[place + 1]! - begin) return false;
  for (let k = 0; k < given.length; ++k) if (given[k] !== ids[begin + k]) return false;
  return true;
}

function isPacked(delimiter: unknown, packed: PackedDelimiter): boolean {
  const list = Array.isArray(delimiter) && isAlternative(delimiter[0]);
  if (!list) return packed.count === 1 && isThat(delimiter, packed, 0);
  return delimiter.length === packed.count && delimiter.every((each, place) => isThat(each, packed, place));
}

/**
 * Reads and checks a delimiter.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE for an empty sequence or list, _DTYPE for anything that holds no ids, _RANGE for
 * an id that is no int32
 */
export function needDelimiter(op: string, name: string, delimiter: unknown): PackedDelimiter {
  if (typeof delimiter === "string")
    throw dtypeError(
      op,
      name,
      delimiter,
      "token ids",
      `delimiterVariants(${show(delimiter)}, encode) returns those of a text, encode being your tokenizer's (text) => ids`,
    );
  const last = lastPacked.get(name);
  if (last && isPacked(delimiter, last)) return last;
  const list = Array.isArray(delimiter) && isAlternative(delimiter[0]) ? (delimiter as readonly unknown[]) : undefined;
  const alternatives = list ? list.map((item, k) => idsOf(op, `${name}[${k}]`, item)) : [idsOf(op, name, delimiter)];
  const offsets = new Int32Array(alternatives.length + 1);
  alternatives.forEach((ids, k) => {
    offsets[k + 1] = offsets[k]! + ids.length;
  });
  const ids = new Int32Array(offsets[alternatives.length]!);
  alternatives.forEach((alternative, k) => {
    ids.set(alternative, offsets[k]);
  });
  const packed = { ids, offsets, count: alternatives.length };
  lastPacked.set(name, packed);
  return packed;
}

// Numbers per row of all workers, in the order of the global batch: what is added up from them has the bits of one worker.
import type { Collective } from "./collective";
import { SurprisalError } from "./errors";

/** Rows of all workers. */
export interface GatheredRows {
  /** [rows of all, width], rank after rank. */
  readonly partials: Float64Array;
  /** The rows of this worker are begin … end − 1. */
  readonly begin: number;
  readonly end: number;
}

/** One small integer of each rank. */
export function gatherIntegers(collective: Collective, value: number): number[] {
  return collective.allGather(Int32Array.of(value)).map((values) => values[0]!);
}

/** Refuses numbers that differ between ranks: the same error on all of them. */
export function needAgreement(op: string, name: string, collective: Collective, value: number): void {
  const values = gatherIntegers(collective, value);
  if (values.every((other) => other === values[0])) return;
  const got = values.map((other, rank) => `${other} on rank ${rank}`).join(", ");
  throw new SurprisalError("ERR_SURPRISAL_SHAPE", `${op}: ${name} is ${got}, expected the same on all ranks`, {
    op,
    name,
    got,
    want: "the same on all ranks",
  });
}

/** Runs a check on every rank; where it throws on one, all ranks throw: the others say which. */
export function checkTogether(op: string, collective: Collective | undefined, check: () => void): void {
  if (!collective) return check();
  let refusal: unknown;
  try {
    check();
  } catch (error) {
    refusal = error;
  }
  const refusals = gatherIntegers(collective, refusal === undefined ? 0 : 1);
  if (refusal !== undefined) throw refusal as Error;
  const rank = refusals.indexOf(1);
  if (rank < 0) return;
  throw new SurprisalError("ERR_SURPRISAL_VALUE", `${op}: rank ${rank} refused its input; the error there says why`, {
    op,
    name: "rank",
    got: rank,
    want: "input that every rank accepts",
  });
}

/** One array behind the other. */
export function concatenated(parts: readonly ArrayLike<number>[]): Float64Array {
  const all = new Float64Array(parts.reduce((length, part) => length + part.length, 0));
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}

/** Arrays of any length, one a rank. */
export function gatherRagged(collective: Collective, values: Float64Array): Float64Array[] {
  const lengths = gatherIntegers(collective, values.length);
  const padded = new Float64Array(Math.max(...lengths));
  padded.set(values);
  return collective.allGather(padded).map((part, rank) => part.subarray(0, lengths[rank]));
}

/**
 * The partials of all rows of the global batch. Ranks may have different numbers of rows, or none.
 *
 * @param partials [rows here, width]; one row's numbers depend on that row alone
 */
export function gatherRowPartials(
  op: string,
  collective: Collective | undefined,
  partials: Float64Array,
  width = 1,
): GatheredRows {
  if (!collective) return { partials, begin: 0, end: partials.length / width };
  needAgreement(op, "numbers a row", collective, width);
  const parts = gatherRagged(collective, partials);
  const begin = parts.slice(0, collective.rank).reduce((rows, part) => rows + part.length / width, 0);
  return { partials: concatenated(parts), begin, end: begin + partials.length / width };
}

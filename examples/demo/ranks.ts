// What ranks of a data-parallel run need beside their own rows. Without a collective there is one rank.
import type { Collective } from "../../lib";

/** Elements begin … end − 1 of `count` that lie on all ranks, as even as they go. */
export function shareOf(count: number, collective: Collective | undefined): readonly [begin: number, end: number] {
  const { rank, size } = collective ?? { rank: 0, size: 1 };
  return [Math.floor((rank * count) / size), Math.floor(((rank + 1) * count) / size)];
}

/** Of one number of each rank. */
export function sumOfRanks(value: number, collective: Collective | undefined): number {
  return collective ? collective.allReduce(Float64Array.of(value), "sum")[0]! : value;
}

/** What the ranks before this one have of something, and those behind it. */
export function aroundHere(
  value: number,
  collective: Collective | undefined,
): readonly [before: number, behind: number] {
  if (!collective) return [0, 0];
  const values = collective.allGather(Int32Array.of(value)).map((one) => one[0]!);
  const sum = (part: readonly number[]): number => part.reduce((a, b) => a + b, 0);
  return [sum(values.slice(0, collective.rank)), sum(values.slice(collective.rank + 1))];
}

/** Element by element over the ranks, in their order and in float64. */
export function addedUp(values: Float32Array, collective: Collective | undefined): Float32Array {
  return collective ? Float32Array.from(collective.allReduce(Float64Array.from(values), "sum")) : values;
}

/** The mean over the elements of all ranks. */
export function meanOfRanks(values: ArrayLike<number>, collective: Collective | undefined): number {
  let sum = 0;
  for (let i = 0; i < values.length; ++i) sum += values[i]!;
  return sumOfRanks(sum, collective) / sumOfRanks(values.length, collective);
}

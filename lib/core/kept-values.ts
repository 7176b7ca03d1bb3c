// The numbers that a mask keeps.

/** The values where the mask is not 0, from `begin` to `end`; all of them without a mask. */
export function keptValues(
  values: ArrayLike<number>,
  mask: ArrayLike<number> | undefined,
  begin = 0,
  end = values.length,
): number[] {
  const kept: number[] = [];
  for (let i = begin; i < end; ++i) if (mask === undefined || mask[i] !== 0) kept.push(values[i]!);
  return kept;
}

// The numbers that a mask keeps.

/**
 * The values where the mask is not 0, from `begin` to `end`; all of them without a mask. Not an array of JavaScript: V8 has none of more
 * than 2^27 numbers, and a batch has more tokens than that.
 */
export function keptValues(
  values: ArrayLike<number>,
  mask: ArrayLike<number> | undefined,
  begin = 0,
  end = values.length,
): Float64Array {
  const kept = new Float64Array(end - begin);
  let count = 0;
  for (let i = begin; i < end; ++i) if (mask === undefined || mask[i] !== 0) kept[count++] = values[i]!;
  return kept.subarray(0, count);
}

/** The values that are no NaN and not infinite. */
export function finiteValues(values: ArrayLike<number>): Float64Array {
  const finite = new Float64Array(values.length);
  let count = 0;
  for (let i = 0; i < values.length; ++i) if (Number.isFinite(values[i])) finite[count++] = values[i]!;
  return finite.subarray(0, count);
}

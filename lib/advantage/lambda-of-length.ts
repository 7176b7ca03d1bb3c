// λ of generalized advantage estimation by how long a row is.
import { needFloats } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { optionError } from "../core/errors";
import { needNumber } from "../core/option-checks";

/** Give one of the two. */
export interface LambdaOfLengthOptions {
  /** VAPO: λ = max(0, 1 − 1 / (alpha·n)), > 0. */
  readonly alpha?: number;
  /** The share of a row's end that reaches its begin, in (0, 1]: λ = share^(1 / (n − 1)), 1 for n = 1. */
  readonly share?: number;
}

/**
 * λ of each row from its number of steps n, for `gae`: long rows look further ahead. 0 for a row without steps.
 *
 * @param lengths kept tokens of each row, as `countKept` returns them, or turns
 * @returns one per row, float64
 * @throws SurprisalError ERR_SURPRISAL_DTYPE, _OPTION or _BUFFER, naming the argument
 * @see Yue et al. 2025, VAPO, section 4.2 (length-adaptive GAE)
 */
export function lambdaOfLength(lengths: FloatArray, options: LambdaOfLengthOptions): Float64Array {
  const op = "lambdaOfLength";
  const { alpha, share } = options;
  if ((alpha === undefined) === (share === undefined)) throw optionError(op, "alpha", alpha, "either alpha or share");
  const given = needFloats(op, "lengths", lengths, (lengths as FloatArray | undefined)?.length ?? 0, "one per row");
  const above = { min: 0, above: true } as const;
  if (alpha !== undefined) {
    const factor = needNumber(op, "alpha", alpha, above);
    return Float64Array.from(given, (n) => (n > 0 ? Math.max(0, 1 - 1 / (factor * n)) : 0));
  }
  const left = needNumber(op, "share", share!, { ...above, max: 1 });
  return Float64Array.from(given, (n) => (n > 1 ? left ** (1 / (n - 1)) : n > 0 ? 1 : 0));
}

// Rows drawn with replacement, each as often as its weight says.
import { needFloats } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { optionError, valueError } from "../core/errors";
import { needNumber } from "../core/option-checks";

export interface DrawRowsOptions {
  /** How many rows to draw, an integer >= 0. Default: as many as there are weights. */
  readonly count?: number;
  /** Gives a number in [0, 1) at each call; one call a draw. Where it is seeded, so is the result. */
  readonly random: () => number;
}

/**
 * Draws rows with replacement (the multinomial draw of PF-PPO): row i with probability weight_i / Σ weights.
 *
 *     draw k is the first row i with weight_0 + … + weight_i > u_k·Σ weights,   u_k = random()
 *
 * A row of weight 0 is never drawn. Host bookkeeping: the sums are in float64, in order of the rows, and use no backend.
 *
 * @param weights finite, >= 0, not all 0; `resamplingWeights` makes them
 * @param options `random` is asked `count` times, in order: a generator with a seed gives the same rows every time
 * @returns row numbers in the order of the draws
 * @throws SurprisalError ERR_SURPRISAL_DTYPE, _OPTION or _VALUE, naming the argument
 * @see Zhang et al. 2024, Policy Filtration in RLHF to Fine-Tune LLM for Code Generation
 */
export function drawRows(weights: FloatArray, options: DrawRowsOptions): Int32Array {
  const op = "drawRows";
  const length = ArrayBuffer.isView(weights) ? weights.length : 0;
  const given = needFloats(op, "weights", weights, length, "its own length");
  const count = needNumber(op, "count", options.count ?? length, { min: 0, integer: true });
  const { random } = options;
  if (typeof random !== "function") throw optionError(op, "random", random, "a function that gives numbers in [0, 1)");
  const sums = new Float64Array(length);
  let total = 0;
  given.forEach((weight, i) => {
    if (!(weight >= 0 && weight < Infinity)) throw valueError(op, `weights[${i}]`, weight, "a finite number >= 0");
    total += weight;
    sums[i] = total;
  });
  if (count > 0 && !(total > 0 && total < Infinity))
    throw valueError(op, "the sum of weights", total, "a finite number > 0");
  return Int32Array.from({ length: count }, (_, k) => {
    const u = random();
    if (!(u >= 0 && u < 1)) throw valueError(op, `random() of draw ${k}`, u, "a number in [0, 1)");
    return firstAbove(sums, Math.min(u * total, below(total)));
  });
}

/** The largest double below a positive one: u·total may round up to total. */
function below(x: number): number {
  return x * (1 - 2 ** -53);
}

/** The first index whose sum is above x; there is one. */
function firstAbove(sums: Float64Array, x: number): number {
  let [low, high] = [0, sums.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle]! > x) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Several losses of the same log-probs as one.
import { needFloats } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { optionError } from "../core/errors";
import { needNumber } from "../core/option-checks";

/** A loss and its gradient, as a policy loss or `negativeLogLikelihood` returns them, and what it weighs. */
export interface LossPart<Floats extends FloatArray = FloatArray> {
  readonly loss: number;
  /** d loss / d log-probs, [n]. */
  readonly gradLogProbs: Floats;
  /** Multiplies both. A divisor that is a count of all workers is its reciprocal. Default 1. */
  readonly weight?: number;
}

export interface CombinedLoss<Floats extends FloatArray = FloatArray> {
  /** Σ weight·loss, float64. */
  readonly loss: number;
  /** d loss / d log-probs, [n]: float64 if one of the parts has float64, else float32, rounded once. */
  readonly gradLogProbs: Floats;
}

/**
 * The weighted sum of losses of the same log-probs, and its gradient: a reinforced part beside an imitated or a distilled one. A weight
 * of exactly 0 leaves its part out, whatever it holds.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION or _BUFFER, naming the part and its field
 */
export function combineLosses(parts: readonly LossPart<Float32Array>[]): CombinedLoss<Float32Array>;
export function combineLosses(parts: readonly LossPart[]): CombinedLoss;
export function combineLosses(parts: readonly LossPart[]): CombinedLoss {
  const op = "combineLosses";
  if (!Array.isArray(parts) || parts.length === 0)
    throw optionError(op, "parts", parts, "a list of losses, at least one");
  const given = parts as readonly LossPart[];
  const n = (given[0]!.gradLogProbs as FloatArray | undefined)?.length ?? 0;
  const sum = new Float64Array(n);
  let [loss, wide] = [0, false];
  given.forEach((part, k) => {
    const name = `parts[${k}]`;
    const weight = needNumber(op, `${name}.weight`, part.weight ?? 1);
    const gradient = needFloats(op, `${name}.gradLogProbs`, part.gradLogProbs, n, "as many as the first part has");
    if (typeof part.loss !== "number") throw optionError(op, `${name}.loss`, part.loss, "a number");
    wide ||= gradient.BYTES_PER_ELEMENT === 8;
    if (weight === 0) return;
    loss += weight * part.loss;
    for (let i = 0; i < n; ++i) sum[i]! += weight * gradient[i]!;
  });
  return { loss, gradLogProbs: wide ? sum : Float32Array.from(sum) };
}

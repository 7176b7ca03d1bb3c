// A reward for high entropy: minus coefficient times the weighted sum of the entropies.
import type { BackendOption } from "../backend/select";
import { needFloat64, needFloats, optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { floatDType } from "../core/float-arrays";
import { needNumber } from "../core/option-checks";
import { needRows, type RowLayout } from "../core/row-layout";
import { broadcastRows } from "../ops/group/broadcast";
import { rowMoments } from "../ops/reduce/moments";
import { type AggregationOptions, evaluateWeights } from "./aggregation";

export interface EntropyBonusOptions extends AggregationOptions, BackendOption {
  /** c, in loss per nat. A negative one punishes entropy. */
  readonly coefficient: number;
  /** w, one per row, in place of those of `mode`; a policy loss hands its own on. */
  readonly rowWeights?: Float64Array;
}

export interface EntropyBonusResult {
  /** −c·Σ_b w_b·Σ_t m_bt·H_bt, float64: to be added to the loss. */
  readonly loss: number;
  /** d loss / d entropies: −c·w_b at kept tokens, 0 under the mask; in the type of `entropies`. */
  readonly gradEntropies: FloatArray;
  /** Mean entropy of the kept tokens, nats; 0 where nothing is kept. */
  readonly meanEntropy: number;
}

/**
 * The entropy bonus of a batch and its gradient. Hand `gradEntropies` to `logprobBackward` together with the gradient of the
 * log-probs: both come back in one pass over the logits.
 *
 *     loss = −c · Σ_b w_b Σ_t m_bt H_bt
 *
 * @param entropies per token, nats; [n] as `shape` or `offsets` say. What lies under the mask is not read
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see Williams and Peng 1991, Function Optimization Using Connectionist Reinforcement Learning Algorithms
 */
export function entropyBonus(entropies: FloatArray, options: EntropyBonusOptions): EntropyBonusResult {
  return evaluateEntropyBonus("entropyBonus", { coefficient: "coefficient", mode: "mode" }, entropies, options);
}

interface EntropySlopes {
  /** d loss / d entropy of a kept token of each row. */
  readonly slopes: Float64Array;
  /** Which tokens those are. */
  readonly where: RowLayout & BackendOption & { readonly mask?: Uint8Array };
}

/** The bonus without its entropies. */
export function entropySlopes(
  op: string,
  names: Readonly<Record<"coefficient" | "mode", string>>,
  options: EntropyBonusOptions,
): EntropySlopes {
  const rows = needRows(op, options);
  const mask = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const coefficient = needNumber(op, names.coefficient, options.coefficient);
  const given = options.rowWeights;
  const weights = given
    ? needFloat64(op, "rowWeights", given, rows.B, "one per row")
    : evaluateWeights(op, names.mode, options);
  const { shape, offsets, backend } = options;
  const where = {
    shape,
    offsets,
    mask: mask ?? undefined,
    backend,
  };
  return { slopes: weights.map((weight) => (weight === 0 ? 0 : -coefficient * weight)), where };
}

/** As entropyBonus, in the name of the public function `op`, which has its own names for two options. */
export function evaluateEntropyBonus(
  op: string,
  names: Readonly<Record<"coefficient" | "mode", string>>,
  entropies: FloatArray,
  options: EntropyBonusOptions,
): EntropyBonusResult {
  const { n, meaning } = needRows(op, options);
  const values = needFloats(op, "entropies", entropies, n, meaning);
  const { slopes, where } = entropySlopes(op, names, options);
  const { sums, counts } = rowMoments(op, values, where);
  const row = floatDType(values) === "float64" ? slopes : Float32Array.from(slopes);
  const kept = counts.reduce((total, count) => total + count, 0);
  return {
    loss: sums.reduce((loss, sum, b) => (slopes[b] === 0 ? loss : loss + slopes[b]! * sum), 0),
    gradEntropies: broadcastRows(op, "rowWeights", row, where),
    meanEntropy: kept > 0 ? sums.reduce((total, sum) => total + sum, 0) / kept : 0,
  };
}

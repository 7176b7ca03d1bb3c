// Distillation on a few ids of each row, from their log-probs: forward, reverse and mixed KL, with floors, a tail and bounds.
import { needsHostArrays } from "../core/device-ops";
import { needFloats, optionalFloats, optionalMask } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { optionError, shapeError } from "../core/errors";
import { allocateFloat, widestFloat } from "../core/float-arrays";
import { needNumber } from "../core/option-checks";

needsHostArrays("supportDistillation", "the log-probs of a few ids are added up in host memory");

/** What of a few ids becomes a loss; the same for log-probs and for logits. */
export interface SupportDistillationTerms {
  /** Share of the reverse KL, in [0, 1]: (1 − β)·KL(teacher‖student) + β·KL(student‖teacher). Default 0, the forward KL. */
  readonly beta?: number;
  /** Smaller log-probs of either side count as this, nats, without gradient. Default −Infinity: none. */
  readonly floor?: number;
  /** The teacher's log-prob of every other id, nats, for the reverse KL. Default: other ids are left out. */
  readonly outsideLogProb?: number;
  /** Bounds of a row's value, [low, high]; outside of them it has no gradient. Default: none. */
  readonly valueRange?: readonly [low: number, high: number];
  /** One flag a row; a row with 0 is not read. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Factors of the rows. Default: all 1. */
  readonly weights?: FloatArray;
  /** What the sum is divided by, > 0: the tokens of the whole batch. Default: the kept rows here, at least 1. */
  readonly tokens?: number;
}

export interface SupportDistillationOptions extends SupportDistillationTerms {
  /** [rows, K]. */
  readonly shape: readonly [rows: number, ids: number];
  /** The student's entropies over the whole vocabulary, nats, [rows]. Needed with `outsideLogProb` and β > 0. */
  readonly entropies?: FloatArray;
}

export interface SupportDistillationResult {
  /** Σ_n weight_n·value_n / tokens. */
  readonly loss: number;
  /** [rows], nats; 0 under the mask. */
  readonly values: Float64Array;
  /** d loss / d student log-probs, [rows, K]; 0 under the mask, below the floor and outside of the bounds. */
  readonly gradLogProbs: FloatArray;
  /** d loss / d entropies, [rows]; null where they are not used. */
  readonly gradEntropies: Float64Array | null;
  /** How much probability lies on the ids, before the floor, [rows]; 0 under the mask. */
  readonly studentMasses: Float64Array;
  readonly teacherMasses: Float64Array;
}

interface CheckedTerms {
  readonly beta: number;
  readonly floor: number;
  readonly outside: number | null;
  readonly low: number;
  readonly high: number;
}

function needTerms(op: string, options: SupportDistillationTerms): CheckedTerms {
  const { valueRange } = options;
  if (valueRange !== undefined && !(Array.isArray(valueRange) && valueRange[0] <= valueRange[1]))
    throw optionError(op, "valueRange", valueRange, "[low, high] with low <= high");
  const outside = options.outsideLogProb;
  return {
    beta: needNumber(op, "beta", options.beta ?? 0, { min: 0, max: 1 }),
    floor: needNumber(op, "floor", options.floor ?? -Infinity, { max: 0, infinite: true }),
    outside: outside === undefined ? null : needNumber(op, "outsideLogProb", outside, { max: 0 }),
    low: valueRange?.[0] ?? -Infinity,
    high: valueRange?.[1] ?? Infinity,
  };
}

/**
 * Value of one row, and its derivatives to the student's log-probs, which replace `slopes`. A probability of 0 adds nothing: 0·∞ does
 * not arise.
 */
function evaluateRow(s: FloatArray, t: FloatArray, entropy: number, terms: CheckedTerms, slopes: Float64Array): number {
  const { beta, floor, outside } = terms;
  const times = (p: number, x: number): number => (p === 0 ? 0 : p * x);
  let forward = 0;
  let reverse = 0;
  if (outside !== null && beta > 0) reverse -= entropy + outside;
  for (let k = 0; k < s.length; ++k) {
    const [S, T] = [Math.max(s[k]!, floor), Math.max(t[k]!, floor)];
    const [p, q] = [Math.exp(S), Math.exp(T)];
    forward += times(q, T - S);
    // With a tail: Σ outside of p (ln p − o) = −H − Σ p ln p − o·(1 − Σ p), so that p ln p of the ids cancels.
    reverse += outside === null ? times(p, S - T) : times(p, outside - T);
    const reverseSlope = outside === null ? times(p, S - T + 1) : times(p, outside - T);
    slopes[k] = s[k]! < floor ? 0 : (beta < 1 ? -(1 - beta) * q : 0) + (beta > 0 ? beta * reverseSlope : 0);
  }
  return (beta < 1 ? (1 - beta) * forward : 0) + (beta > 0 ? beta * reverse : 0);
}

/** As supportDistillation, in the name of the public function `op`. */
export function evaluateSupport(
  op: string,
  studentLogProbs: FloatArray,
  teacherLogProbs: FloatArray,
  options: SupportDistillationOptions,
): SupportDistillationResult {
  const shape: unknown = options.shape;
  if (!Array.isArray(shape) || shape.length !== 2) throw shapeError(op, "shape", shape, "[rows, ids]");
  const [N, K] = [0, 1].map((i) => needNumber(op, `shape[${i}]`, shape[i], { min: 0, integer: true })) as [
    number,
    number,
  ];
  const student = needFloats(op, "studentLogProbs", studentLogProbs, N * K, "rows * ids");
  const teacher = needFloats(op, "teacherLogProbs", teacherLogProbs, N * K, "rows * ids");
  const mask = optionalMask(op, "mask", options.mask, N, "one a row");
  const weights = optionalFloats(op, "weights", options.weights, N, "one a row");
  const entropies = optionalFloats(op, "entropies", options.entropies, N, "one a row");
  const terms = needTerms(op, options);
  const tail = terms.outside !== null && terms.beta > 0;
  if (tail && !entropies) throw optionError(op, "entropies", undefined, "those of the rows, with outsideLogProb");
  const kept = mask ? mask.reduce((count, flag) => count + flag, 0) : N;
  const tokens = needNumber(op, "tokens", options.tokens ?? Math.max(kept, 1), { min: 0, above: true });

  const values = new Float64Array(N);
  const [studentMasses, teacherMasses] = [new Float64Array(N), new Float64Array(N)];
  const gradLogProbs = allocateFloat(widestFloat(student, teacher), N * K);
  const gradEntropies = tail ? new Float64Array(N) : null;
  const slopes = new Float64Array(K);
  const massOf = (row: FloatArray): number => {
    let mass = 0;
    for (const x of row) mass += Math.exp(x);
    return mass;
  };
  let loss = 0;
  for (let n = 0; n < N; ++n) {
    if (mask?.[n] === 0) continue;
    const [s, t] = [student.subarray(n * K, (n + 1) * K), teacher.subarray(n * K, (n + 1) * K)];
    [studentMasses[n], teacherMasses[n]] = [massOf(s), massOf(t)];
    const value = evaluateRow(s, t, tail ? entropies![n]! : 0, terms, slopes);
    const weight = (weights ? weights[n]! : 1) / tokens;
    const moves = !(value < terms.low || value > terms.high);
    values[n] = Math.min(Math.max(value, terms.low), terms.high); // NaN stays
    loss += weight * values[n]!;
    if (!moves) continue;
    slopes.forEach((slope, k) => (gradLogProbs[n * K + k] = weight * slope));
    if (gradEntropies) gradEntropies[n] = -weight * terms.beta;
  }
  return { loss, values, gradLogProbs, gradEntropies, studentMasses, teacherMasses };
}

/**
 * Distillation on K ids of each row, from log-probs that are there already. They are taken as they are: not renormalised over the ids.
 *
 *     value = (1 − β)·Σ_k t (ln t − ln s) + β·[Σ_k s (ln s − ln t) + Σ_others s (ln s − o)]
 *
 * the last sum only with `outsideLogProb` o. Several teachers are several calls, each with its mask, and `combineLosses`.
 *
 * @param studentLogProbs ln s, nats, [rows, K]
 * @param teacherLogProbs ln t of the same ids; constants
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION or _BUFFER, naming the argument
 * @see NeMo-RL, nemo_rl/algorithms/loss/loss_functions.py (DistillationLossFn)
 */
export function supportDistillation(
  studentLogProbs: FloatArray,
  teacherLogProbs: FloatArray,
  options: SupportDistillationOptions,
): SupportDistillationResult {
  return evaluateSupport("supportDistillation", studentLogProbs, teacherLogProbs, options);
}

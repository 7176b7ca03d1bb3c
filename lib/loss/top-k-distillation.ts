// Distillation to the ids that a teacher sent, from the student's logits: what a server of teachers returns is its likeliest ids.
import type { BackendOption } from "../backend/select";
import { needsHostArrays } from "../core/device-ops";
import { needFloats, needIds, type TokenIds } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { shapeError } from "../core/errors";
import { topLogits } from "../ops/divergence";
import { logprobBackward } from "../ops/logprob";
import { evaluateLogprob } from "../ops/logprob/forward";
import type { LogitMapOptions } from "../ops/logprob/logit-rows";
import { type LogitLayout, type Logits, type LogitView, type LogitViewOf, needWideLogits } from "../ops/logprob/logits";
import { evaluateSupport, type SupportDistillationResult, type SupportDistillationTerms } from "./support-distillation";

needsHostArrays("topKDistillation", "the log-probs of a few ids are added up in host memory");

/** What a teacher says of each row: K ids and their log-probs. */
export interface TeacherTopK {
  /** Ids of the student's vocabulary, distinct within a row, [rows, K]. */
  readonly ids: TokenIds;
  /** The teacher's log-probs of these, nats, [rows, K]; constants. */
  readonly logProbs: FloatArray;
}

export interface TopKDistillationOptions extends SupportDistillationTerms, LogitLayout, LogitMapOptions, BackendOption {
  /** Memory for the gradient, of the logits' kind and length. Default: new. */
  readonly out?: LogitView;
}

export interface TopKDistillationResult<View = LogitView> extends Omit<
  SupportDistillationResult,
  "gradLogProbs" | "gradEntropies"
> {
  /** d loss / d student logits, of their kind and length. */
  readonly gradStudentLogits: View;
  /** The student's log-probs of the teacher's ids, nats, [rows, K]. */
  readonly logProbs: Float32Array;
  /** How many of the teacher's ids are among the K likeliest of the student, [rows]; 0 under the mask. */
  readonly overlaps: Int32Array;
  /** Mean of t·(ln s − ln t) over these ids, floored as the loss is; 0 without any. */
  readonly overlapAdvantages: Float64Array;
}

/**
 * Distillation on the K ids that a teacher sent for each row: `supportDistillation` of the student's log-probs, with the gradient to the
 * student's logits, and how far the two agree on which ids are likely.
 *
 * @param student logits: float32, float16 or bfloat16, [rows, vocab]
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (an id) or _BUFFER, naming the argument
 * @see verl, verl/trainer/distillation/fsdp/losses.py (forward KL, floor −10, values in [0, 10])
 */
export function topKDistillation<L extends Logits>(
  student: L,
  teacher: TeacherTopK,
  options: TopKDistillationOptions = {},
): TopKDistillationResult<LogitViewOf<L>> {
  const op = "topKDistillation";
  const { N, V } = needWideLogits(op, "student", student, options);
  const ids = needIds(op, "teacher.ids", teacher.ids);
  const K = N === 0 ? 0 : ids.length / N;
  if (!Number.isInteger(K) || K > V || (N === 0 && ids.length > 0))
    throw shapeError(op, "teacher.ids", ids.length, `K ids for each of ${N} rows, K up to ${V}`);
  const teacherLogProbs = needFloats(op, "teacher.logProbs", teacher.logProbs, N * K, "one an id");
  const { beta, floor = -Infinity, outsideLogProb, valueRange, mask, weights, tokens, out, ...layout } = options;
  const { shape, dtype, stride, backend } = layout;
  const at = { ...layout, mask };
  const { logProbs, ...state } = evaluateLogprob(op, student, ids, at);
  const terms = { beta, floor, outsideLogProb, valueRange, mask, weights, tokens };
  const { gradLogProbs, gradEntropies, ...result } = evaluateSupport(op, logProbs, teacherLogProbs, {
    ...terms,
    shape: [N, K],
    entropies: state.entropies,
  });
  const likeliest = topLogits(student, K, { mask, shape, dtype, stride, backend }); // before `out`, which may be the logits
  const gradStudentLogits = logprobBackward(student, ids, state, {
    ...at,
    gradLogProbs,
    gradEntropies: gradEntropies ?? undefined,
    out,
  });

  const overlaps = new Int32Array(N);
  const overlapAdvantages = new Float64Array(N);
  for (let n = 0; n < N; ++n) {
    if (mask?.[n] === 0) continue;
    const own = new Set(likeliest.subarray(n * K, (n + 1) * K));
    let sum = 0;
    for (let k = n * K; k < (n + 1) * K; ++k) {
      if (!own.has(ids[k]!)) continue;
      const [s, t] = [Math.max(logProbs[k]!, floor), Math.max(teacherLogProbs[k]!, floor)];
      sum += t === -Infinity ? 0 : Math.exp(t) * (s - t);
      ++overlaps[n]!;
    }
    overlapAdvantages[n] = overlaps[n] === 0 ? 0 : sum / overlaps[n]!;
  }
  return { ...result, gradStudentLogits, logProbs, overlaps, overlapAdvantages };
}

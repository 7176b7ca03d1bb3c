// Cases of the ops on rows of logits and on hidden states.
import * as s from "../../../lib";
import { type Case, caseOf, type Input, rows, logitRows, logits, logitShape, rowMask, targets, wide } from "./cases";

const layout = { shape: logitShape, mask: rowMask };
/** Ids 0 to 2 of every row. */
const KEPT = { ids: Int32Array.of(0, 1, 2, 0, 1, 2, 0, 1, 2), offsets: Int32Array.of(0, 3, 6, 9) };
/** Logits of which every row counts. */
const whole = (): Input => ({ values: logits().values, kept: 1 });
const D = 4;
const head = { shape: [3, D] as [number, number], mask: rowMask };
const hidden = { ...wide(3 * D, -1, 1), masked: D + 1 };

export const LOGIT_CASES: readonly Case[] = [
  caseOf("logprob", { logits: logits() }, ({ logits: x }, backend) => s.logprob(x, targets, { ...layout, backend })),
  caseOf("logprob of the target", { logits: { ...logits(), kept: 2 } }, ({ logits: x }, backend) =>
    s.logprob(x, targets, { ...layout, softcap: 3, backend }),
  ),
  caseOf(
    "logprobBackward",
    { logits: logits(), gradLogProbs: logitRows(), gradEntropies: logitRows() },
    ({ logits: x, gradLogProbs, gradEntropies }, backend) => ({
      gradLogits: s.logprobBackward(x, targets, s.logprob(x, targets, { ...layout, backend }), {
        ...layout,
        gradLogProbs,
        gradEntropies,
        backend,
      }),
    }),
  ),
  caseOf("keptLogprob", { logits: whole() }, ({ logits: x }, backend) => {
    const { state: _, ...result } = s.keptLogprob(x, targets, KEPT, { shape: logitShape, backend });
    return result;
  }),
  caseOf("keptLogprobBackward", { logits: whole(), gradLogProbs: rows() }, ({ logits: x, gradLogProbs }, backend) => {
    const { state } = s.keptLogprob(x, targets, KEPT, { shape: logitShape, backend });
    return { gradLogits: s.keptLogprobBackward(x, targets, KEPT, state, { shape: logitShape, gradLogProbs, backend }) };
  }),
  caseOf("logprobPartial, logprobMerge", { logits: logits() }, ({ logits: x }, backend) =>
    s.logprobMerge([s.logprobPartial(x as Float32Array, targets, { ...layout, backend })], { rows: 3, backend }),
  ),
  caseOf("topLogits", { logits: logits() }, ({ logits: x }, backend) => ({
    ids: s.topLogits(x, 3, { ...layout, backend }),
  })),
  ...([0, 1, 0.5] as const).map((beta) =>
    caseOf(`divergence, beta ${beta}`, { student: logits(), teacher: logits() }, ({ student, teacher }, backend) => ({
      divergences: s.divergence(student, teacher, { ...layout, beta, backend }),
    })),
  ),
  ...([0, 1, 0.5] as const).map((beta) =>
    caseOf(
      `divergenceBackward, beta ${beta}`,
      { student: logits(), teacher: logits(), gradDivergences: { ...wide(3), kept: 0, masked: 1 } },
      ({ student, teacher, gradDivergences }, backend) => ({
        gradStudent: s.divergenceBackward(student, teacher, gradDivergences, { ...layout, beta, backend }),
      }),
    ),
  ),
  caseOf(
    "linearLogprob",
    { hidden, weight: wide(5 * D, -1, 1), bias: wide(5) },
    ({ hidden: x, weight, bias }, backend) => s.linearLogprob(x, weight, targets, { ...head, bias, backend }),
  ),
  caseOf(
    "linearLogprobBackward",
    { hidden, weight: wide(5 * D, -1, 1), bias: wide(5), gradLogProbs: { ...wide(3), kept: 0, masked: 1 } },
    ({ hidden: x, weight, bias, gradLogProbs }, backend) =>
      s.linearLogprobBackward(x, weight, targets, s.linearLogprob(x, weight, targets, { ...head, bias, backend }), {
        ...head,
        bias,
        gradLogProbs,
        backend,
      }),
  ),
  caseOf(
    "keptLinearLogprob, keptLinearLogprobBackward",
    { hidden, gradLogProbs: { values: Float64Array.of(0.5, -0.25, 0.75), kept: 0, masked: 1 } },
    (input, backend) => {
      const weight = Float64Array.from({ length: 5 * D }, (_, i) => Math.sin(i));
      const call = { ...head, backend };
      const { state, logProbs } = s.keptLinearLogprob(input.hidden, weight, targets, KEPT, call);
      const { gradHidden } = s.keptLinearLogprobBackward(input.hidden, weight, targets, state, {
        ...call,
        gradLogProbs: input.gradLogProbs,
      });
      return { logProbs, gradHidden };
    },
  ),
];

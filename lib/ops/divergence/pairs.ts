// Two arrays of logits over one vocabulary, row by row.
import { dtypeError, shapeError } from "../../core/errors";
import { type CheckedWideLogits, type LogitLayout, needWideLogits, type WideLogitDType } from "../logprob/logits";

export interface LogitPairLayout extends LogitLayout<WideLogitDType> {
  /** Elements from one row of the teacher to the next. Default: that of the tensor, else the vocabulary. */
  readonly teacherStride?: number;
}

export interface CheckedPair {
  readonly student: CheckedWideLogits;
  readonly teacher: CheckedWideLogits;
}

/** Both with the same rows, vocabulary and type; each may have a padding of its own. */
export function needPair(op: string, student: unknown, teacher: unknown, layout: LogitPairLayout): CheckedPair {
  const checked = needWideLogits(op, "student", student, layout);
  const { shape, dtype, teacherStride } = layout;
  const other = needWideLogits(op, "teacher", teacher, {
    shape,
    dtype,
    stride: teacherStride,
  });
  if (other.N !== checked.N || other.V !== checked.V)
    throw shapeError(
      op,
      "teacher.shape",
      [other.N, other.V],
      `that of student, [${checked.N}, ${checked.V}]`,
      "shape: [rows, vocab] says how many columns of a padded vocabulary count",
    );
  if (other.dtype !== checked.dtype) throw dtypeError(op, "teacher", other.view, "the element type of student");
  return { student: checked, teacher: other };
}

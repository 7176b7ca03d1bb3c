// Rows of a student against rows of a teacher: the KL divergence with its gradient, and what both promise.
import { roundingOf } from "../../accuracy/budgets";
import { type LogitDType, logitRows } from "../../cases/logit-rows";
import { LOGIT_BYTES } from "../../cases/logprob-forward";
import { LOGITS, type Shape } from "../../shapes";
import { rng } from "../../../test/support/rng";
import { type DeviceCase, twice } from "./case";
import { codeOf } from "./memory";

function divergence(shape: Shape, rows: number, vocab: number, dtype: LogitDType, beta: number): DeviceCase {
  const s = LOGIT_BYTES[dtype];
  return {
    kernel: "divergence",
    op: beta === 0 ? "divergence with gradient, forward KL" : "divergence with gradient, reverse KL",
    call: "divergenceRows",
    dtype,
    rowKind: "normal",
    shape,
    least: { bytes: 3 * s * rows * vocab + 16 * rows, formula: "2 s V N + s stride N grad" },
    prepare: () => {
      const { logits: student } = logitRows(rows, vocab, dtype, "normal");
      const teacher = student.slice();
      teacher.reverse(); // another distribution
      return {
        numbers: {
          dtype: codeOf({ dtype }),
          N: rows,
          V: vocab,
          studentStride: vocab,
          teacherStride: vocab,
          K: 0,
          beta,
          temperature: 1,
          outside: 0,
          tailFloor: 0,
        },
        inputs: { student, teacher, gradDivergences: rng(9).f64(rows, -1, 1) },
        outputs: {
          divergences: {
            dtype: "float64",
            length: rows,
            budget: () => twice({ says: "1e-12·D + 1e-14", allowed: (want) => 1e-12 * Math.abs(want) + 1e-14 }),
          },
          gradStudent: {
            dtype,
            length: rows * vocab,
            budget: () =>
              twice({
                says: "1e-12, rounded",
                allowed: (want) => 1e-12 + roundingOf(dtype, Math.abs(want) + 1e-12),
              }),
          },
        },
      };
    },
  };
}

export function divergenceCases(tiny: boolean): DeviceCase[] {
  const { qwen } = LOGITS;
  const shape = tiny ? { name: "tiny", sizes: [4, 1000] } : qwen;
  const [rows, vocab] = shape.sizes as readonly [number, number];
  return (["bfloat16", "float32"] as const).flatMap((dtype) =>
    [0, 1].map((beta) => divergence(shape, rows, vocab, dtype, beta)),
  );
}

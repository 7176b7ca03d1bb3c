// TRL's distillation losses: generalized Jensen-Shannon over the vocabulary, and over the student's likeliest ids.
import { type DistillationReduction, distillationLoss } from "surprisal";
import type { Inputs } from "../inputs";
import type { Mapping } from "../mapping";

function logitsNamed(inputs: Inputs, name: string) {
  return { data: inputs.float32(name), shape: inputs.shape(name), dtype: "float32" };
}

export const distillation: readonly Mapping[] = [
  {
    family: "trl",
    function: "generalized_jsd_loss",
    ours: "distillationLoss",
    options: "labels; reduction of the same name",
    run: (inputs, { backend }) => {
      const { loss, gradStudentLogits } = distillationLoss(
        logitsNamed(inputs, "student_logits"),
        logitsNamed(inputs, "teacher_logits"),
        {
          labels: inputs.int32("labels"),
          beta: inputs.number("beta"),
          temperature: inputs.number("temperature"),
          reduction: inputs.string("reduction") as DistillationReduction,
          backend,
        },
      );
      return { loss, grad_student_logits: gradStudentLogits };
    },
  },
  {
    family: "trl",
    function: "self_distillation_topk",
    ours: "distillationLoss",
    options: `topK; outside "pooled" for add_tail, else "dropped"; reduction "sum"`,
    run: (inputs, { backend }) => {
      const { divergences, gradStudentLogits } = distillationLoss(
        logitsNamed(inputs, "student_logits"),
        logitsNamed(inputs, "teacher_logits"),
        {
          topK: inputs.number("topk"),
          beta: inputs.number("alpha"),
          outside: inputs.boolean("add_tail") ? "pooled" : "dropped",
          reduction: "sum",
          backend,
        },
      );
      return { divergence: divergences, grad_student_logits: gradStudentLogits };
    },
  },
];

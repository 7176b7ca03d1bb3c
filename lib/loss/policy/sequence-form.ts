// One clipped ratio a row, as gspoLoss, gspoTokenLoss and luspoLoss have it.
import type { FloatArray } from "../../core/dtype";
import { type ClipRange, needClipRange } from "./clip-range";
import type { FormCall } from "./evaluate-policy";

/** The form of a row's ratio with its numbers. */
export function sequenceForm(
  op: string,
  form: "clip" | "clipLocal",
  options: ClipRange & { readonly ratioCap?: number | FloatArray; readonly maxLogRatio?: number },
): Extract<FormCall, { skeleton: "row" }> {
  return {
    skeleton: "row",
    form: {
      form,
      ...needClipRange(op, options),
      ratioCap: options.ratioCap ?? Infinity,
      maxLogRatio: options.maxLogRatio ?? Infinity,
    },
  };
}

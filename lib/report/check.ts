// Refuses what cannot be drawn, naming the rollout.
import { optionError, rangeError, SurprisalError } from "../core/errors";
import { PER_TOKEN, tokenCount, wrongLength } from "../io/record";
import type { ReportRollout, ReportStep } from "./model";

const FIELDS = [...PER_TOKEN, "logProbs", "ratios", "clipped"] as const;

function checkRollout(op: string, name: string, rollout: ReportRollout): void {
  const count = tokenCount(rollout) ?? 0;
  const wrong = wrongLength(rollout, FIELDS, count);
  if (wrong) {
    const field = `${name}.${wrong.field}`;
    const want = `${count}, one a token`;
    throw new SurprisalError("ERR_SURPRISAL_SHAPE", `${op}: ${field} has ${wrong.length} elements, expected ${want}`, {
      op,
      name: field,
      got: wrong.length,
      want,
    });
  }
  let end = 0;
  for (const [i, { begin, finish }] of (rollout.spans ?? []).entries()) {
    if (!(Number.isInteger(begin) && Number.isInteger(finish) && begin >= end && finish > begin && finish <= count))
      throw rangeError(
        op,
        `${name}.spans[${i}]`,
        [begin, finish],
        `begin < finish between ${end} and ${count}, in ascending order`,
      );
    end = finish;
  }
}

export function checkSteps(op: string, steps: readonly ReportStep[], name = "steps"): void {
  for (const [s, step] of steps.entries()) {
    const rollouts: unknown = (step as ReportStep | null | undefined)?.rollouts;
    if (!Array.isArray(rollouts)) throw optionError(op, `${name}[${s}].rollouts`, rollouts, "an array of rollouts");
    for (const [r, rollout] of step.rollouts.entries()) checkRollout(op, `${name}[${s}].rollouts[${r}]`, rollout);
  }
}

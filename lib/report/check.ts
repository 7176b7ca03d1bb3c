// Refuses what cannot be drawn, naming the rollout.
import { argumentError, SurprisalError } from "../core/errors";
import { tokenCount } from "../io/record";
import type { ReportRollout, ReportStep } from "./model";

const PER_TOKEN = [
  "tokenIds",
  "tokens",
  "mask",
  "logProbs",
  "recomputedLogProbs",
  "oldLogProbs",
  "newLogProbs",
  "refLogProbs",
  "entropies",
  "advantages",
  "ratios",
  "clipped",
] as const;

function checkRollout(op: string, name: string, rollout: ReportRollout): void {
  const count = tokenCount(rollout) ?? 0;
  for (const field of PER_TOKEN) {
    const values = rollout[field];
    if (values !== undefined && values.length !== count)
      throw new SurprisalError(
        "ERR_SURPRISAL_SHAPE",
        `${op}: ${name}.${field} has ${values.length} elements, expected ${count}, one a token`,
        { op, name: `${name}.${field}`, got: values.length, want: `${count}, one a token` },
      );
  }
  let end = 0;
  for (const [i, { begin, finish }] of (rollout.spans ?? []).entries()) {
    if (!(Number.isInteger(begin) && Number.isInteger(finish) && begin >= end && finish > begin && finish <= count))
      throw argumentError("ERR_SURPRISAL_RANGE", op, `${name}.spans[${i}]`, [begin, finish], `begin < finish between ${end} and ${count}, in ascending order`);
    end = finish;
  }
}

export function checkSteps(op: string, steps: readonly ReportStep[]): void {
  for (const [s, { rollouts }] of steps.entries())
    for (const [r, rollout] of rollouts.entries()) checkRollout(op, `steps[${s}].rollouts[${r}]`, rollout);
}

// Weights of losses that have one term a row: a plain mean over rows.
import type { CheckedPolicyInputs } from "./policy-batch";
import { rowBegin, rowEnd } from "../../core/row-layout";
import { needNumber } from "../../core/option-checks";
import type { PolicyLossOptions } from "./policy-loss-options";

function hasTerm({ rows, mask, termMask }: CheckedPolicyInputs, b: number): boolean {
  for (let i = rowBegin(rows, b); i < rowEnd(rows, b); ++i)
    if ((mask?.[i] ?? 1) !== 0 && (termMask?.[i] ?? 1) !== 0) return true;
  return false;
}

/**
 * workers / (accumulation · R) for each row. `"skip"`, the default: rows without a term weigh 0 and are not in R;
 * `"count"`: they weigh as the others do.
 */
export function rowMeanWeights(op: string, batch: CheckedPolicyInputs, options: PolicyLossOptions): Float64Array {
  const counted = Array.from({ length: batch.rows.B }, (_, b) => options.emptyRows === "count" || hasTerm(batch, b));
  const positive = { min: 0, above: true } as const;
  const given = options.rows === undefined ? undefined : needNumber(op, "rows", options.rows, positive);
  const rows = given ?? counted.filter(Boolean).length;
  const workers = needNumber(op, "workers", options.workers ?? 1, positive);
  const accumulation = needNumber(op, "accumulation", options.accumulation ?? 1, positive);
  return Float64Array.from(counted, (counts) => (counts ? workers / (accumulation * rows) : 0));
}

// Scores of rows from rewards per token.
import type { BackendOption } from "../backend/select";
import type { FloatArray } from "../core/dtype";
import { layoutOfRows, type Rows } from "../core/row-layout";
import { momentsOf, needReduction } from "../ops/reduce/moments";

const PROPAGATE = 0;

/** Sums of each row in float64, in token order. What lies under the mask is not read. */
export function rowSums(
  op: string,
  rewards: FloatArray,
  rows: Rows,
  mask: Uint8Array | null,
  backend: BackendOption["backend"],
): Float64Array {
  const reduction = needReduction(op, rewards, { ...layoutOfRows(rows), mask: mask ?? undefined, over: "row" });
  return momentsOf(op, reduction, PROPAGATE, backend).sums;
}

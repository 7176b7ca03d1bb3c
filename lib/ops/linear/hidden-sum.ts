// The gradient of hidden states, of which every worker has the part of its ids.
import type { Collective } from "../../core/collective";
import type { FloatArray } from "../../core/dtype";
import { fromHalfBits, toHalfBits } from "../../core/half";
import { bitsOf, type TensorDType, type TensorView } from "../../core/tensor";

/** Replaces the numbers of this rank by the sums over all ranks, added in float64 in their order. */
export function addedUp(collective: Collective, view: TensorView, dtype: TensorDType): void {
  const bits = bitsOf(view);
  if (dtype === "float32" || dtype === "float64") {
    bits.set(collective.allReduce(Float64Array.from(bits as FloatArray), "sum"));
    return;
  }
  const sums = collective.allReduce(Float64Array.from(fromHalfBits(bits, dtype)), "sum");
  bits.set(toHalfBits(sums, dtype));
}

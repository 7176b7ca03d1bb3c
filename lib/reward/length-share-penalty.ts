// A penalty for being longer than the rest of the group.
import { needFloats, needIds, type TokenIds } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { allocateFloat, floatDType } from "../core/float-arrays";
import { type GroupLayout, needGroups, type NamedGroups } from "../core/groups";
import { needNumber } from "../core/option-checks";

/** One thing that costs: tokens written, tokens read, turns. */
export interface LengthShare {
  /** One per row, integers. */
  readonly counts: TokenIds;
  /** What the largest count of the group costs, as a share of the group's mean reward, >= 0. */
  readonly weight: number;
}

export interface LengthSharePenaltyOptions extends GroupLayout {
  readonly lengths: readonly LengthShare[];
}

/**
 * Takes from each reward a share of the group's mean reward, by how long its row is beside the longest of the group:
 *
 *     r_b ← r_b − mean · Σ_k weight_k · n_kb / max(1, largest n_k of the group)
 *
 * @param rewards one per row
 * @returns in the type of `rewards`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 * @see prime-rl, algo/grpo.py (length penalty)
 */
export function lengthSharePenalty(rewards: FloatArray, options: LengthSharePenaltyOptions & NamedGroups): FloatArray {
  const op = "lengthSharePenalty";
  const B = (rewards as FloatArray | undefined)?.length ?? 0;
  const given = needFloats(op, "rewards", rewards, B, "one per row");
  const groups = needGroups(op, options, B);
  const sums = new Float64Array(groups.G);
  const sizes = new Float64Array(groups.G);
  given.forEach((r, b) => {
    sums[groups.ids[b]!]! += r;
    ++sizes[groups.ids[b]!]!;
  });
  const shares = new Float64Array(B);
  options.lengths.forEach(({ counts, weight }, k) => {
    const n = needIds(op, `lengths[${k}].counts`, counts, B, "one per row");
    const factor = needNumber(op, `lengths[${k}].weight`, weight, { min: 0 });
    const longest = new Float64Array(groups.G).fill(1);
    n.forEach((x, b) => (longest[groups.ids[b]!] = Math.max(longest[groups.ids[b]!]!, x)));
    n.forEach((x, b) => (shares[b]! += (factor * x) / longest[groups.ids[b]!]!));
  });
  const out = allocateFloat(floatDType(given), B);
  given.forEach((r, b) => (out[b] = r - (sums[groups.ids[b]!]! / sizes[groups.ids[b]!]!) * shares[b]!));
  return out;
}

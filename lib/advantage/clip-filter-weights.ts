// Weights that make up for the groups of a batch that teach nothing.
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { asFloat } from "../core/float-arrays";
import { type GroupLayout, needGroups, type NamedGroups } from "../core/groups";
import { needNumber } from "../core/option-checks";
import { normalizeItems } from "../ops/group/normalize";

export interface ClipFilterWeightsOptions extends GroupLayout, BackendOption, CollectiveOption {
  /** Largest weight of a row, > 0. Default 3. */
  readonly clip?: number;
  /** Weight of the rows of a group whose rewards are all equal, >= 0. Default 1. */
  readonly degenerateWeight?: number;
}

export interface ClipFilterWeights {
  /** One per row, float64. */
  readonly weights: Float64Array;
  /** 1 where all rewards of the group are equal; one per group, 0 for an empty one. */
  readonly degenerate: Uint8Array;
}

/**
 * A row of a group with unequal rewards weighs min(groups / such groups, clip), so that the sum of a batch does not shrink
 * with the number of groups of equal rewards; a row of one of those weighs `degenerateWeight`. If no group has unequal
 * rewards, all rows weigh 1. Equal means max = min; a group of one is such a group.
 *
 * @param rewards one per row
 * @param options `groups` (a label per row, or `"all"`) or `groupOffsets`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function clipFilterWeights(
  rewards: FloatArray,
  options: ClipFilterWeightsOptions & NamedGroups,
): ClipFilterWeights {
  const op = "clipFilterWeights";
  const length = ArrayBuffer.isView(rewards) ? rewards.length : 0;
  const given = needFloats(op, "rewards", rewards, length, "one per row");
  const groups = needGroups(op, options, length);
  const clip = needNumber(op, "clip", options.clip ?? 3, { min: 0, above: true, infinite: true });
  const degenerateWeight = needNumber(op, "degenerateWeight", options.degenerateWeight ?? 1, { min: 0 });

  const { stds, counts, groupIds } = normalizeItems(
    op,
    { values: asFloat(given, "float64"), groups },
    { backend: options.backend, collective: options.collective },
  );
  // The std of equal numbers is exactly 0.
  const degenerate = Uint8Array.from(stds, (std, g) => (counts[g]! > 0 && std === 0 ? 1 : 0));
  const filled = counts.filter((count) => count > 0).length;
  const unequal = filled - degenerate.filter((flag) => flag !== 0).length;
  const weight = Math.min(filled / unequal, clip);
  const weights = Float64Array.from(groupIds, (g) =>
    unequal === 0 ? 1 : degenerate[g] !== 0 ? degenerateWeight : weight,
  );
  return { weights, degenerate };
}

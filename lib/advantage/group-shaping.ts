// Rewards of rollouts compared within their group, before they are placed on tokens.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { Collective, CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { asFloat, floatDType } from "../core/float-arrays";
import { optionError, shapeError } from "../core/errors";
import { type GroupLayout, needGroups, type NamedGroups } from "../core/groups";
import { needNumber, needWord } from "../core/option-checks";
import { needRows, rowBegin, rowEnd, type RowLayout, type Rows } from "../core/row-layout";
import { type GroupConventions, normalizeItems } from "../ops/group/normalize";
import { type PresetOption, resolvePreset } from "../presets";
import { needStage, type PipelineEstimator } from "./pipeline-estimators";

export interface GroupShapingConventions {
  /** Added to the std by `"grpo"`, >= 0. Default 1e-8. */
  readonly epsilon?: number;
  /**
   * Which groups `keptGroups` gives up, since they teach nothing: those of `"constant"` rewards, or those whose rewards are
   * all exactly 0 or all exactly 1 (`"zeroOrOne"`). Default `"constant"`.
   */
  readonly dropGroups?: "constant" | "zeroOrOne";
}

export interface ShapeGroupRewardsOptions
  extends
    GroupShapingConventions,
    GroupLayout,
    RowLayout,
    PresetOption<"shapeGroupRewards">,
    BackendOption,
    CollectiveOption {
  /**
   * How rewards are compared: `"rloo"` subtracts the mean of the others, `"reinforcePlusPlusBaseline"` the mean, `"grpo"` that too
   * and divides by the std; the others leave them as they are.
   */
  readonly estimator: PipelineEstimator;
  /** Whether `"grpo"` divides by the std, or not (Dr. GRPO). Default `"std"`. */
  readonly groupScale?: "std" | "none";
  /** 1 = the policy's token. With `shape` or `offsets`: the result has the mask without the rows of dropped groups. */
  readonly mask?: Uint8Array;
}

export interface ShapedRewards {
  /** One per row. */
  readonly rewards: FloatArray;
  /** 0 = the group teaches nothing: what dynamic sampling draws again. One per group; 1 for an empty group. */
  readonly keptGroups: Uint8Array;
  /** The group number of each row: labels are numbered by first appearance. */
  readonly groupIds: Int32Array;
}

export interface MaskedShapedRewards extends ShapedRewards {
  /** The mask, 0 in rows of dropped groups. */
  readonly mask: Uint8Array;
}

/** Groups with a reward other than 0 and 1, on any worker. */
function otherRewards(rewards: FloatArray, ids: Int32Array, G: number, collective: Collective | undefined): Int32Array {
  const others = new Int32Array(G);
  rewards.forEach((reward, b) => {
    if (reward !== 0 && reward !== 1) others[ids[b]!] = 1;
  });
  return collective ? collective.allReduce(others, "max") : others;
}

function maskGroups(rows: Rows, mask: Uint8Array | null, kept: Uint8Array, ids: Int32Array): Uint8Array {
  const result = mask ? mask.slice() : new Uint8Array(rows.n).fill(1);
  for (let b = 0; b < rows.B; ++b) if (kept[ids[b]!] === 0) result.fill(0, rowBegin(rows, b), rowEnd(rows, b));
  return result;
}

/** As shapeGroupRewards, in the name of the public function `op`, by a shaping of any origin; null: rewards stay as they are. */
export function compareInGroups(
  op: string,
  rewards: FloatArray,
  compared: GroupConventions | null,
  options: Omit<ShapeGroupRewardsOptions, "estimator" | "preset">,
): ShapedRewards & Partial<MaskedShapedRewards> {
  const groupScale = options.groupScale ?? "std";
  needWord(op, "groupScale", groupScale, ["std", "none"]);
  const epsilon = needNumber(op, "epsilon", options.epsilon ?? 1e-8, { min: 0 });
  const zeroOrOne = needWord(op, "dropGroups", options.dropGroups ?? "constant", ["constant", "zeroOrOne"]) === 1;
  const B = ArrayBuffer.isView(rewards) ? rewards.length : 0;
  const given = needFloats(op, "rewards", rewards, B, "one per row");
  const groups = needGroups(op, options, B);
  const rows = options.shape || options.offsets ? needRows(op, options) : null;
  if (rows && rows.B !== B) throw shapeError(op, "the number of rows", rows.B, `${B}, as many as rewards`);
  if (!rows && options.mask) throw optionError(op, "mask", options.mask, "shape or offsets beside it");
  const mask = rows && optionalMask(op, "mask", options.mask, rows.n, rows.meaning);

  const { normalized, stds, counts, groupIds } = normalizeItems(
    op,
    { values: asFloat(given, "float64"), groups },
    {
      ...compared,
      scale: compared?.scale === "std" ? groupScale : compared?.scale,
      epsilon,
      singleton: "zero",
      backend: options.backend,
      collective: options.collective,
    },
  );
  const shaped = floatDType(given) === "float64" ? normalized : Float32Array.from(normalized);
  const others = zeroOrOne ? otherRewards(given, groupIds, stds.length, options.collective) : null;
  // The std of equal numbers is exactly 0.
  const kept = Uint8Array.from(stds, (std, g) => (std === 0 && counts[g]! > 0 && !others?.[g] ? 0 : 1));
  const result = { rewards: compared ? shaped : given.slice(), keptGroups: kept, groupIds };
  return rows ? { ...result, mask: maskGroups(rows, mask, kept, groupIds) } : result;
}

/**
 * Shapes the rewards of each group as an estimator wants them:
 *
 *     rloo                             r − mean of the others
 *     reinforcePlusPlusBaseline        r − mean
 *     grpo                             (r − mean) / (std + ε), ddof 1; r − mean with groupScale "none"
 *     gae, reinforcePlusPlus, cpgd     r
 *
 * A group of one gives 0, and so do equal rewards, exactly. NaN stays in its group.
 *
 * @param rewards one per row
 * @param options `estimator`; `groups` (a label per row, or `"all"`) or `groupOffsets`. Presets `"lightrft"` (ε = 1e-9, drops groups of zeros or ones), `"openrlhf"` (ε = 1e-9)
 * @returns in the type of `rewards`, with the groups worth keeping
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function shapeGroupRewards(
  rewards: FloatArray,
  options: ShapeGroupRewardsOptions &
    NamedGroups &
    ({ readonly shape: readonly [number, number] } | { readonly offsets: Int32Array }),
): MaskedShapedRewards;
export function shapeGroupRewards(rewards: FloatArray, options: ShapeGroupRewardsOptions & NamedGroups): ShapedRewards;
export function shapeGroupRewards(
  rewards: FloatArray,
  options: ShapeGroupRewardsOptions & NamedGroups,
): ShapedRewards | MaskedShapedRewards {
  const op = "shapeGroupRewards";
  const { shaping } = needStage(op, options.estimator);
  const compared = shaping === "refuse" ? null : shaping;
  return compareInGroups(op, rewards, compared, resolvePreset(op, options.preset, options));
}

// Advantages of a group of rollouts relative to each other: GRPO, Dr. GRPO, RLOO and their kin.
import type { BackendOption } from "../backend/select";
import { needFloats, needOutput, optionalMask, refuseOverlap } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import { type FloatArray, type FloatDType, floatDType } from "../core/dtype";
import { type GroupLayout, needGroups } from "../core/groups";
import { needWord } from "../core/options";
import { needRows, type RowLayout } from "../core/rows";
import { broadcastRows } from "../ops/group/broadcast";
import { type GroupConventions, normalizeItems } from "../ops/group/normalize";
import { type PresetOption, resolvePreset } from "../presets";
import { rowSums } from "./row-sums";

const REWARD_LEVELS = ["row", "token"] as const;
const SCORE_SCOPES = ["all", "kept"] as const;

export interface GroupAdvantageOptions
  extends GroupConventions,
    GroupLayout,
    RowLayout,
    PresetOption<"groupAdvantage">,
    BackendOption,
    CollectiveOption {
  /**
   * What `rewards` holds: one number per row, or one per token as `shape` or `offsets` say. Then a row's score is the sum of
   * its tokens. Default `"row"`.
   */
  readonly rewardLevel?: (typeof REWARD_LEVELS)[number];
  /**
   * Which token rewards count: `"all"` positions of the row, also those under the mask (prompt, tool output, padding), as
   * the trainers do; or the `"kept"` ones. Default `"all"`.
   */
  readonly scoreOver?: (typeof SCORE_SCOPES)[number];
  /** 1 = the policy's token. Tokens under the mask get advantage 0. Default: all 1. Needs `shape` or `offsets`. */
  readonly mask?: Uint8Array;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly advantages?: FloatArray; readonly tokenAdvantages?: FloatArray };
}

export interface GroupAdvantageResult {
  /** One per row. */
  readonly advantages: FloatArray;
  /** The score of each row: its reward, or the sum of its token rewards. */
  readonly scores: FloatArray;
  /** Mean score, one per group. */
  readonly means: FloatArray;
  /** Std of the scores, one per group, without epsilon; 0 for a group of one or of equal scores. */
  readonly stds: FloatArray;
  /** Rows that entered the statistics, one per group. */
  readonly counts: Int32Array;
  /** The group number of each row: labels are numbered by first appearance. */
  readonly groupIds: Int32Array;
}

export interface TokenGroupAdvantageResult extends GroupAdvantageResult {
  /** The row's advantage at each kept token, 0 under the mask. */
  readonly tokenAdvantages: FloatArray;
}

/** `values` in the type of the call, in `out` where that is given. */
function rounded(values: FloatArray, dtype: FloatDType, out?: FloatArray): FloatArray {
  if (!out) return floatDType(values) === dtype ? values : Float32Array.from(values);
  out.set(values);
  return out;
}

/**
 * Advantages of rollouts relative to their group: the scores of one prompt's rollouts, centred and scaled.
 *
 *     a_b = (s_b − mean) / (std + ε)        the default: ddof 1, ε = 1e-6, a group of one gets 0
 *     a_b = s_b − mean                      scale "none" (Dr. GRPO)
 *     a_b = s_b − mean of the others        center "leaveOneOut", scale "none" (RLOO)
 *
 * Equal scores give exact zeros. The score is summed and the statistics are taken in float64, whatever the input type.
 *
 * @param rewards one per row, or one per token with `rewardLevel: "token"`; in the reward's own unit
 * @param options `groups` (a label per row) or `groupOffsets`, neither = one group; with `shape` or `offsets` the
 * advantages are also spread over the tokens; `preset` takes a trainer's conventions
 * @returns in the type of `rewards`
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 * @see Shao et al. 2024, DeepSeekMath (outcome supervision); Liu et al. 2025, Understanding R1-Zero-Like Training; Ahmadian et al.
 * 2024, Back to Basics
 */
export function groupAdvantage(
  rewards: FloatArray,
  options: GroupAdvantageOptions & ({ readonly shape: readonly [number, number] } | { readonly offsets: Int32Array }),
): TokenGroupAdvantageResult;
export function groupAdvantage(rewards: FloatArray, options?: GroupAdvantageOptions): GroupAdvantageResult;
export function groupAdvantage(
  rewards: FloatArray,
  options: GroupAdvantageOptions = {},
): GroupAdvantageResult | TokenGroupAdvantageResult {
  const op = "groupAdvantage";
  const resolved = resolvePreset(op, options.preset, options);
  const perToken = needWord(op, "rewardLevel", options.rewardLevel ?? "row", REWARD_LEVELS) === 1;
  const keptOnly = needWord(op, "scoreOver", options.scoreOver ?? "all", SCORE_SCOPES) === 1;
  const hasTokens = perToken || options.mask != null || options.shape !== undefined || options.offsets !== undefined;
  const rows = hasTokens ? needRows(op, options) : null;
  const mask = rows && optionalMask(op, "mask", options.mask, rows.n, rows.meaning);

  const given =
    rows && perToken
      ? needFloats(op, "rewards", rewards, rows.n, rows.meaning)
      : needFloats(op, "rewards", rewards, rows ? rows.B : lengthOf(rewards), "one per row");
  const scores = rows && perToken ? rowSums(op, given, rows, keptOnly ? mask : null, options.backend) : given;
  const groups = needGroups(op, options, scores.length);

  const dtype = floatDType(given);
  const out = options.out ?? {};
  if (out.advantages !== undefined) needOutput(op, "advantages", out.advantages, dtype, scores.length);
  if (out.tokenAdvantages !== undefined) needOutput(op, "tokenAdvantages", out.tokenAdvantages, dtype, rows?.n ?? 0);
  const labels = ArrayBuffer.isView(options.groups) ? options.groups : null;
  refuseOverlap(op, { ...out }, { rewards: given, mask, offsets: options.offsets, groups: labels, groupOffsets: options.groupOffsets });

  const group = normalizeItems(op, { values: scores, groups }, { ...resolved, out: {} });
  const result: GroupAdvantageResult = {
    advantages: rounded(group.normalized, dtype, out.advantages),
    scores: perToken ? rounded(scores, dtype) : scores.slice(),
    means: rounded(group.means, dtype),
    stds: rounded(group.stds, dtype),
    counts: group.counts,
    groupIds: group.groupIds,
  };
  if (!rows) return result;
  const { shape, offsets, backend } = options;
  const tokenAdvantages = broadcastRows(op, "advantages", result.advantages, {
    ...(shape && { shape }),
    ...(offsets && { offsets }),
    ...(mask && { mask }),
    ...(backend && { backend }),
    ...(out.tokenAdvantages && { out: { tokens: out.tokenAdvantages } }),
  });
  return { ...result, tokenAdvantages };
}

function lengthOf(array: unknown): number {
  return ArrayBuffer.isView(array) ? (array as FloatArray).length : 0;
}

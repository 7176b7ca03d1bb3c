// Rewards per token: the score of a row at its last token, and a penalty for leaving the reference policy at every token.
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { optionError } from "../core/errors";
import { needNumber, needWord } from "../core/option-checks";
import { needRows, type RowLayout } from "../core/row-layout";
import { placeRows } from "../ops/group/place";
import { type PresetOption, resolvePreset } from "../presets";

/** How a KL penalty enters the reward. */
export interface KlShapedRewardConventions {
  /**
   * Which tokens get `-klCoefficient·kl`: the `"kept"` ones (the others are 0, and their KL is not read), or `"all"` of them.
   * Default `"kept"`.
   */
  readonly over?: "kept" | "all";
  /** What a coefficient below 0 means: no penalty, or a bonus of that size. Default `"zero"`. */
  readonly negativeCoefficient?: "zero" | "keep";
}

const REWARD_LEVELS = ["row", "token"] as const;
const NEGATIVE = ["zero", "keep"] as const;

export interface KlShapedRewardOptions
  extends KlShapedRewardConventions, RowLayout, PresetOption<"klShapedReward">, BackendOption {
  /** β: what a nat of KL costs, in units of the reward. A negative one counts as 0, see `negativeCoefficient`. */
  readonly klCoefficient: number;
  /** What `rewards` holds: one number per row, placed at its last kept token, or one per token. Default `"row"`. */
  readonly rewardLevel?: (typeof REWARD_LEVELS)[number];
  /** Bounds of the rewards of rows, before they are placed: min(max(r, low), high). Default: none. */
  readonly rewardClip?: readonly [low: number, high: number];
  /** 1 = the policy's token. Default: all 1. */
  readonly mask?: Uint8Array;
  /** Reuse memory instead of allocating. Must not overlap the inputs. */
  readonly out?: { readonly tokenRewards?: FloatArray };
}

/**
 * Rewards per token from the rewards of rows and a KL estimate per token:
 *
 *     out[b,t] = −β·kl[b,t],   + clip(r_b) at the last kept token of row b
 *     out[b,t] = r[b,t] − β·kl[b,t]                                            rewardLevel "token"
 *
 * 0 under the mask, where nothing is read, unless `over` is `"all"`. The reward of a row without a kept token is dropped.
 *
 * @param rewards one per row, or one per token with `rewardLevel: "token"`
 * @param kl one per token, nats: log p − log p_ref of the sampled token, or another estimate; not read where β is 0
 * @param options `shape` or `offsets` of the tokens; `preset` takes a trainer's conventions
 * @returns one per token, float64 if an input is, else float32; summed in float64, rounded once
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see Ouyang et al. 2022, Training language models to follow instructions with human feedback, equation 2
 */
export function klShapedReward(rewards: FloatArray, kl: FloatArray, options: KlShapedRewardOptions): FloatArray {
  const op = "klShapedReward";
  const resolved = resolvePreset(op, options.preset, options);
  const rows = needRows(op, resolved);
  const perToken = needWord(op, "rewardLevel", resolved.rewardLevel ?? "row", REWARD_LEVELS) === 1;
  const keepNegative = needWord(op, "negativeCoefficient", resolved.negativeCoefficient ?? "zero", NEGATIVE) === 1;
  const beta = needNumber(op, "klCoefficient", resolved.klCoefficient);
  const { rewardClip, mask, over, shape, offsets, backend, out } = resolved;
  if (perToken && rewardClip !== undefined)
    throw optionError(op, "rewardClip", rewardClip, 'nothing with rewardLevel "token": it bounds rewards of rows');
  const given = perToken
    ? needFloats(op, "rewards", rewards, rows.n, rows.meaning)
    : needFloats(op, "rewards", rewards, rows.B, "one per row");
  const values = needFloats(op, "kl", kl, rows.n, rows.meaning);
  const scale = beta > 0 || keepNegative ? -beta : 0;
  return placeRows(
    op,
    perToken ? { tokens: given, values } : { row: given, values },
    {
      scale,
      clip: rewardClip,
      over,
      mask,
      shape,
      offsets,
      backend,
      out: out?.tokenRewards && { placed: out.tokenRewards },
    },
    { [perToken ? "tokens" : "row"]: "rewards", values: "kl", placed: "tokenRewards", clip: "rewardClip" },
  );
}

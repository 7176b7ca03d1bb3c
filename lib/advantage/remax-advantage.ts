// Returns less the reward of a greedy rollout.
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import type { FloatArray } from "../core/dtype";
import { asFloat } from "../core/float-arrays";
import { broadcastRows } from "../ops/group/broadcast";
import { gae } from "../ops/scan";
import { needTokenBatch, roundedTo, type TokenRewardBatch } from "./token-rewards";

export interface RemaxBatch extends TokenRewardBatch {
  /** The reward of the greedy rollout of each row's prompt, one per row. */
  readonly baselines: FloatArray;
}

/** Per token. */
export interface RemaxAdvantageResult {
  /** Return less baseline; under the mask the return alone. */
  readonly advantages: FloatArray;
  /** Sum of the kept rewards from the token on, also at masked tokens. */
  readonly returns: FloatArray;
}

/**
 * ReMax: A[t] = Σ_{kept j ≥ t} r[j] − baseline[b] at kept tokens.
 *
 * This is GAE with γ = λ = 1 and the baseline as the critic's constant value. Masked tokens have the return, without a
 * baseline: 0 behind the last reward.
 *
 * @returns in the widest float type of the inputs; computed in float64, rounded once
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Li et al. 2024, ReMax (the greedy response as baseline)
 */
export function remaxAdvantage(batch: RemaxBatch, options: BackendOption = {}): RemaxAdvantageResult {
  const op = "remaxAdvantage";
  const checked = needTokenBatch(op, batch, [batch.baselines], options);
  const baselines = asFloat(needFloats(op, "baselines", batch.baselines, checked.rows.B, "one per row"), "float64");
  const values = broadcastRows(op, "baselines", baselines, checked.where);
  const { advantages, returns } = gae(checked.rewards, values, {
    ...checked.where,
    gamma: 1,
    lambda: 1,
    maskMode: "steps",
  });
  return { advantages: roundedTo(checked.dtype, advantages), returns: roundedTo(checked.dtype, returns) };
}

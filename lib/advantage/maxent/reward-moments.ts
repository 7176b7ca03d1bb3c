// Mean and spread of the rewards of a batch, for its log.
import type { BackendOption } from "../../backend/select";
import { needFloats } from "../../core/arrays";
import type { CollectiveOption } from "../../core/collective";
import type { FloatArray } from "../../core/dtype";
import { gatherFloats } from "../../ops/group/items";
import { moments } from "../../ops/reduce";

export interface RewardMoments {
  readonly mean: number;
  /** Population std (ddof 0). */
  readonly std: number;
}

/**
 * Mean and population std of all rewards of a batch, groups or not; of no rewards both are 0. NaN makes both NaN, an infinity the
 * std. With a `collective`, of the rewards of all its workers.
 *
 * @throws SurprisalError ERR_SURPRISAL_DTYPE or _BUFFER
 */
export function rewardMoments(rewards: FloatArray, options: BackendOption & CollectiveOption = {}): RewardMoments {
  const op = "rewardMoments";
  const { collective, ...where } = options;
  const length = ArrayBuffer.isView(rewards) ? rewards.length : 0;
  const all = moments(
    gatherFloats(op, collective, needFloats(op, "rewards", rewards, length, "its own length")).values,
    where,
  );
  return all.counts[0] === 0 ? { mean: 0, std: 0 } : { mean: all.means[0]!, std: all.stds(0)[0]! };
}

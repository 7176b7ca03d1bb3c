// Mean and spread of the rewards of a batch, for its log.
import type { BackendOption } from "../../backend/select";
import type { FloatArray } from "../../core/dtype";
import { moments } from "../../ops/reduce";

export interface RewardMoments {
  readonly mean: number;
  /** Population std (ddof 0). */
  readonly std: number;
}

/**
 * Mean and population std of all rewards of a batch, groups or not; of no rewards both are 0. NaN makes both NaN, an infinity the
 * std.
 *
 * @throws SurprisalError ERR_SURPRISAL_DTYPE or _BUFFER
 */
export function rewardMoments(rewards: FloatArray, options: BackendOption = {}): RewardMoments {
  const all = moments(rewards, options);
  return all.counts[0] === 0 ? { mean: 0, std: 0 } : { mean: all.means[0]!, std: all.stds(0)[0]! };
}

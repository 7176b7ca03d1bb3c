// What a log shows of the weights of a batch.
import type { BackendOption } from "../../backend/select";
import type { CollectiveOption } from "../../core/collective";
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { groupEntropy } from "../../ops/group";
import { rewardMoments } from "./reward-moments";
import { LEAST_WEIGHT, meanOf } from "./weight-entropy";
import type { WeightStatistics } from "./weight-statistics";

export interface WeightLoggingView {
  /** Mean entropy of a prompt's weights, nats. */
  readonly entropy: number;
  /** Mean of entropy / ln n over prompts, of the weights divided by their sum; 1 = all uniform. A group of one counts 0. */
  readonly entropyNorm: number;
  readonly entropyMin: number;
  readonly entropyMax: number;
  /** Of w_i − 1/n over all completions: mean, and population std. */
  readonly deviationMean: number;
  readonly deviationStd: number;
}

interface Logged extends Pick<WeightStatistics, "weights" | "groupIds" | "entropy" | "entropyMin" | "entropyMax"> {
  readonly deviations: FloatArray;
}

/** One worker's share: its prompts that have completions, and the evenness of each. */
interface Part {
  readonly statistics: Logged;
  readonly evennesses: readonly number[];
}

/**
 * Figures for a log, from the statistics of one worker or of several. Prompts without completions do not count; prompts count
 * alike, whichever worker had them. 0 where there is none. A worker gives the statistics of all, or its own together with the
 * `collective` that they were made with.
 *
 * @throws SurprisalError ERR_SURPRISAL_DTYPE or _SHAPE
 */
export function weightLoggingView(
  statistics: Logged | readonly Logged[],
  options: BackendOption & CollectiveOption = {},
): WeightLoggingView {
  const list: readonly Logged[] = Array.isArray(statistics)
    ? (statistics as readonly Logged[])
    : [statistics as Logged];
  if (options.collective && list.length !== 1)
    throw optionError(
      "weightLoggingView",
      "statistics.length",
      list.length,
      "one worker's, where there is a collective",
    );
  const parts = list.map((one): Part => {
    const { evennesses } = groupEntropy(one.weights, {
      groups: one.groupIds,
      normalize: true,
      least: LEAST_WEIGHT,
      ...options,
    });
    return { statistics: one, evennesses: Array.from(evennesses) };
  });
  const present = parts.filter(({ evennesses }) => evennesses.length > 0);
  const prompts = present.reduce((sum, { evennesses }) => sum + evennesses.length, 0);
  const extreme = (pick: (...x: number[]) => number, of: "entropyMin" | "entropyMax"): number =>
    prompts === 0 ? 0 : pick(...present.map((part) => part.statistics[of]));
  const deviations = rewardMoments(
    Float64Array.from(present.flatMap((part) => Array.from(part.statistics.deviations))),
    options,
  );
  return {
    entropy: present.reduce((sum, part) => sum + part.statistics.entropy * (part.evennesses.length / prompts), 0),
    entropyNorm: meanOf(present.flatMap(({ evennesses }) => evennesses)),
    entropyMin: extreme(Math.min, "entropyMin"),
    entropyMax: extreme(Math.max, "entropyMax"),
    deviationMean: deviations.mean,
    deviationStd: deviations.std,
  };
}

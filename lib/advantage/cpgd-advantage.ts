// Advantages of whole responses relative to the batch (CPGD).
import type { BackendOption } from "../backend/select";
import type { CollectiveOption } from "../core/collective";
import { floatDType } from "../core/float-arrays";
import { oneGroup } from "../core/groups";
import { needNumber, needWord } from "../core/option-checks";
import type { GroupConventions } from "../ops/group";
import { normalizeItems } from "../ops/group/normalize";
import { needRewardedBatch, type RewardedBatch, type RowAdvantages, scoresOf, spreadRows } from "./rewarded-batch";

const WEIGHTINGS = ["std", "clipFilter", "none"] as const;

/** Rollouts with their rewards; a row's score is the sum over all its token rewards. */
export type CpgdBatch = Omit<RewardedBatch, "groups" | "groupOffsets">;

export interface CpgdAdvantageOptions extends BackendOption, CollectiveOption {
  /**
   * What becomes of the difference from the batch's mean: divided by the std (population) + ε; times min(rows, `clip`), the
   * clip-filter-like weight of a batch that is one group; or nothing. Default `"std"`.
   */
  readonly weighting?: (typeof WEIGHTINGS)[number];
  /** Added to the std, >= 0. Default 1e-6. */
  readonly epsilon?: number;
  /** A NaN score makes the whole batch NaN, or abstains: left out of the statistics, advantage 0. Default `"propagate"`. */
  readonly nan?: NonNullable<GroupConventions["nan"]>;
  /** Largest clip-filter-like weight, > 0. Default 3. */
  readonly clip?: number;
}

/** Advantages are their own returns. */
export type CpgdAdvantageResult = RowAdvantages;

/**
 * CPGD: the score of a row relative to all rows of the batch, not to those of its prompt.
 *
 *     "std"          a = (s − mean) / (std + ε),   std with ddof 0
 *     "clipFilter"   a = (s − mean) · min(rows, clip)
 *     "none"         a = s − mean
 *
 * Equal scores give exact zeros.
 *
 * @param batch rewards per row or per token, and where the tokens lie
 * @returns per token in the type of the rewards, per row in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see Liu et al. 2025, CPGD: Toward Stable Rule-based Reinforcement Learning for Language Models
 */
export function cpgdAdvantage(batch: CpgdBatch, options: CpgdAdvantageOptions = {}): CpgdAdvantageResult {
  const op = "cpgdAdvantage";
  const checked = needRewardedBatch(op, batch, "unread");
  const { B } = checked.rows;
  const weighting = options.weighting ?? "std";
  needWord(op, "weighting", weighting, WEIGHTINGS);
  const epsilon = needNumber(op, "epsilon", options.epsilon ?? 1e-6, { min: 0 });
  const clip = needNumber(op, "clip", options.clip ?? 3, { min: 0, above: true, infinite: true });
  const backend: BackendOption = { backend: options.backend };

  const { normalized } = normalizeItems(
    op,
    { values: scoresOf(op, checked, "all", backend), groups: oneGroup(B) },
    {
      scale: weighting === "std" ? "std" : "none",
      ddof: 0,
      epsilon,
      nan: options.nan,
      ...backend,
      collective: options.collective,
    },
  );
  const batchRows = options.collective ? options.collective.allReduce(Int32Array.of(B), "sum")[0]! : B;
  const weight = weighting === "clipFilter" ? Math.min(batchRows, clip) : 1;
  const rowAdvantages = Float64Array.from(normalized, (a) => a * weight);
  return { advantages: spreadRows(op, checked, rowAdvantages, floatDType(checked.rewards), backend), rowAdvantages };
}

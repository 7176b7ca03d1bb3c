// Advantages of whole responses relative to the batch (CPGD).
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import { type CollectiveOption, collectiveOption } from "../core/collective";
import { asFloat, type FloatArray, floatDType } from "../core/dtype";
import { oneGroup } from "../core/groups";
import { needNumber, needWord } from "../core/options";
import { needRows, type RowLayout } from "../core/rows";
import { broadcastRows } from "../ops/group/broadcast";
import { normalizeItems } from "../ops/group/normalize";
import { layoutOf } from "./batch";
import { rowSums } from "./row-sums";

const WEIGHTINGS = ["std", "clipFilter", "none"] as const;

export interface CpgdAdvantageOptions extends RowLayout, BackendOption, CollectiveOption {
  /**
   * What becomes of the difference from the batch's mean: divided by the std (population) + ε; times min(rows, `clip`), the
   * clip-filter-like weight of a batch that is one group; or nothing. Default `"std"`.
   */
  readonly weighting?: (typeof WEIGHTINGS)[number];
  /** Added to the std, >= 0. Default 1e-6. */
  readonly epsilon?: number;
  /** Largest clip-filter-like weight, > 0. Default 3. */
  readonly clip?: number;
  /** `"row"`: one reward per row. `"token"`: one per token; a row's score is the sum over all of them. Default `"row"`. */
  readonly rewardLevel?: "row" | "token";
  /** 1 = the policy's token; others get advantage 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface CpgdAdvantageResult {
  /** The row's advantage at each kept token, 0 under the mask. They are their own returns. */
  readonly advantages: FloatArray;
  /** One per row. */
  readonly rowAdvantages: FloatArray;
}

/**
 * CPGD: the score of a row relative to all rows of the batch, not to those of its prompt.
 *
 *     "std"          a = (s − mean) / (std + ε),   std with ddof 0
 *     "clipFilter"   a = (s − mean) · min(rows, clip)
 *     "none"         a = s − mean
 *
 * Equal scores give exact zeros.
 *
 * @param rewards one per row, or one per token with `rewardLevel: "token"`
 * @param options `shape` or `offsets` of the tokens
 * @returns in the type of `rewards`; computed in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 * @see Liu et al. 2025, CPGD: Toward Stable Rule-based Reinforcement Learning for Language Models
 */
export function cpgdAdvantage(rewards: FloatArray, options: CpgdAdvantageOptions): CpgdAdvantageResult {
  const op = "cpgdAdvantage";
  const rows = needRows(op, options);
  const perToken = needWord(op, "rewardLevel", options.rewardLevel ?? "row", ["row", "token"]) === 1;
  const weighting = options.weighting ?? "std";
  needWord(op, "weighting", weighting, WEIGHTINGS);
  const epsilon = needNumber(op, "epsilon", options.epsilon ?? 1e-6, { min: 0 });
  const clip = needNumber(op, "clip", options.clip ?? 3, { min: 0, above: true, infinite: true });
  const mask = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const given = perToken
    ? needFloats(op, "rewards", rewards, rows.n, rows.meaning)
    : needFloats(op, "rewards", rewards, rows.B, "one per row");
  const backend: BackendOption = options.backend ? { backend: options.backend } : {};

  const scores = perToken ? rowSums(op, given, rows, null, options.backend) : asFloat(given, "float64");
  const { normalized } = normalizeItems(
    op,
    { values: scores, groups: oneGroup(rows.B) },
    { scale: weighting === "std" ? "std" : "none", ddof: 0, epsilon, ...backend, ...collectiveOption(options) },
  );
  const batchRows = options.collective ? options.collective.allReduce(Int32Array.of(rows.B), "sum")[0]! : rows.B;
  const weight = weighting === "clipFilter" ? Math.min(batchRows, clip) : 1;
  const perRow = Float64Array.from(normalized, (a) => a * weight);
  const rowAdvantages = floatDType(given) === "float64" ? perRow : Float32Array.from(perRow);
  const advantages = broadcastRows(op, "rewards", rowAdvantages, { ...layoutOf(options), ...(mask && { mask }), ...backend });
  return { advantages, rowAdvantages };
}

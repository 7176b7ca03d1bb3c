// What EGPO and EDGE-GRPO have in common: group advantages, and weights of rows by their entropy in the group.
import type { BackendOption } from "../backend/select";
import type { CollectiveOption } from "../core/collective";
import { needGroups } from "../core/groups";
import { needWord } from "../core/option-checks";
import type { GroupConventions } from "../ops/group";
import { normalizeItems } from "../ops/group/normalize";
import type { NonFiniteRows, SequenceWeightsOptions } from "../ops/modulate";
import { type CheckedRewards, scoresOf } from "./rewarded-batch";
import { rowSums } from "./row-sums";

/** The choices in which systems differ when they weigh sequences. */
export interface SequenceWeightConventions {
  /** How rewards become advantages before they are weighted. Given fields replace those of the preset one by one. */
  readonly grpoAdvantage?: GroupConventions;
  /**
   * Which token rewards make a row's score: `"all"` positions, also those under the mask, or the `"kept"` ones. Without
   * meaning for rewards per row. Default `"all"`.
   */
  readonly scoreOver?: "all" | "kept";
  /** Smallest weight, >= 0. Default 0.5. */
  readonly lambdaMin?: number;
  /** Largest weight, >= 0, Infinity allowed; wins where lambdaMin exceeds it. Default 2. */
  readonly lambdaMax?: number;
  /** Keeps the quotient finite, nats, >= 0. Default 1e-6. */
  readonly epsilon?: number;
  /** Rows without a token to measure: `"exclude"`d from the mean, ratio 1; or entropy `"zero"`. Default `"exclude"`. */
  readonly emptyRows?: "exclude" | "zero";
  /** Rows with a NaN or infinite entropy, see `sequenceWeights`. Default `"isolate"`. */
  readonly nonFinite?: NonFiniteRows;
  /** The ratio of a group with one row that counts, see `sequenceWeights`. Default `"one"`. */
  readonly singletonWeight?: "one" | "own" | "standard";
  /** A group whose mean entropy is 0: ratio `"one"`, or what the `"formula"` gives, 0. Default `"one"`. */
  readonly zeroEntropy?: "one" | "formula";
}

/** Advantages before they are weighted, one per row in float64. */
export function groupAdvantages(
  op: string,
  batch: CheckedRewards,
  scoreOver: "all" | "kept",
  conventions: GroupConventions,
  options: BackendOption & CollectiveOption,
): Float64Array {
  needWord(op, "scoreOver", scoreOver, ["all", "kept"]);
  const values = scoresOf(op, batch, scoreOver, options);
  const groups = needGroups(op, batch.grouping, batch.rows.B);
  return normalizeItems(op, { values, groups }, { ...conventions, ...options }).normalized as Float64Array;
}

/** 1 = the row's reward, under the mask where it is per token, is above 0. */
export function positiveRows({ rewards, rows, mask, perToken }: CheckedRewards, backend: BackendOption): Uint8Array {
  const sums = perToken ? rowSums("positiveRows", rewards, rows, mask, backend.backend) : rewards;
  return Uint8Array.from(sums, (sum) => (sum > 0 ? 1 : 0));
}

/** The conventions of `sequenceWeights` among those of a function. */
export function weightConventions(op: string, conventions: SequenceWeightConventions): Partial<SequenceWeightsOptions> {
  const { epsilon, emptyRows, nonFinite, singletonWeight, zeroEntropy } = conventions;
  needWord(op, "singletonWeight", singletonWeight ?? "one", ["one", "own", "standard"]);
  needWord(op, "zeroEntropy", zeroEntropy ?? "one", ["one", "formula"]);
  return { epsilon, emptyRows, nonFinite, singleton: singletonWeight, zeroMean: zeroEntropy };
}

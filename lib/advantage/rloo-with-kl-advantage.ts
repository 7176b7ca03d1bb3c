// Leave-one-out advantages of rewards that were penalised for the distance from a reference policy.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import type { CollectiveOption } from "../core/collective";
import type { FloatArray } from "../core/dtype";
import { asFloat, widestFloat } from "../core/float-arrays";
import { needGroups, oneGroup } from "../core/groups";
import { needNumber } from "../core/option-checks";
import { layoutOfRows, type Rows } from "../core/row-layout";
import { groupPlace } from "../ops/group";
import { type GroupNormalizeResult, normalizeItems } from "../ops/group/normalize";
import { logRatio } from "../ops/ratio";
import { type PresetOption, resolvePreset } from "../presets";
import type { MultiRewardBatch } from "./multi-reward-advantage";
import { needRewardClip, type RewardClip } from "./reward-clip";
import { needRowsOf, type RowAdvantages, spreadRows } from "./rewarded-batch";
import { needRewardColumns, weightedSums } from "./weighted-rewards";

export type { RewardClip } from "./reward-clip";

/** Leave-one-out advantages of penalised rewards. */
export interface RlooWithKlConventions {
  /** Centres and scales the advantages over the batch at the end. Default false. */
  readonly normalize?: boolean;
  /** Added to the std of that normalisation, >= 0. Default 1e-6. */
  readonly epsilon?: number;
}

/** As for `multiRewardAdvantage`, and log-probs per token for the penalty. */
export interface RlooWithKlBatch extends MultiRewardBatch {
  /** Log-probs of the tokens under the policy that sampled, nats. */
  readonly oldLogProbs?: FloatArray;
  /** The same tokens under the reference policy. */
  readonly referenceLogProbs?: FloatArray;
}

export interface RlooWithKlAdvantageOptions
  extends RlooWithKlConventions, PresetOption<"rlooWithKlAdvantage">, BackendOption, CollectiveOption {
  /** Weight of each reward function. Default: all 1. */
  readonly weights?: ArrayLike<number>;
  /** The weighted sum is clipped to this range, before the penalty. Default: not clipped. */
  readonly rewardClip?: RewardClip;
  /** Weight of the KL penalty, >= 0. Above 0 it needs the log-probs and their `shape` or `offsets`. Default 0. */
  readonly beta?: number;
}

/** Advantages are 0 for rows without a reward, and without siblings that have one. */
export interface RlooWithKlAdvantageResult extends RowAdvantages {
  /** The rewards that were compared: weighted, clipped, penalised. NaN where every function abstained. */
  readonly rewards: FloatArray;
  /** Σ (old − reference) over the row's kept tokens, nats; 0 without a penalty. */
  readonly kls: FloatArray;
}

/** Σ (old − reference) per row. */
function rowKls(
  op: string,
  batch: RlooWithKlBatch,
  rows: Rows,
  mask: Uint8Array | null,
  backend: BackendOption,
): Float64Array {
  const logProbs = (name: "oldLogProbs" | "referenceLogProbs"): FloatArray =>
    asFloat(needFloats(op, name, batch[name], rows.n, rows.meaning), "float64");
  const { logRatios } = logRatio(logProbs("oldLogProbs"), logProbs("referenceLogProbs"), {
    ...layoutOfRows(rows),
    level: "sequence",
    reduce: "sum",
    mask: mask ?? undefined,
    ...backend,
  });
  return Float64Array.from(logRatios);
}

/** Advantages of rows that stand alone count as missing: they have nothing to be compared with. */
function withoutLoners({ normalized, counts, groupIds }: GroupNormalizeResult, rewards: Float64Array): Float64Array {
  return Float64Array.from(normalized, (a, b) => (Number.isNaN(rewards[b]) || counts[groupIds[b]!]! < 2 ? NaN : a));
}

/**
 * Leave-one-out advantages (RLOO) with rewards of several functions and a KL penalty in the reward.
 *
 *     R_b = clip(Σ_f w_f·r_bf, rewardClip) − β·Σ_t m_t·(old_t − reference_t)
 *     a_b = R_b − mean of R over the other rows of the group that have a reward
 *     normalize: a ← (a − mean) / (std + ε) over the batch, ddof 1
 *
 * NaN says that a function abstains. Rows without a reward get 0, and so does a row alone in its group.
 *
 * @param batch `groups` (a label per row, or `"all"`) or `groupOffsets`; with a penalty the log-probs and their `shape` or `offsets`
 * @param options preset `"trl"`: ε = 1e-4
 * @returns in the widest float type of the inputs, rowAdvantages in float64; computed in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 * @see Ahmadian et al. 2024, Back to Basics (leave one out)
 */
export function rlooWithKlAdvantage(
  batch: RlooWithKlBatch,
  options: RlooWithKlAdvantageOptions = {},
): RlooWithKlAdvantageResult {
  const op = "rlooWithKlAdvantage";
  const resolved = resolvePreset(op, options.preset, options);
  const given = needRewardColumns(op, batch.rewards, options.weights);
  const groups = needGroups(op, batch, given.B);
  const rows = needRowsOf(op, batch, given.B);
  const mask = optionalMask(op, "mask", batch.mask, rows.n, rows.meaning);
  const beta = needNumber(op, "beta", options.beta ?? 0, { min: 0 });
  const range = needRewardClip(op, options.rewardClip);
  const epsilon = needNumber(op, "epsilon", resolved.epsilon ?? 1e-6, { min: 0 });
  const backend: BackendOption = { backend: options.backend };
  const together = { collective: options.collective };

  const kls = beta > 0 ? rowKls(op, batch, rows, mask, backend) : new Float64Array(given.B);
  const terms = { row: weightedSums(given, backend), values: kls };
  const penalised = Float64Array.from(
    groupPlace(terms, { shape: [given.B, 1], scale: -beta, clip: range ?? undefined, ...backend }),
  );
  const others = normalizeItems(
    op,
    { values: penalised, groups },
    { center: "leaveOneOut", scale: "none", nan: "abstain", singleton: "zero", ...backend, ...together },
  );
  const { normalized } =
    resolved.normalize === true
      ? normalizeItems(
          op,
          { values: withoutLoners(others, penalised), groups: oneGroup(given.B) },
          { nan: "abstain", singleton: "zero", epsilon, ...backend, ...together },
        )
      : others;
  const dtype = widestFloat(...given.columns, batch.oldLogProbs, batch.referenceLogProbs);
  const rounded = (values: FloatArray): FloatArray => (dtype === "float64" ? values : Float32Array.from(values));
  const rowAdvantages = normalized as Float64Array;
  const advantages = spreadRows(op, { layout: layoutOfRows(rows), mask }, rowAdvantages, dtype, backend);
  return { advantages, rowAdvantages, rewards: rounded(penalised), kls: rounded(kls) };
}

// Leave-one-out advantages of rewards that were penalised for the distance from a reference policy.
import type { BackendOption } from "../backend/select";
import { needFloats, optionalMask } from "../core/arrays";
import { type CollectiveOption, collectiveOption } from "../core/collective";
import { asFloat, type FloatArray, widestFloat } from "../core/dtype";
import { argumentError } from "../core/errors";
import { type GroupLayout, needGroups } from "../core/groups";
import { needNumber } from "../core/options";
import { needRows, type RowLayout } from "../core/rows";
import { groupPlace } from "../ops/group";
import { type GroupNormalizeResult, normalizeItems } from "../ops/group/normalize";
import { logRatio } from "../ops/ratio";
import { type PresetOption, resolvePreset } from "../presets";
import type { RlooConventions } from "../presets/reward-conventions";
import { layoutOf } from "./batch";
import { needRewardClip, type RewardClip } from "./reward-clip";
import { needRewardColumns, type RewardColumns, weightedSums } from "./weighted-rewards";

export type { RlooConventions } from "../presets/reward-conventions";
export type { RewardClip } from "./reward-clip";

export interface RlooAdvantageOptions
  extends RlooConventions,
    GroupLayout,
    RowLayout,
    PresetOption<"rlooAdvantage">,
    BackendOption,
    CollectiveOption {
  /** Weight of each reward function. Default: all 1. */
  readonly weights?: ArrayLike<number>;
  /** The weighted sum is clipped to this range, before the penalty. Default: not clipped. */
  readonly rewardClip?: RewardClip;
  /** Weight of the KL penalty, >= 0. Above 0 it needs the log-probs and their `shape` or `offsets`. Default 0. */
  readonly beta?: number;
  /** Log-probs of the tokens under the policy that sampled, nats. */
  readonly oldLogProbs?: FloatArray;
  /** The same tokens under the reference policy. */
  readonly referenceLogProbs?: FloatArray;
  /** 1 = a token of the response: the penalty is over these. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface RlooAdvantageResult {
  /** One per row; 0 for rows without a reward, and without siblings that have one. `groupBroadcast` spreads them over tokens. */
  readonly advantages: FloatArray;
  /** The rewards that were compared: weighted, clipped, penalised. NaN where every function abstained. */
  readonly rewards: FloatArray;
  /** Σ (old − reference) over the row's kept tokens, nats; 0 without a penalty. */
  readonly kls: FloatArray;
}

/** Σ (old − reference) per row. */
function rowKls(op: string, B: number, options: RlooAdvantageOptions, backend: BackendOption): Float64Array {
  const rows = needRows(op, options);
  if (rows.B !== B) throw argumentError("ERR_SURPRISAL_SHAPE", op, "the number of rows", rows.B, `${B}, as many as rewards`);
  const logProbs = (name: "oldLogProbs" | "referenceLogProbs"): FloatArray =>
    asFloat(needFloats(op, name, options[name], rows.n, rows.meaning), "float64");
  const mask = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const { logRatios } = logRatio(logProbs("oldLogProbs"), logProbs("referenceLogProbs"), {
    ...layoutOf(options),
    level: "sequence",
    reduce: "sum",
    ...(mask && { mask }),
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
 * @param rewards an array per reward function, [rows] each; or one such array
 * @param options `groups` or `groupOffsets`; neither = one group. Preset `"trl"`: ε = 1e-4
 * @returns in the widest float type of the inputs; computed in float64
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 * @see Ahmadian et al. 2024, Back to Basics (leave one out)
 */
export function rlooAdvantage(rewards: RewardColumns, options: RlooAdvantageOptions = {}): RlooAdvantageResult {
  const op = "rlooAdvantage";
  const resolved = resolvePreset(op, options.preset, options);
  const given = needRewardColumns(op, rewards, options.weights);
  const groups = needGroups(op, options, given.B);
  const beta = needNumber(op, "beta", options.beta ?? 0, { min: 0 });
  const range = needRewardClip(op, options.rewardClip);
  const epsilon = needNumber(op, "epsilon", resolved.epsilon ?? 1e-6, { min: 0 });
  const backend: BackendOption = options.backend ? { backend: options.backend } : {};
  const together = collectiveOption(options);

  const kls = beta > 0 ? rowKls(op, given.B, options, backend) : new Float64Array(given.B);
  const terms = { row: weightedSums(given, backend), values: kls };
  const penalised = Float64Array.from(groupPlace(terms, { shape: [given.B, 1], scale: -beta, ...(range && { clip: range }), ...backend }));
  const others = normalizeItems(
    op,
    { values: penalised, groups },
    { center: "leaveOneOut", scale: "none", nan: "abstain", singleton: "zero", ...backend, ...together },
  );
  const advantages =
    resolved.normalize === true
      ? normalizeItems(
          op,
          { values: withoutLoners(others, penalised), groups: needGroups(op, {}, given.B) },
          { nan: "abstain", singleton: "zero", epsilon, ...backend, ...together },
        ).normalized
      : others.normalized;
  const dtype = widestFloat(...given.columns, options.oldLogProbs, options.referenceLogProbs);
  const rounded = (values: FloatArray): FloatArray => (dtype === "float64" ? values : Float32Array.from(values));
  return { advantages: rounded(advantages), rewards: rounded(penalised), kls: rounded(kls) };
}

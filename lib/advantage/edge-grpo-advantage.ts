// Group advantages weighted by sequence entropy within the group (EDGE-GRPO).
import type { BackendOption } from "../backend/select";
import { needFloats } from "../core/arrays";
import { type CollectiveOption, collectiveOption } from "../core/collective";
import { type FloatArray, widestFloat } from "../core/dtype";
import { needNumber, needWord } from "../core/options";
import type { SequenceWeights } from "../ops/modulate";
import { weighSequences } from "../ops/modulate/sequence-weights";
import { type PresetOption, resolvePreset } from "../presets";
import type { EdgeGrpoConventions } from "../presets/entropy-conventions";
import { baseAdvantages, needRewardedBatch, type RewardedBatch, spreadRows, weightConventions } from "./batch";
import { average, chosen, deviation } from "./scalar-metrics";

export interface EdgeGrpoBatch extends RewardedBatch {
  /** Shannon entropies per token, nats; averaged under `mask`. */
  readonly entropies: FloatArray;
}

export interface EdgeGrpoAdvantageOptions extends EdgeGrpoConventions, PresetOption<"edgeGrpoAdvantage">, BackendOption, CollectiveOption {}

export type EdgeGrpoMetrics = Readonly<Record<`edge/${string}`, number>>;

export interface EdgeGrpoAdvantageResult extends SequenceWeights {
  /** Weighted, per token; 0 under the mask. */
  readonly advantages: FloatArray;
  /** Not weighted, per token; 0 under the mask. */
  readonly returns: FloatArray;
  /** Scalars for logging, over the rows of all workers; docs/advantage/edge-grpo.md lists them. */
  readonly metrics: EdgeGrpoMetrics;
}

function metricsOf(weights: SequenceWeights, modeId: number): EdgeGrpoMetrics {
  const valid = (b: number): boolean => weights.valid[b] !== 0;
  const all = Array.from(weights.weights);
  return {
    "edge/enabled": 1,
    "edge/weight_mode_id": modeId,
    "edge/w_mean": average(all),
    "edge/w_std": deviation(all, 0),
    "edge/P_mean": average(chosen(weights.sequenceEntropies, valid)),
    "edge/P_group_mean": average(chosen(weights.groupMeanEntropies, valid)),
  };
}

/**
 * EDGE-GRPO: the group advantage of a row, times a weight from its mean Shannon entropy P within the group.
 *
 *     "ratio":   w = μ / (P + ε)        "zscore":  w = 1 + β·clamp((μ − P) / max(σ, ε), ±zClip)
 *     advantages = A·clamp(w, lambdaMin, lambdaMax),   returns = A      at kept tokens, 0 under the mask
 *
 * μ and σ (ddof 1) are the group's. A group of one, a group of zero entropy, rows without tokens and rows whose entropy is not
 * finite weigh 1, and a group of one has advantage 0; preset `"egpo"` computes what the published code does instead.
 *
 * @param batch rollouts with rewards, groups and entropies. Without groups all rows are one
 * @returns per-token arrays in the widest float type of rewards and entropies; one float64 number per row otherwise
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE, _VALUE or _BUFFER, naming the argument
 */
export function edgeGrpoAdvantage(batch: EdgeGrpoBatch, options: EdgeGrpoAdvantageOptions = {}): EdgeGrpoAdvantageResult {
  const op = "edgeGrpoAdvantage";
  const resolved = resolvePreset(op, options.preset, options);
  const { groupAdvantage: presetBase } = resolvePreset(op, options.preset, {});
  const backend: BackendOption = options.backend ? { backend: options.backend } : {};
  const together = collectiveOption(options);
  const weightMode = resolved.weightMode ?? "ratio";
  const modeId = needWord(op, "weightMode", weightMode, ["ratio", "zscore"]);
  const low = needNumber(op, "lambdaMin", resolved.lambdaMin ?? 0.5, { min: 0 });
  const high = needNumber(op, "lambdaMax", resolved.lambdaMax ?? 2, { min: 0, infinite: true });
  const checked = needRewardedBatch(op, batch);
  const { rows, layout, grouping, mask } = checked;
  const entropies = needFloats(op, "entropies", batch.entropies, rows.n, rows.meaning);

  const { own: weights, all } = weighSequences(op, "entropies", entropies, {
    ...layout,
    ...grouping,
    ...(mask && { mask }),
    form: weightMode,
    bounds: [low, high],
    ...(resolved.beta !== undefined && { beta: resolved.beta }),
    ...(resolved.zClip !== undefined && { zClip: resolved.zClip }),
    ...(resolved.varianceFloor !== undefined && { varianceFloor: resolved.varianceFloor }),
    ...weightConventions(resolved),
    ...backend,
    ...together,
  });
  const conventions = { ...presetBase, ...options.groupAdvantage };
  const base = baseAdvantages(op, checked, resolved.scoreOver ?? "all", conventions, { ...backend, ...together });
  const dtype = widestFloat(checked.rewards, entropies);
  return {
    ...weights,
    advantages: spreadRows(op, checked, base.map((a, b) => a * weights.weights[b]!), dtype, backend),
    returns: spreadRows(op, checked, base, dtype, backend),
    metrics: metricsOf(all, modeId),
  };
}

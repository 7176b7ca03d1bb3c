// VESPO: REINFORCE with a gamma-shaped weight of the whole sequence's ratio.
import type { FloatArray } from "../../core/dtype";
import { needNumber, needWord } from "../../core/options";
import { type PresetOption, resolvePreset } from "../../presets";
import { needPolicyBatch, type PolicyBatch } from "./batch";
import { rowBegin, rowEnd } from "../../core/rows";
import { evaluatePolicy, type PolicyLossResult, policyResult } from "./evaluate";
import type { PolicyLossConventions, PolicyLossOptions } from "./options";

/** The choices in which frameworks differ. */
export interface VespoLossConventions extends PolicyLossConventions {
  /** Rollout weights per token enter the row's ratio from its `"kept"` tokens, or from `"all"` of them. Default `"kept"`. */
  readonly rolloutWeightsOver?: "kept" | "all";
}

export interface VespoLossOptions extends VespoLossConventions, PolicyLossOptions, PresetOption<"vespoLoss"> {
  /** k of rows with A >= 0: how fast the weight rises below ratio 1. >= 0. Default 2. */
  readonly shapePositive?: number;
  /** λ of rows with A >= 0: how fast it falls above. > 0, at least 1e-4 is used. Default 3. */
  readonly ratePositive?: number;
  /** k of rows with A < 0. Default 3. */
  readonly shapeNegative?: number;
  /** λ of rows with A < 0. Default 2. */
  readonly rateNegative?: number;
}

const METRICS = { verl: { "actor/ppo_kl": "-logRatio" }, trl: "weight" } as const;

const [LOWEST, HIGHEST] = [Math.log(1e-8), 20];
const clip = (x: number): number => Math.min(Math.max(x, LOWEST), HIGHEST);

function logSum(weights: FloatArray, begin: number, end: number): number {
  let sum = 0;
  for (let i = begin; i < end; ++i) sum += clip(Math.log(weights[i]!));
  return sum;
}

/** Weights per token as one a row: exp of the sum of their logarithms over every column, each and the sum within [ln 1e-8, 20]. */
function withRowWeights(op: string, batch: PolicyBatch): PolicyBatch {
  const { rolloutWeights, rolloutWeightsPer, rows } = needPolicyBatch(op, batch);
  if (!rolloutWeights || rolloutWeightsPer === "row") return batch;
  const weights = Float64Array.from({ length: rows.B }, (_, b) =>
    Math.exp(clip(logSum(rolloutWeights, rowBegin(rows, b), rowEnd(rows, b)))),
  );
  return { ...batch, rolloutWeights: weights, rolloutWeightsPer: "row" };
}

/**
 * VESPO's policy loss and its gradient, per token, with a constant weight φ a row:
 *
 *     ln w = Σ over the row of ℓ − o (each within ±20) + ln of the rollout weights, within [ln 1e-8, 20]
 *     φ = exp(λ + k·ln w − λ·w),  0 where not finite;   l = −φ·A·ℓ;   d l / d ℓ = −φ·A
 *
 * Rollout weights enter w and nothing else.
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see Shen et al. 2026, VESPO: Variational Sequence-Level Soft Policy Optimization
 */
export function vespoLoss(batch: PolicyBatch, options: VespoLossOptions = {}): PolicyLossResult {
  const op = "vespoLoss";
  const resolved = resolvePreset(op, options.preset, options);
  const shape = { min: 0 } as const;
  const rate = { min: 0, above: true } as const;
  const all = needWord(op, "rolloutWeightsOver", resolved.rolloutWeightsOver ?? "kept", ["kept", "all"]) === 1;
  const evaluation = evaluatePolicy(op, all ? withRowWeights(op, batch) : batch, resolved, {
    skeleton: "row",
    form: {
      form: "gamma",
      logClamp: 20,
      shapePositive: needNumber(op, "shapePositive", resolved.shapePositive ?? 2, shape),
      ratePositive: needNumber(op, "ratePositive", resolved.ratePositive ?? 3, rate),
      shapeNegative: needNumber(op, "shapeNegative", resolved.shapeNegative ?? 3, shape),
      rateNegative: needNumber(op, "rateNegative", resolved.rateNegative ?? 2, rate),
    },
  });
  return policyResult(evaluation, resolved, METRICS);
}

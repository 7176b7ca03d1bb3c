// CISPO: REINFORCE with the clipped ratio as a constant weight, so that no token loses its gradient.
import type { FloatArray } from "../../core/dtype";
import { eachKept } from "../../core/row-layout";
import { type PresetOption, resolvePreset } from "../../presets";
import { type BoundsPerOption, needClipRange } from "./clip-range";
import { needPolicyBatch, type PolicyBatch } from "./policy-batch";
import type { PolicyLossResult } from "./policy-loss-result";
import type { PolicyLossConventions, PolicyLossOptions } from "./policy-loss-options";
import type { RatioLevelOption } from "./row-ratio";
import { evaluateTokenMap, type TokenMap } from "./token-map";

/** The choices in which frameworks differ. */
export interface CispoLossConventions extends PolicyLossConventions {
  /** The weight is at least 1 − clipLow. >= 0; an array as clipHigh. Default: Infinity, no lower bound, as the paper recommends. */
  readonly clipLow?: number | FloatArray;
  /** The log ratio is clamped to ±logClamp before it is exponentiated. Default: Infinity, off. */
  readonly logClamp?: number;
}

export interface CispoLossOptions
  extends CispoLossConventions, BoundsPerOption, PolicyLossOptions, RatioLevelOption, PresetOption<"cispoLoss"> {
  /**
   * The weight is at most 1 + clipHigh. >= 0; Infinity = not clipped. An array has one for each row or token. TRL's `epsilon_high` is the
   * bound itself: one more.
   */
  readonly clipHigh: number | FloatArray;
}

const CISPO: TokenMap<CispoLossOptions> = {
  resolve: (options) => resolvePreset("cispoLoss", options.preset, options),
  form: (op, options) => ({
    form: "weighted",
    ...needClipRange(op, { ...options, clipLow: options.clipLow ?? Infinity }),
    logClamp: options.logClamp ?? Infinity,
  }),
  throughRatio: false,
  metrics: {
    verl: { "actor/pg_clipfrac": "clipped", "actor/ppo_kl": "-clampedLogRatio", "actor/pg_clipfrac_lower": "none" },
    trl: "above",
    skyrl: ({ rows, mask, ratios, figures }, options) => {
      const { clipLow = Infinity, clipHigh, boundsPer } = options as CispoLossOptions;
      const per = (bound: FloatArray): boolean => bound.length === rows.n && boundsPer !== "row";
      const at = (bound: number | FloatArray, b: number, i: number): number =>
        typeof bound === "number" ? bound : bound[per(bound) ? i : b]!;
      let clamped = 0;
      let largest = -Infinity;
      let smallest = Infinity;
      eachKept({ rows, mask }, (i, b) => {
        clamped += Math.min(Math.max(ratios[i]!, 1 - at(clipLow, b, i)), 1 + at(clipHigh, b, i));
        largest = Math.max(largest, ratios[i]!);
        smallest = Math.min(smallest, ratios[i]!);
      });
      const kept = Math.max(figures.kept, 1);
      return {
        "cispo/ratio_mean": figures.ratio / kept,
        "cispo/ratio_clamped_mean": clamped / kept,
        "cispo/ratio_max": figures.kept > 0 ? largest : 0,
        "cispo/ratio_min": figures.kept > 0 ? smallest : 0,
      };
    },
  },
};

/**
 * CISPO's policy loss and its gradient, per token:
 *
 *     w = clip(exp(ℓ − o), 1 − clipLow, 1 + clipHigh), a constant;   l = −w·A·ℓ;   d l / d ℓ = −w·A
 *
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument
 * @see MiniMax 2025, MiniMax-M1: Scaling Test-Time Compute Efficiently with Lightning Attention, equation 4
 */
export function cispoLoss(batch: PolicyBatch, options: CispoLossOptions): PolicyLossResult {
  const op = "cispoLoss";
  return evaluateTokenMap(op, CISPO, needPolicyBatch(op, batch), CISPO.resolve(options));
}

export default CISPO;

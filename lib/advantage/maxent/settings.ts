// All numbers of a MaxEnt-GRPO run in one place, checked, with their defaults: what each function of a step is given.
import type { BetaUpdateOptions, MaxentController, TauUpdateOptions } from "../../control/maxent";
import { maxentController, type MaxentControllerStart } from "../../control/maxent";
import { optionError } from "../../core/errors";
import { needFlag, needNumber, needWord } from "../../core/option-checks";
import { type MaxentTemperatureMode, maxentTemperature } from "./temperature";

/** What a configuration says; the rest has defaults. */
export interface MaxentConfiguration extends MaxentControllerStart {
  /** How κ follows from tau and beta. Default `"tau+beta"`. */
  readonly mode?: MaxentTemperatureMode;
  /** κ itself, in place of the rule. >= 0. Default: by `mode`. */
  readonly temperature?: number;
  /** Default true. */
  readonly lengthNormalize?: boolean;
  /** Of `rewardDistribution`. Default: temperature 1, floor 1e-6. */
  readonly distribution?: { readonly temperature?: number; readonly floor?: number };
  /** Of `updateMaxentTau`. Default: off. */
  readonly tauUpdate?: TauUpdateOptions;
  /** Of `updateMaxentBeta`. Default: off. */
  readonly betaUpdate?: BetaUpdateOptions;
  /** Of group advantages. Default `"std"`. */
  readonly scale?: "std" | "none";
  /** Of the weights: equal ones for a prompt that has nothing to weigh by. Default false. */
  readonly uniformFallback?: boolean;
}

export interface MaxentSettings {
  /** The start of the controllers. */
  readonly controller: MaxentController;
  readonly mode: MaxentTemperatureMode;
  /** κ of the first step; later ones: `maxentTemperature(tau, beta, mode)` of the controller. */
  readonly temperature: number;
  readonly lengthNormalize: boolean;
  readonly distribution: { readonly temperature: number; readonly floor: number };
  readonly tauUpdate: Required<Omit<TauUpdateOptions, "rateScale">>;
  readonly betaUpdate: Required<BetaUpdateOptions>;
  readonly scale: "std" | "none";
  readonly uniformFallback: boolean;
}

const OP = "maxentSettings";
const SCALES = ["std", "none"] as const;

const atLeast0 = (name: string, value: number | undefined, standard = 0): number =>
  needNumber(OP, name, value ?? standard, { min: 0 });

function needTarget(name: string, value: number | null | undefined): number | null {
  return value === null || value === undefined ? null : needNumber(OP, `tauUpdate.${name}`, value);
}

function tauUpdateOf(given: TauUpdateOptions): MaxentSettings["tauUpdate"] {
  const min = atLeast0("tauUpdate.min", given.min);
  const max = atLeast0("tauUpdate.max", given.max);
  if (max !== 0 && max < min)
    throw optionError(OP, "tauUpdate.max", max, `0 (none) or a number >= ${min}, the lower bound`);
  return {
    target: needTarget("target", given.target),
    targetStart: needTarget("targetStart", given.targetStart),
    targetFinal: needTarget("targetFinal", given.targetFinal),
    targetHorizon: needNumber(OP, "tauUpdate.targetHorizon", given.targetHorizon ?? 0, { min: 0, integer: true }),
    learningRate: atLeast0("tauUpdate.learningRate", given.learningRate),
    min,
    max,
    warmupSteps: needNumber(OP, "tauUpdate.warmupSteps", given.warmupSteps ?? 0, { min: -1, integer: true }),
    decay: needNumber(OP, "tauUpdate.decay", given.decay ?? 0.9, { min: 0, max: 1 }),
  };
}

/**
 * The settings of a run: checked once, with defaults filled in, to be handed to `maxentAdvantage`, `listwiseWeights`,
 * `rewardDistribution`, `rewardStatistics`, `updateMaxentTau` and `updateMaxentBeta`. κ is taken from the rule of `mode` unless `temperature` says another.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the field
 */
export function maxentSettings(configuration: MaxentConfiguration): MaxentSettings {
  const { mode = "tau+beta", distribution = {}, tauUpdate = {}, betaUpdate = {}, scale = "std" } = configuration;
  const { tau, beta, logTau, entropyAverage, meta } = configuration;
  const controller = maxentController({
    tau,
    beta,
    logTau,
    entropyAverage,
    meta,
  });
  needWord(OP, "scale", scale, SCALES);
  return {
    controller,
    mode,
    temperature: atLeast0("temperature", configuration.temperature, maxentTemperature(tau, beta, mode)),
    lengthNormalize: needFlag(OP, "lengthNormalize", configuration.lengthNormalize ?? true) === 1,
    distribution: {
      temperature: atLeast0("distribution.temperature", distribution.temperature, 1),
      floor: atLeast0("distribution.floor", distribution.floor, 1e-6),
    },
    tauUpdate: tauUpdateOf(tauUpdate),
    betaUpdate: {
      target: atLeast0("betaUpdate.target", betaUpdate.target),
      horizon: atLeast0("betaUpdate.horizon", betaUpdate.horizon),
      stepSize: atLeast0("betaUpdate.stepSize", betaUpdate.stepSize),
    },
    scale,
    uniformFallback: needFlag(OP, "uniformFallback", configuration.uniformFallback ?? false) === 1,
  };
}

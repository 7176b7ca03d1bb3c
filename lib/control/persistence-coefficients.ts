// The layout of maxent-grpo's controller_state.json: the coefficients alone, without kind and version.
import type { MaxentController } from "./maxent";
import { META_DEFAULTS, type MetaController } from "./maxent/meta-settings";
import { logOf } from "./maxent/state";
import { corrupt, inside, type JsonRecord, numberOf, numberToJson, type Place, recordOf } from "./persistence-numbers";

/** Our names of what stands under meta.controller. */
const META_NAMES: Readonly<Record<string, keyof MetaController>> = {
  enabled: "enabled",
  method: "method",
  learning_rate: "learningRate",
  tau_learning_rate: "tauLearningRate",
  beta_learning_rate: "betaLearningRate",
  beta_grad_clip: "betaGradientClip",
  update_interval: "updateInterval",
  objective: "objective",
  analytic_steps: "analyticSteps",
  optimizer: "optimizer",
  truncation_steps: "truncationSteps",
  use_hessian: "useHessian",
  last_tau_grad: "lastTauGradient",
  last_beta_grad: "lastBetaGradient",
};

const COUNTERS: readonly (keyof MetaController)[] = ["updateInterval", "analyticSteps", "truncationSteps"];

/** Whether a file has this layout: no list of controllers, but coefficients. */
export function hasCoefficients(file: JsonRecord): boolean {
  return !("controllers" in file) && ("tau" in file || "beta" in file);
}

export interface CoefficientsOptions {
  readonly unsetAverage: "null" | "tau";
  readonly negative: "refuse" | "keep";
}

function needCoefficient(value: unknown, place: Place, { negative }: Pick<CoefficientsOptions, "negative">): number {
  if (typeof value === "number" && Number.isFinite(value) && (value >= 0 || negative === "keep")) return value;
  throw corrupt(place, value, negative === "keep" ? "a finite number" : "a finite number >= 0");
}

/** The record to be written. */
export function coefficientsOf(state: MaxentController, place: Place, options: CoefficientsOptions): JsonRecord {
  const tau = needCoefficient(state.tau, inside(place, "tau"), options);
  const beta = needCoefficient(state.beta, inside(place, "beta"), options);
  const average = Number.isFinite(state.entropyAverage)
    ? state.entropyAverage
    : options.unsetAverage === "tau"
      ? tau
      : null;
  const meta = recordOf(state.meta, inside(place, "meta"));
  const controller = Object.entries(META_NAMES).map(([theirs, ours]) => {
    const value = meta[ours];
    return [theirs, typeof value === "number" ? numberToJson(value) : value] as const;
  });
  return {
    beta: numberToJson(beta),
    tau: numberToJson(tau),
    tau_log: numberToJson(state.logTau ?? logOf(tau)),
    tau_entropy_ema: average === null ? null : numberToJson(average),
    meta: { version: 1, controller: Object.fromEntries(controller) as JsonRecord },
  };
}

const finite = (value: unknown): number | null => {
  const found = numberOf(value);
  return found !== undefined && Number.isFinite(found) ? found : null;
};

function metaValue(name: keyof MetaController, value: unknown): MetaController[keyof MetaController] {
  const standard = META_DEFAULTS[name];
  if (typeof standard === "string") return typeof value === "string" && value !== "" ? value : standard;
  if (typeof standard !== "number") return typeof value === "boolean" ? value : standard;
  const found = finite(value);
  if (found === null) return standard;
  if (COUNTERS.includes(name)) return Math.max(Math.trunc(found), 1);
  return name.startsWith("last") ? found : Math.max(found, 0);
}

/** Settings that are missing or make no sense are the standard ones: they come from other versions of another program. */
function metaOf(value: unknown): MetaController {
  const controller = (value as { controller?: unknown } | null | undefined)?.controller;
  const given = (typeof controller === "object" && controller !== null ? controller : {}) as JsonRecord;
  const found = Object.entries(META_NAMES).map(([theirs, ours]) => [ours, metaValue(ours, given[theirs])]);
  return { ...META_DEFAULTS, ...(Object.fromEntries(found) as Partial<MetaController>) };
}

/** The state that a file of this layout holds. tau and beta have to be there; what is derived from them is made anew if need be. */
export function stateOfCoefficients(
  file: JsonRecord,
  place: Place,
  { unsetAverage }: Pick<CoefficientsOptions, "unsetAverage">,
): MaxentController {
  const tau = needCoefficient(file["tau"], inside(place, "tau"), { negative: "refuse" });
  const beta = needCoefficient(file["beta"], inside(place, "beta"), { negative: "refuse" });
  return {
    tau,
    beta,
    logTau: finite(file["tau_log"]) ?? logOf(tau),
    entropyAverage: finite(file["tau_entropy_ema"]) ?? (unsetAverage === "tau" ? tau : null),
    meta: metaOf(file["meta"]),
  };
}

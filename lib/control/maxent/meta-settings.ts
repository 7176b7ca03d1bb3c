// Settings of the updates of tau and beta by gradients. They travel with the state, as its files have them.
import { optionError } from "../../core/errors";
import { needNumber } from "../../core/option-checks";

/** Rates, bounds and memory. */
export interface MetaController {
  /** Default false: updates change nothing. */
  readonly enabled: boolean;
  /** One of `META_METHODS`, in any case; all mean the same here. Default `"analytic"`. */
  readonly method: string;
  /** Of both coefficients, where they have none of their own. >= 0. Default 0. */
  readonly learningRate: number;
  /** Of tau; 0 = `learningRate`. Default 0. */
  readonly tauLearningRate: number;
  /** Of beta; 0 = `learningRate`. Default 0. */
  readonly betaLearningRate: number;
  /** The gradient of beta is clipped to ± this; 0 = not. Default 0. */
  readonly betaGradientClip: number;
  /** Steps between updates, >= 1: where an update is told its step, it moves nothing at steps in between. Default 1. */
  readonly updateInterval: number;
  /** Gradient of tau that the last update used. Default 0. */
  readonly lastTauGradient: number;
  /** Gradient of beta that the last update used, before clipping. Default 0. */
  readonly lastBetaGradient: number;
  /** The last update ended on a bound of tau; null before the first. */
  readonly tauProjected: boolean | null;
  /** The last update would have made beta negative; null before the first. */
  readonly betaProjected: boolean | null;
}

/** Methods that updates know. */
export const META_METHODS = [
  "analytic",
  "analytic_grad",
  "potential",
  "first_order",
  "truncated",
  "truncated_backprop",
  "backprop",
] as const;

export const META_DEFAULTS: MetaController = Object.freeze({
  enabled: false,
  method: "analytic",
  learningRate: 0,
  tauLearningRate: 0,
  betaLearningRate: 0,
  betaGradientClip: 0,
  updateInterval: 1,
  lastTauGradient: 0,
  lastBetaGradient: 0,
  tauProjected: null,
  betaProjected: null,
});

const RANGES: Readonly<Partial<Record<keyof MetaController, Parameters<typeof needNumber>[3]>>> = {
  learningRate: { min: 0 },
  tauLearningRate: { min: 0 },
  betaLearningRate: { min: 0 },
  betaGradientClip: { min: 0 },
  updateInterval: { min: 1, integer: true },
};

function needField(op: string, at: string, name: keyof MetaController, value: unknown): unknown {
  const standard = META_DEFAULTS[name];
  if (typeof standard === "number") return needNumber(op, `${at}.${name}`, value, RANGES[name]);
  const kind = typeof standard === "string" ? "string" : "boolean";
  if (typeof value === kind || (standard === null && value === null)) return value;
  throw optionError(op, `${at}.${name}`, value, kind === "string" ? "a string" : "true or false");
}

/** The settings, checked, with the defaults of those that are not there. */
export function metaController(op: string, at: string, given: Partial<MetaController> | undefined): MetaController {
  const record: unknown = given ?? {};
  if (typeof record !== "object" || Array.isArray(record)) throw optionError(op, at, given, "an object of settings");
  const fields = record as Readonly<Record<string, unknown>>;
  const names = Object.keys(META_DEFAULTS) as (keyof MetaController)[];
  const unknown = Object.keys(fields).find((name) => !Object.hasOwn(META_DEFAULTS, name));
  if (unknown !== undefined)
    throw optionError(op, `${at}.${unknown}`, fields[unknown], `one of the fields ${names.join(", ")}`);
  const entries = names.map((name) => [
    name,
    fields[name] === undefined ? META_DEFAULTS[name] : needField(op, at, name, fields[name]),
  ]);
  return Object.fromEntries(entries) as MetaController;
}

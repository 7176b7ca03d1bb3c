// The state of MaxEnt-GRPO's controllers: the two coefficients of the objective, and what the next update starts from.
import { optionError } from "../../core/errors";
import { needNumber } from "../../core/option-checks";
import { metaController, type MetaController } from "./meta-settings";

/** Plain data, which can be stored, sent and compared. Updates return a new one. */
export interface MaxentController {
  /** Entropy coefficient in force. */
  readonly tau: number;
  /** Reference coefficient in force. */
  readonly beta: number;
  /** ln tau, from which the next update goes on; null = that of `tau`, at least ln 1e-8. */
  readonly logTau: number | null;
  /** Moving average of the measured entropy, nats; null before the first. */
  readonly entropyAverage: number | null;
  /** Settings and memory of the updates by gradients. */
  readonly meta: MetaController;
  /** What a file of maxent-grpo has beside, under its names there: no settings here, but saved as they came. null = nothing. */
  readonly foreign: ForeignSettings | null;
}

/** By their names in the file. */
export type ForeignSettings = Readonly<Record<string, string | number | boolean>>;

/** A start: the coefficients, and the rest where it is known. */
export interface MaxentControllerStart {
  /** >= 0. */
  readonly tau: number;
  /** >= 0. */
  readonly beta: number;
  readonly logTau?: number | null;
  readonly entropyAverage?: number | null;
  readonly meta?: Partial<MetaController>;
  readonly foreign?: ForeignSettings | null;
}

/** Bounds of tau. */
export interface TauBounds {
  /** >= 0; updates keep tau at 1e-8 or above in any case, since its logarithm has to stay finite. Default 0. */
  readonly min?: number;
  /** 0 = none, or >= `min`. Default 0. */
  readonly max?: number;
}

/** The smallest tau that an update leaves. */
const LEAST_TAU = 1e-8;

/** ln of the largest tau that an update leaves where there is no upper bound. */
const LARGEST_LOG = 700;

/** ln tau, at least that of the smallest one. */
export const logOf = (tau: number): number => Math.log(Math.max(tau, LEAST_TAU));

/** A number, or null where there is none: nothing else, and no NaN. */
function needKnown(op: string, name: string, value: number | null | undefined): number | null {
  return value === null || value === undefined ? null : needNumber(op, name, value);
}

function needForeign(op: string, name: string, given: unknown): ForeignSettings | null {
  if (given === null || given === undefined) return null;
  const plain = typeof given === "object" && !Array.isArray(given);
  if (plain && Object.values(given).every((value) => ["string", "number", "boolean"].includes(typeof value)))
    return { ...(given as ForeignSettings) };
  throw optionError(op, name, given, "an object of strings, numbers and flags, or null");
}

/** The checked state, for the public function `op`. */
export function needMaxent(op: string, name: string, state: MaxentControllerStart): MaxentController {
  const given: unknown = state; // State comes from files and other processes.
  if (typeof given !== "object" || given === null) throw optionError(op, name, given, "{ tau, beta, … }");
  const at = name === "" ? "" : `${name}.`;
  return {
    tau: needNumber(op, `${at}tau`, state.tau, { min: 0 }),
    beta: needNumber(op, `${at}beta`, state.beta, { min: 0 }),
    logTau: needKnown(op, `${at}logTau`, state.logTau),
    entropyAverage: needKnown(op, `${at}entropyAverage`, state.entropyAverage),
    meta: metaController(op, `${at}meta`, state.meta),
    foreign: needForeign(op, `${at}foreign`, state.foreign),
  };
}

/**
 * The state behind starting coefficients. A new tau is a new state: no logarithm of an older one stays.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the field
 */
export function maxentController(start: MaxentControllerStart): MaxentController {
  return needMaxent("maxentController", "", start);
}

/** Bounds checked: min as it applies, max infinite where there is none. */
export function needBounds(
  op: string,
  { min = 0, max = 0 }: TauBounds,
): { readonly min: number; readonly max: number } {
  const lower = Math.max(needNumber(op, "min", min, { min: 0 }), LEAST_TAU);
  const upper = needNumber(op, "max", max, { min: 0 });
  if (upper !== 0 && upper < lower)
    throw optionError(op, "max", max, `0 (none) or a number >= ${lower}, the lower bound`);
  return { min: lower, max: upper === 0 ? Math.exp(LARGEST_LOG) : upper };
}

/**
 * The state with tau within its bounds, and the logarithm that belongs to it: after loading, or where bounds have changed. Updates
 * do the same with what they move.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the argument
 */
export function boundMaxentTau(state: MaxentController, bounds: TauBounds): MaxentController {
  const op = "boundMaxentTau";
  const checked = needMaxent(op, "state", state);
  const { min, max } = needBounds(op, bounds);
  return moveTau(checked, Math.min(Math.max(checked.tau, min), max));
}

/** The state with another tau. */
export function moveTau(state: MaxentController, tau: number): MaxentController {
  return { ...state, tau, logTau: logOf(tau) };
}

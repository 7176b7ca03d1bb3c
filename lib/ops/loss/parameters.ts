// The numbers that the forms of a loss take. Which form reads which, and their ranges, stand in native/include/surprisal/loss.h.
import { LOSS_PARAMETERS, type LossParameters, readLossParameters } from "../../backend/contract/loss";
import { optionError } from "../../core/errors";
import type { FloatArray } from "../../core/dtype";
import { needNumber } from "../../core/option-checks";
import type { Per } from "../../core/per-row";
import { isArray } from "./bounds";

/** What every form reads, if only for its figures. */
export interface LossBand {
  /**
   * Clip width below, >= 0; Infinity = none. A figure counts tokens below 1 − clipLow. An array, [n] or [rows], where the form clips: one
   * out of range makes its tokens NaN. Default Infinity.
   */
  readonly clipLow?: number | FloatArray;
  /** Clip width above, likewise. A figure counts tokens above 1 + clipHigh. Default Infinity. */
  readonly clipHigh?: number | FloatArray;
  /** Upper cap of the ratio in the unclipped term, without gradient above it, > 0; likewise. Default Infinity, off. */
  readonly ratioCap?: number | FloatArray;
  /** What an entry of a bound that is an array belongs to. Default: by the length. */
  readonly boundsPer?: Per;
  /** The log ratio is clamped to ±logClamp, without gradient outside, > 0. Default Infinity, off. */
  readonly logClamp?: number;
  /** The log ratio is clamped from above, without gradient there, >= 0. Default Infinity, off. */
  readonly maxLogRatio?: number;
}

type Parameter = keyof LossParameters;

const OF_EVERY_FORM: readonly Parameter[] = ["clipLow", "clipHigh", "ratioCap", "logClamp", "maxLogRatio"];

/** Names of options. */
interface FormOptions {
  readonly needs: readonly string[];
  readonly takes: readonly string[];
}

/** What is said of the numbers of a form, checked; refuses those it would not read. */
export function needParameters(
  op: string,
  form: string,
  { needs, takes }: FormOptions,
  options: Partial<Record<Parameter, unknown>>,
): LossParameters {
  let missing = needs.length;
  const parameters = readLossParameters(options, (name, value) => {
    const needed = needs.includes(name);
    if (needed) --missing;
    if (isArray(value)) return undefined;
    if (!needed && !takes.includes(name) && !OF_EVERY_FORM.includes(name))
      throw optionError(op, name, value, `nothing: form "${form}" does not read it`);
    return needNumber(op, name, value, LOSS_PARAMETERS[name]);
  });
  if (missing > 0) needAll(op, needs, options);
  return parameters;
}

/** Refuses the first number that is missing; an array that a form needs is no number. */
function needAll(op: string, needs: readonly string[], options: Partial<Record<Parameter, unknown>>): void {
  for (const [name, range] of Object.entries(LOSS_PARAMETERS))
    if (needs.includes(name) && options[name as Parameter] === undefined) needNumber(op, name, undefined, range);
}

// The numbers that the forms of a loss take: which form needs which, their ranges, and what is in force where they are left out.
import type { LossForm, LossParameters, RowForm } from "../../backend/contract/loss";
import { argumentError } from "../../core/errors";
import { needNumber, type NumberRange } from "../../core/option-checks";

/** What every form reads, if only for its figures. */
export interface LossBand {
  /** Clip width below, >= 0; Infinity = none. A figure counts tokens below 1 − clipLow. Default Infinity. */
  readonly clipLow?: number;
  /** Clip width above, >= 0; Infinity = none. A figure counts tokens above 1 + clipHigh. Default Infinity. */
  readonly clipHigh?: number;
  /** Upper cap of the ratio in the unclipped term, without gradient above it, > 0. Default Infinity, off. */
  readonly ratioCap?: number;
  /** The log ratio is clamped to ±logClamp, without gradient outside, > 0. Default Infinity, off. */
  readonly logClamp?: number;
  /** The log ratio is clamped from above, without gradient there, >= 0. Default Infinity, off. */
  readonly maxLogRatio?: number;
}

type Parameter = keyof LossParameters;

const WIDTH = { min: 0, infinite: true } as const;
const BOUND = { min: 0, above: true, infinite: true } as const;

/** What each of them may be. */
const RANGES = {
  clipLow: WIDTH,
  clipHigh: WIDTH,
  ratioCap: BOUND,
  logClamp: BOUND,
  maxLogRatio: WIDTH,
  dualClip: { min: 1, above: true, infinite: true },
  temperaturePositive: { min: 0, above: true },
  temperatureNegative: { min: 0, above: true },
  coefficient: {},
  shapePositive: {},
  ratePositive: {},
  shapeNegative: {},
  rateNegative: {},
  countEpsilon: { min: 0 },
} as const satisfies Readonly<Record<Parameter, NumberRange>>;

/** In force where a form does not take the number, or leaves it open. */
export const DEFAULT_PARAMETERS: LossParameters = {
  clipLow: Infinity,
  clipHigh: Infinity,
  ratioCap: Infinity,
  logClamp: Infinity,
  maxLogRatio: Infinity,
  dualClip: Infinity,
  temperaturePositive: 1,
  temperatureNegative: 1,
  coefficient: 0,
  shapePositive: 0,
  ratePositive: 0,
  shapeNegative: 0,
  rateNegative: 0,
  countEpsilon: 0,
};

const OF_EVERY_FORM: readonly Parameter[] = ["clipLow", "clipHigh", "ratioCap", "logClamp", "maxLogRatio"];

interface FormParameters {
  readonly needs: readonly Parameter[];
  readonly takes: readonly Parameter[];
}

const NOTHING: FormParameters = { needs: [], takes: [] };
const BANDED: FormParameters = { needs: ["clipLow", "clipHigh"], takes: [] };
const CLIPPED: FormParameters = { needs: ["clipLow", "clipHigh"], takes: ["dualClip"] };
const WEIGHED: FormParameters = { needs: ["coefficient"], takes: [] };

export const TOKEN_PARAMETERS: Readonly<Record<LossForm, FormParameters>> = {
  clip: CLIPPED,
  linear: NOTHING,
  weighted: NOTHING,
  sigmoid: { needs: ["temperaturePositive", "temperatureNegative"], takes: [] },
  marked: WEIGHED,
  bounded: BANDED,
  squared: NOTHING,
};

export const ROW_PARAMETERS: Readonly<Record<RowForm, FormParameters>> = {
  clip: CLIPPED,
  clipOnce: CLIPPED,
  clipLocal: CLIPPED,
  geometric: { needs: ["clipLow", "clipHigh"], takes: ["countEpsilon"] },
  gamma: { needs: ["shapePositive", "ratePositive", "shapeNegative", "rateNegative"], takes: [] },
  squared: WEIGHED,
};

/** Checks the numbers of a form; refuses those it would not read. */
export function needParameters(
  op: string,
  form: string,
  { needs, takes }: FormParameters,
  options: object,
): LossParameters {
  const given = options as Partial<Record<Parameter, unknown>>;
  const result = { ...DEFAULT_PARAMETERS } as { -readonly [Name in Parameter]: number };
  for (const name of Object.keys(RANGES) as Parameter[]) {
    const value = given[name];
    const needed = needs.includes(name);
    if (value === undefined && !needed) continue;
    if (!needed && !takes.includes(name) && !OF_EVERY_FORM.includes(name))
      throw argumentError("ERR_SURPRISAL_OPTION", op, name, value, `nothing: form "${form}" does not read it`);
    result[name] = needNumber(op, name, value, RANGES[name]);
  }
  return result;
}

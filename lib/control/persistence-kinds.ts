// The kinds of controllers that files hold, and what each of their fields may be.
import type { EntropyCoefficient } from "./entropy-coefficient";
import type { KlController } from "./kl-controller";
import type { MaxentController } from "./maxent";
import type { MetaController } from "./maxent/meta-settings";
import { corrupt, inside, type JsonRecord, numberOf, numberToJson, type Place, recordOf } from "./persistence-numbers";
import type { RoleBaselines } from "./role-baselines";
import type { RunningMoments } from "./running-moments";

/** The states by the name of their kind. */
export interface ControllerStates {
  readonly maxent: MaxentController;
  readonly kl: KlController;
  readonly entropyCoefficient: EntropyCoefficient;
  readonly runningMoments: RunningMoments;
  readonly roleBaselines: RoleBaselines;
}

export type ControllerKind = keyof ControllerStates;

/** Reads a value of a file; the same refuses what should not be written. */
type Field = (value: unknown, place: Place) => unknown;

interface NumberRule {
  readonly min?: number;
  readonly integer?: boolean;
  /** NaN and ±∞ are states too. */
  readonly any?: boolean;
}

function number({ min = -Infinity, integer = false, any = false }: NumberRule = {}): Field {
  const want = any ? "a number" : `${integer ? "an integer" : "a finite number"}${min > -Infinity ? ` >= ${min}` : ""}`;
  return (value, place) => {
    const found = numberOf(value);
    const ok =
      found !== undefined && (any || (Number.isFinite(found) && found >= min && (!integer || Number.isInteger(found))));
    if (!ok) throw corrupt(place, value, want);
    return found;
  };
}

const orNull =
  (field: Field): Field =>
  (value, place) =>
    value === null ? null : field(value, place);

const typed =
  (kind: "string" | "boolean"): Field =>
  (value, place) => {
    if (typeof value !== kind) throw corrupt(place, value, kind === "string" ? "a string" : "true or false");
    return value;
  };

function record(fields: Readonly<Record<string, Field>>): Field {
  return (value, place) => {
    const given = recordOf(value, place);
    const strange = Object.keys(given).find((name) => !Object.hasOwn(fields, name));
    if (strange !== undefined)
      throw corrupt(inside(place, strange), given[strange], `one of the fields ${Object.keys(fields).join(", ")}`);
    return Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, field(given[name], inside(place, name))]),
    );
  };
}

const rate = number({ min: 0 });
const count = number({ min: 1, integer: true });

const meta = record({
  enabled: typed("boolean"),
  method: typed("string"),
  learningRate: rate,
  tauLearningRate: rate,
  betaLearningRate: rate,
  betaGradientClip: rate,
  updateInterval: count,
  lastTauGradient: number(),
  lastBetaGradient: number(),
  tauProjected: orNull(typed("boolean")),
  betaProjected: orNull(typed("boolean")),
} satisfies Record<keyof MetaController, Field>);

/** Words and flags as they came; null where there are none. */
const foreign: Field = (value, place) =>
  value === null || value === undefined
    ? null
    : Object.fromEntries(
        Object.entries(recordOf(value, place)).map(([name, given]) => {
          if (typeof given === "string" || typeof given === "boolean") return [name, given];
          return [name, number()(given, inside(place, name))];
        }),
      );

/** Finite numbers by any name. */
const numbers: Field = (value, place) =>
  Object.fromEntries(
    Object.entries(recordOf(value, place)).map(([name, given]) => [name, number()(given, inside(place, name))]),
  );

/** The fields of each kind, in the version that is written. */
const FIELDS: Readonly<Record<ControllerKind, Field>> = {
  maxent: record({
    tau: number({ min: 0 }),
    beta: number({ min: 0 }),
    logTau: orNull(number()),
    entropyAverage: orNull(number()),
    meta,
    foreign,
  }),
  kl: record({ coefficient: number() }),
  entropyCoefficient: record({ coefficient: number(), lastEntropy: orNull(number()) }),
  roleBaselines: record({ baselines: numbers }),
  runningMoments: record({ count: number({ min: 0 }), mean: number({ any: true }), m2: number({ any: true }) }),
};

export const CONTROLLER_KINDS = Object.keys(FIELDS) as ControllerKind[];

/** The version of each kind that is written. Files of every version up to it are read. */
export const VERSIONS: Readonly<Record<ControllerKind, number>> = {
  maxent: 1,
  kl: 1,
  entropyCoefficient: 1,
  runningMoments: 1,
  roleBaselines: 1,
};

/** A version that this package can read. */
export function needVersion(value: unknown, newest: number, place: Place): void {
  const at = inside(place, "version");
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1)
    throw corrupt(at, value, `an integer in [1, ${newest}]`);
  if (value > newest)
    throw corrupt(at, value, `at most ${newest}: a newer surprisal wrote this, load it with that one`);
}

/** The state under `place`, checked field by field. */
export function stateOf<K extends ControllerKind>(kind: K, value: unknown, place: Place): ControllerStates[K] {
  // FIELDS[kind] returns exactly the fields of that kind's interface.
  return FIELDS[kind](value, place) as ControllerStates[K];
}

/** The same object with words for the numbers that JSON has not. */
export function plainState(state: object): JsonRecord {
  return Object.fromEntries(
    Object.entries(state).map(([name, value]: [string, unknown]) => {
      if (typeof value === "number") return [name, numberToJson(value)];
      return [name, typeof value === "object" && value !== null ? plainState(value) : value];
    }),
  );
}

// Controllers in a file: saved together, loaded whole or not at all. docs/control/persistence.md has the format.
import { optionError, SurprisalError } from "../core/errors";
import { needWord } from "../core/option-checks";
import { type PresetOption, resolvePreset } from "../presets";
import { coefficientsOf, hasCoefficients, stateOfCoefficients } from "./persistence-coefficients";
import { readTextFile, replaceFile } from "./persistence-file";
import {
  CONTROLLER_KINDS,
  type ControllerKind,
  type ControllerStates,
  needVersion,
  plainState,
  stateOf,
  VERSIONS,
} from "./persistence-kinds";
import { corrupt, inside, jsonOf, type JsonRecord, type Place, recordOf } from "./persistence-numbers";

export interface LoadControllersConventions {
  /**
   * An average entropy that was never measured: stays unset, so that the first measurement starts it, or is tau. Only in files that
   * have the coefficients alone. Default `"null"`.
   */
  readonly unsetAverage?: "null" | "tau";
}

export interface SaveControllersConventions extends LoadControllersConventions {
  /**
   * `"controllers"`: any number of controllers, each with its kind and version. `"coefficients"`: one controller of kind
   * `"maxent"`, as { beta, tau, tau_log, tau_entropy_ema, meta }. Default `"controllers"`.
   */
  readonly layout?: "controllers" | "coefficients";
  /** A negative tau or beta: refused, or written as it is (layout `"coefficients"` alone). Default `"refuse"`. */
  readonly negative?: "refuse" | "keep";
}

/** The controllers of a file: a kind by the name that the program gives each. */
export type ControllerKinds = Readonly<Record<string, ControllerKind>>;

/** Their states, by the same names. */
export type StatesOf<Kinds extends ControllerKinds> = { readonly [Name in keyof Kinds]: ControllerStates[Kinds[Name]] };

export interface SaveControllersOptions extends SaveControllersConventions, PresetOption<"saveControllers"> {}
export interface LoadControllersOptions extends LoadControllersConventions, PresetOption<"loadControllers"> {}

const FORMAT = "surprisal-controllers";
const FORMAT_VERSION = 1;
const LAYOUTS = ["controllers", "coefficients"] as const;
const UNSET_AVERAGES = ["null", "tau"] as const;
const NEGATIVES = ["refuse", "keep"] as const;

function needKinds(op: string, kinds: ControllerKinds): readonly (readonly [string, ControllerKind])[] {
  const entries = Object.entries(kinds);
  for (const [name, kind] of entries) needWord(op, `kinds.${name}`, kind, CONTROLLER_KINDS);
  return entries;
}

/** The name of the one controller that a file of coefficients can hold. */
function onlyMaxent(op: string, kinds: ControllerKinds): string {
  const entries = needKinds(op, kinds);
  const [first] = entries;
  if (entries.length === 1 && first?.[1] === "maxent") return first[0];
  throw optionError(
    op,
    "kinds",
    entries.map(([, kind]) => kind),
    '["maxent"]: layout "coefficients" holds nothing else',
  );
}

function recordToSave<Kinds extends ControllerKinds>(
  op: string,
  kinds: Kinds,
  states: StatesOf<Kinds>,
  options: SaveControllersOptions,
): JsonRecord {
  const {
    layout = "controllers",
    unsetAverage = "null",
    negative = "refuse",
  } = resolvePreset("saveControllers", options.preset, options);
  needWord(op, "unsetAverage", unsetAverage, UNSET_AVERAGES);
  needWord(op, "negative", negative, NEGATIVES);
  const given = recordOf(states, { op, at: "states" });
  if (needWord(op, "layout", layout, LAYOUTS) === 1) {
    const name = onlyMaxent(op, kinds);
    const place: Place = { op, at: `states.${name}` };
    return coefficientsOf(recordOf(given[name], place) as unknown as ControllerStates["maxent"], place, {
      unsetAverage,
      negative,
    });
  }
  const controllers = needKinds(op, kinds).map(([name, kind]) => {
    const state = stateOf(kind, given[name], { op, at: `states.${name}` });
    return [name, { kind, version: VERSIONS[kind], state: plainState(state) }];
  });
  return { format: FORMAT, version: FORMAT_VERSION, controllers: Object.fromEntries(controllers) as JsonRecord };
}

function text<Kinds extends ControllerKinds>(
  op: string,
  kinds: Kinds,
  states: StatesOf<Kinds>,
  options: SaveControllersOptions,
): string {
  try {
    return `${JSON.stringify(recordToSave(op, kinds, states, options), null, 2)}\n`;
  } catch (error) {
    // What a file may not hold is an argument here.
    if (!(error instanceof SurprisalError) || error.code !== "ERR_SURPRISAL_FILE") throw error;
    throw new SurprisalError("ERR_SURPRISAL_OPTION", error.message, error.details);
  }
}

function parsed<Kinds extends ControllerKinds>(
  op: string,
  content: string,
  kinds: Kinds,
  options: LoadControllersOptions,
): StatesOf<Kinds> {
  const { unsetAverage = "null" } = resolvePreset("loadControllers", options.preset, options);
  needWord(op, "unsetAverage", unsetAverage, UNSET_AVERAGES);
  const wanted = needKinds(op, kinds);
  const top: Place = { op, at: "" };
  const file = recordOf(jsonOf(op, content), top);
  if (hasCoefficients(file))
    return { [onlyMaxent(op, kinds)]: stateOfCoefficients(file, top, { unsetAverage }) } as StatesOf<Kinds>;
  if (file["format"] !== FORMAT) throw corrupt(inside(top, "format"), file["format"], `"${FORMAT}"`);
  needVersion(file["version"], FORMAT_VERSION, top);
  const place = inside(top, "controllers");
  const controllers = recordOf(file["controllers"], place);
  const states = wanted.map(([name, kind]) => {
    const here = inside(place, name);
    const saved = recordOf(Object.hasOwn(controllers, name) ? controllers[name] : undefined, here);
    if (saved["kind"] !== kind) throw corrupt(inside(here, "kind"), saved["kind"], `"${kind}"`);
    needVersion(saved["version"], VERSIONS[kind], here);
    return [name, stateOf(kind, saved["state"], inside(here, "state"))];
  });
  return Object.fromEntries(states) as StatesOf<Kinds>;
}

/**
 * Controllers as a JSON text, for a checkpoint of another kind. Each has its kind and a version; NaN, ±∞ and −0 are words, so every
 * number comes back to the last bit.
 *
 * @param kinds the kind of each controller, by name
 * @param states the states, by the same names
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the field that no file may hold
 */
export function serializeControllers<const Kinds extends ControllerKinds>(
  kinds: Kinds,
  states: StatesOf<Kinds>,
  options: SaveControllersOptions = {},
): string {
  return text("serializeControllers", kinds, states, options);
}

/**
 * The controllers in a JSON text: those of `kinds`, all or none. Files of all versions so far are read, and those of maxent-grpo.
 *
 * @throws SurprisalError ERR_SURPRISAL_FILE, naming the field, or the position where the text is no JSON
 */
export function parseControllers<const Kinds extends ControllerKinds>(
  content: string,
  kinds: Kinds,
  options: LoadControllersOptions = {},
): StatesOf<Kinds> {
  return parsed("parseControllers", content, kinds, options);
}

/**
 * Writes controllers to a file, all in one: first under a temporary name in the same folder, then renamed. Whoever reads sees the
 * old file or the new one, also after a crash or with several writers. Folders are made.
 *
 * @param path a bare name is a file in the working directory; null: nothing is written
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the field that no file may hold, before anything is written;
 * ERR_SURPRISAL_FILE where the system refuses, with its reason
 */
export function saveControllers<const Kinds extends ControllerKinds>(
  path: string | null,
  kinds: Kinds,
  states: StatesOf<Kinds>,
  options: SaveControllersOptions = {},
): void {
  const op = "saveControllers";
  const content = text(op, kinds, states, options);
  if (path !== null) replaceFile(op, path, content);
}

/**
 * The controllers that `saveControllers` wrote: those of `kinds`, all or none. Others in the file are passed over.
 *
 * @param path null: no file is read
 * @returns null where there is no file of that name: the run starts
 * @throws SurprisalError ERR_SURPRISAL_FILE for a file that cannot be read, is cut off or damaged (naming the position), holds
 * another kind, a newer version or a value that cannot be (naming the field)
 */
export function loadControllers<const Kinds extends ControllerKinds>(
  path: string | null,
  kinds: Kinds,
  options: LoadControllersOptions = {},
): StatesOf<Kinds> | null {
  const op = "loadControllers";
  if (path === null) return null;
  const content = readTextFile(op, path);
  if (content === null) return null;
  try {
    return parsed(op, content, kinds, options);
  } catch (error) {
    if (!(error instanceof SurprisalError) || error.code !== "ERR_SURPRISAL_FILE") throw error;
    throw new SurprisalError(error.code, `${error.message} (in ${path})`, error.details);
  }
}

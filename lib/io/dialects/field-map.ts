// Fields of rollouts that the caller finds in a source's records himself: where they stand, what groups them, how rewards add up.
import { closest } from "../../core/closest";
import { optionError } from "../../core/errors";
import { needNumber } from "../../core/option-checks";
import { isObject, type JsonObject } from "../fields";
import { malformed, type Place } from "../place";
import type { ReadOptions } from "../read-options";
import { JSON_NAMES, type Rollout } from "../record";
import { promptGroup } from "./prompt-group";
import { readOwnFields } from "./surprisal";

const TARGETS = Object.keys(JSON_NAMES);
/** Targets that hold one number for a completion: a list in a record of n completions has one entry for each. */
const NUMBERS = /^(reward|advantage|rewards\..+)$/;

/** What stands at a path such as "meta.score"; a field whose name has dots in it comes first. */
function valueAt(record: JsonObject, path: string): unknown {
  if (Object.hasOwn(record, path)) return record[path];
  const at = path.indexOf(".");
  const inner = at < 0 ? undefined : record[path.slice(0, at)];
  return isObject(inner) && Object.hasOwn(record, path.slice(0, at)) ? valueAt(inner, path.slice(at + 1)) : undefined;
}

/** A yes or no as 1 or 0, where a number is wanted. */
const numeric = (target: string, value: unknown): unknown =>
  NUMBERS.test(target) && typeof value === "boolean" ? Number(value) : value;

function checkTargets(op: string, map: Readonly<Record<string, string>>): void {
  for (const [target, path] of Object.entries(map)) {
    const near = closest(target, TARGETS);
    if (!TARGETS.includes(target) && !/^(rewards|meta)\../.test(target))
      throw optionError(
        op,
        "map",
        target,
        "a field of a Rollout, rewards.NAME or meta.NAME",
        near === undefined ? undefined : `did you mean "${near}"?`,
      );
    if (typeof path !== "string" || path === "")
      throw optionError(op, `map.${target}`, path, "the name of a field in the source");
  }
}

/** Σ weight · reward over the named rewards that are numbers; undefined where none is. */
function weighted(
  rewards: Readonly<Record<string, number>>,
  weights: Readonly<Record<string, number>>,
): number | undefined {
  const known = Object.entries(rewards).filter(([, reward]) => !Number.isNaN(reward));
  return known.length === 0 ? undefined : known.reduce((sum, [name, r]) => sum + (weights[name] ?? 1) * r, 0);
}

export class FieldMap {
  /** Which field or which named rewards the rewards so far are. */
  readonly #sources = new Set<string>();
  readonly #map: Readonly<Record<string, string>>;
  readonly #groupBy: string | undefined;
  readonly #weights: Readonly<Record<string, number>> | undefined;

  constructor(op: string, { map = {}, groupBy, rewardWeights }: ReadOptions) {
    checkTargets(op, map);
    for (const [name, weight] of Object.entries(rewardWeights ?? {})) needNumber(op, `rewardWeights.${name}`, weight);
    if (groupBy !== undefined && (typeof groupBy !== "string" || groupBy === ""))
      throw optionError(op, "groupBy", groupBy, '"prompt" or the name of a field');
    this.#map = groupBy === undefined || groupBy === "prompt" ? map : { ...map, group: groupBy };
    this.#groupBy = groupBy;
    this.#weights = rewardWeights;
  }

  /** Whether the map alone says what the completion of a record is, so that a record of an unknown dialect can be read. */
  get namesCompletion(): boolean {
    return ["text", "tokenIds", "tokens"].some((target) => Object.hasOwn(this.#map, target));
  }

  /**
   * The rollouts of one record, with the fields that the caller has mapped, and one reward. `own` is the field that has it; where no
   * field has, and `own` is null, named rewards are summed only where weights are given: our own records say what they say.
   */
  apply(at: Place, record: JsonObject, rollouts: readonly Rollout[], own: string | null): Rollout[] {
    return rollouts.map((rollout, index) => {
      const mapped = this.#mapped(at, record, index, rollouts.length);
      const meta = this.#rest({ ...rollout.meta, ...mapped.meta });
      const rewards = { ...rollout.rewards, ...mapped.rewards };
      const whole: Rollout = { ...rollout, ...mapped };
      const full: Rollout = Object.keys(rewards).length > 0 ? { ...whole, rewards } : whole;
      const { meta: _, ...bare } = full;
      return this.#rewarded(this.#grouped(Object.keys(meta).length > 0 ? { ...full, meta } : bare), own);
    });
  }

  #mapped(at: Place, record: JsonObject, index: number, count: number): Rollout {
    const fields: Record<string, unknown> = {};
    const parts: Record<string, Record<string, unknown>> = {};
    for (const [target, path] of Object.entries(this.#map)) {
      const found = valueAt(record, path);
      if (found === undefined) throw this.#missing(at, record, target, path);
      const each = NUMBERS.test(target) && Array.isArray(found);
      if (each && found.length !== count)
        throw malformed(at, `${path}.length`, found.length, `${count}, the number of completions of the record`);
      const value = numeric(target, each ? (found as unknown[])[index] : found);
      const dot = target.indexOf(".");
      if (dot < 0) fields[JSON_NAMES[target as keyof Rollout]] = value;
      else if (value !== null) (parts[target.slice(0, dot)] ??= {})[target.slice(dot + 1)] = value;
    }
    return readOwnFields(at, { ...fields, ...parts });
  }

  #missing(at: Place, record: JsonObject, target: string, path: string): Error {
    const near = closest(path, Object.keys(record));
    return malformed(
      at,
      path,
      undefined,
      `a field, which the map names for ${target}`,
      near === undefined ? undefined : `did you mean "${near}"?`,
    );
  }

  /** What is left of `meta` when fields of the record have become fields of the rollout. */
  #rest(meta: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const taken = Object.entries(this.#map).filter(([target]) => !target.startsWith("meta.") && target !== "meta");
    const names = new Set(taken.map(([, path]) => path));
    return Object.fromEntries(Object.entries(meta).filter(([name]) => !names.has(name)));
  }

  #grouped(rollout: Rollout): Rollout {
    if (this.#groupBy !== "prompt") return rollout;
    const key = rollout.promptIds ?? rollout.prompt;
    return key === undefined ? rollout : { ...rollout, group: promptGroup(key) };
  }

  /** The reward as the source has it; else, or with weights, the sum of the named ones. */
  #rewarded(rollout: Rollout, own: string | null): Rollout {
    const { reward, rewards = {} } = rollout;
    const sums = this.#weights !== undefined || (reward === undefined && own !== null);
    const summed = sums ? weighted(rewards, this.#weights ?? {}) : undefined;
    if (summed === undefined) {
      if (reward !== undefined) this.#sources.add(this.#map["reward"] ?? own ?? "reward");
      return rollout;
    }
    for (const name of Object.keys(rewards)) this.#sources.add(name);
    return { ...rollout, reward: summed };
  }

  /** What the rewards so far are: "score", "accuracy + 0.5 format"; undefined where there is none. */
  get rewardFrom(): string | undefined {
    const weights = this.#weights ?? {};
    const terms = Array.from(this.#sources, (name) =>
      Object.hasOwn(weights, name) && weights[name] !== 1 ? `${weights[name]} ${name}` : name,
    );
    return terms.length === 0 ? undefined : terms.join(" + ");
  }
}

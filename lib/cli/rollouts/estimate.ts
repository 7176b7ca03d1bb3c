// One batch of rollouts through one estimator of computeAdvantages.
import { type AdvantageName, computeAdvantages } from "../../advantage/compute";
import type { Delimiter, EstimatorFacts } from "../../advantage/estimator";
import ESTIMATORS from "../../advantage/estimators";
import type { BackendPreference } from "../../backend/backend";
import type { Collective } from "../../core/collective";
import type { Reading } from "../../core/option-kinds";
import { SurprisalError } from "../../core/errors";
import type { Rollout } from "../../io";
import { withFields } from "../../io/record";
import { isPerToken } from "../tables/arguments-of-rollouts";
import { flagOf } from "../tables/option-flags";
import { delimitersOf } from "./delimiters";
import { needOwnGroups } from "./own-groups";
import { type FieldChoice, RolloutArguments } from "./rollout-arguments";
import { withTextDelimiters } from "./text-delimiters";

export interface EstimateCall {
  readonly name: AdvantageName;
  readonly options: Readonly<Record<string, unknown>>;
  readonly fields: FieldChoice;
  readonly backend: BackendPreference | undefined;
  /** Where the rollouts are from, for messages. */
  readonly source: string;
  /** Where the batch lies on several processes. */
  readonly collective: Collective | undefined;
}

/** Estimators whose rows know nothing of each other. */
const ROW_BY_ROW: ReadonlySet<AdvantageName> = new Set([
  "puff",
  "turnGae",
  "turnReturns",
  "remax",
  "miniLlm",
  "iwOpd",
] as const);

/** What came out, in the terms of rollouts. */
export interface Estimate {
  /** With `advantage`, `advantages` or both in place of what they had. */
  readonly rollouts: readonly Rollout[];
  /** Argument → field. */
  readonly fields: Readonly<Record<string, string>>;
  /** The same with the rewards, entropies and log-probs that the estimator read. */
  readonly asRead: readonly Rollout[];
  /** What the estimator logs. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Steps and their weights, where the estimator has any: [S,3] row, begin, finish. */
  readonly spans: SpanFacts | undefined;
}

interface SpanFacts {
  readonly spans: Int32Array;
  readonly stepEntropies: Float64Array;
  readonly scales: Float64Array;
  readonly clarities: Float64Array;
}

interface Answer extends Partial<SpanFacts> {
  readonly advantages: ArrayLike<number>;
  readonly rowAdvantages?: ArrayLike<number>;
  readonly returns?: ArrayLike<number>;
  readonly metrics?: Readonly<Record<string, number>>;
}

/** An entry of the table, whatever its batch and options. */
interface Entry extends Pick<EstimatorFacts<object, object>, "answers" | "delimiters"> {
  readonly reads: Readonly<Record<string, Reading>>;
  readonly oneOf?: readonly (readonly string[])[];
}

type Given = Record<string, unknown>;

/** The options with the delimiters that the rollouts name, under what the command line says. */
function withDelimiters({ name, options, source }: EstimateCall, entry: Entry, given: RolloutArguments): Given {
  const { need, take }: { need: readonly Delimiter[]; take: readonly Delimiter[] } = entry.delimiters?.(options) ?? {
    need: [],
    take: [],
  };
  const result: Given = { ...withTextDelimiters(options, given.rollouts, source) };
  for (const [option, value] of Object.entries(delimitersOf(given.rollouts, [...need, ...take]))) {
    if (result[option] !== undefined) continue;
    result[option] = value;
    given.used[option] = "meta.delimiters";
  }
  const missing = need.filter((option) => result[option] === undefined);
  if (missing.length === 0) return result;
  const flags = missing.map((option) => `--${flagOf(option)} '[[ID,…],…]'`).join(" ");
  const message = `${source}: --estimator ${name} needs the token ids that begin and end a step: ${flags}, or meta.delimiters in the rollouts; see docs/cli/advantages.md`;
  throw new SurprisalError("ERR_SURPRISAL_OPTION", message, { name: `--${missing[0]!}` });
}

/** One argument, or undefined where the rollouts do not have it. */
function read(given: RolloutArguments, name: string, how: Reading): unknown {
  if (name === "groups") return given.groups;
  if (name === "mask") return given.mask;
  if (name === "tokens") return given.tokens(how === "need");
  if (how === "named") return given.rewardColumns();
  if (how === "need") return name === "tokenRewards" ? given.tokenRewards() : given.need(name);
  return how === "take" || given.chosen(name) ? given.take(name) : undefined;
}

/** Of several arguments the one that is asked for, else the first that the rollouts have. */
function chooseOne(
  given: RolloutArguments,
  names: readonly string[],
  reads: Entry["reads"],
): [name: string, value: unknown] {
  const asked = names.find((name) => given.chosen(name));
  if (asked !== undefined) return [asked, given.need(asked)];
  const usual = names.filter((name) => reads[name] !== "asked");
  for (const name of usual) {
    const value = given.take(name);
    if (value) return [name, value];
  }
  return [usual[0]!, given.need(usual[0]!)]; // says which rollout has none
}

/** Where the tokens are not known, a row is one position of the estimators that value rows. */
function batchOf({ answers, reads, oneOf = [] }: Entry, given: RolloutArguments): Given {
  const ofRows = answers === "row" && !given.columns.tokensKnown;
  const possible = (name: string): boolean => !ofRows || !isPerToken(name);
  const batch: Given = ofRows ? {} : { offsets: given.offsets };
  for (const names of oneOf) {
    const [name, value] = chooseOne(given, names.filter(possible), reads);
    batch[name] = value;
  }
  for (const [name, how] of Object.entries(reads)) {
    if (how === "leave" || !possible(name) || oneOf.some((names) => names.includes(name))) continue;
    // Groups that are only taken are those of the rewards.
    if (name === "groups" && how === "take" && batch["rewards"] === undefined) continue;
    const value = read(given, name, how);
    if (value !== undefined) batch[name] = value;
  }
  return batch;
}

/** A rollout without the advantages of an earlier estimator. */
function without(rollout: Rollout): Rollout {
  const { advantage: _, advantages: __, ...rest } = rollout;
  return rest;
}

function rolloutsWith(answer: Answer, { rollouts, columns }: RolloutArguments): readonly Rollout[] {
  const { rowAdvantages: rows } = answer;
  if (!columns.tokensKnown)
    return rollouts.map((rollout, row) => withFields(without(rollout), { advantage: rows![row]! }));
  const advantages = columns.cut(answer.advantages);
  const returns =
    answer.returns === undefined || answer.returns === answer.advantages ? undefined : columns.cut(answer.returns);
  return rollouts.map((rollout, row) =>
    withFields(without(rollout), {
      advantage: rows?.[row],
      advantages: advantages[row]!,
      meta: returns ? { ...rollout.meta, returns: Array.from(returns[row]!) } : rollout.meta,
    }),
  );
}

export function estimate(call: EstimateCall, rollouts: readonly Rollout[]): Estimate {
  const entry: Entry = ESTIMATORS[call.name];
  const { collective } = call;
  const given = new RolloutArguments(rollouts, `--estimator ${call.name}`, call.source, call.fields, collective);
  const options = {
    ...withDelimiters(call, entry, given),
    backend: call.backend,
    collective: ROW_BY_ROW.has(call.name) ? undefined : collective,
  };
  // A union over the names: the table holds what each of them takes.
  const compute = computeAdvantages as unknown as (name: string, batch: Given, options: Given) => Answer;
  const answer = compute(call.name, batchOf(entry, given), options);
  if (collective && given.groupsRead) needOwnGroups(collective, rollouts, call.source);
  const { spans, stepEntropies, scales, clarities } = answer;
  const done = rolloutsWith(answer, given);
  return {
    rollouts: done,
    asRead: given.asRead(done),
    fields: given.used,
    metrics: answer.metrics ?? {},
    spans: spans && stepEntropies && scales && clarities ? { spans, stepEntropies, scales, clarities } : undefined,
  };
}

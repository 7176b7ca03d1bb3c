// One batch of rollouts through one estimator of computeAdvantages.
import { computeAdvantages, type AdvantageName } from "../../advantage/compute";
import { groupAdvantage } from "../../advantage/group-advantage";
import type { BackendChoice } from "../../backend/backend";
import { SurprisalError } from "../../core/errors";
import type { Rollout } from "../../io";
import { ESTIMATORS, type EstimatorEntry } from "../tables/estimators";
import { Columns, type FieldChoice } from "./columns";
import { type DelimiterOption, delimitersOf } from "./delimiters";

export interface EstimateCall {
  readonly name: AdvantageName;
  readonly options: Readonly<Record<string, unknown>>;
  readonly fields: FieldChoice;
  readonly backend: BackendChoice | undefined;
  /** Where the rollouts are from, for messages. */
  readonly source: string;
}

/** What came out, in the terms of rollouts. */
export interface Estimate {
  /** With `advantage`, `advantages` or both in place of what they had. */
  readonly rollouts: readonly Rollout[];
  /** Argument → field. */
  readonly fields: Readonly<Record<string, string>>;
  /** What the estimator logs. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Steps and their weights, where the estimator has any: [S,3] row, begin, finish. */
  readonly spans: SpanFacts | undefined;
}

export interface SpanFacts {
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

type Given = Record<string, unknown>;

/** The delimiters that the rollouts name, under what the command line says. */
function withDelimiters(name: AdvantageName, options: Given, columns: Columns): void {
  const wanted: readonly DelimiterOption[] = name === "empg" ? ["start", "end", "head"] : name === "egpo" && options["mode"] !== "joint" ? ["thinkEnd"] : [];
  for (const [option, value] of Object.entries(delimitersOf(columns.rollouts, wanted))) {
    if (options[option] !== undefined) continue;
    options[option] = value;
    columns.used[option] = "meta.delimiters";
  }
}

function needDelimiters(options: Given, source: string): void {
  const missing = ["start", "end"].filter((option) => options[option] === undefined);
  if (missing.length === 0) return;
  const message = `${source}: --estimator empg needs the token ids that begin and end a step: ${missing.map((option) => `--${option} '[[ID,…],…]'`).join(" ")}, or meta.delimiters in the rollouts; see docs/cli/advantages.md`;
  throw new SurprisalError("ERR_SURPRISAL_OPTION", message, { name: `--${missing[0]!}` });
}

/** Rewards per rollout, or per token where there are no others. */
function outcomeRewards(columns: Columns, batch: Given): void {
  const rewards = columns.take("rewards");
  if (rewards) {
    batch["rewards"] = rewards;
    return;
  }
  const perToken = columns.take("tokenLevelRewards");
  if (perToken) batch["tokenLevelRewards"] = perToken;
  else columns.need("rewards"); // says which rollout has none
}

function batchOf(entry: EstimatorEntry, columns: Columns): Given {
  const { reads } = entry;
  const batch: Given = { offsets: columns.offsets() };
  for (const [name, how] of Object.entries(reads)) {
    if (how === "leave" || name === "rewards" || name === "tokenLevelRewards") continue;
    if (name === "groups") batch["groups"] = columns.groups();
    else if (name === "mask") batch["mask"] = columns.mask();
    else if (name === "tokens") batch["tokens"] = columns.tokens(how === "need");
    else batch[name] = how === "need" ? columns.need(name) : columns.take(name);
  }
  if (reads["rewards"] === "need") batch["rewards"] = columns.need("rewards");
  else if (reads["rewards"] === "take") outcomeRewards(columns, batch);
  else if (reads["tokenLevelRewards"] === "need") batch["tokenLevelRewards"] = columns.tokenLevelRewards();
  for (const name of Object.keys(batch)) if (batch[name] === undefined) Reflect.deleteProperty(batch, name);
  return batch;
}

/** EMPG modulates advantages: those that --field names, else of the rewards within their groups. */
function baseOfSteps(columns: Columns, batch: Given, options: Given, backend: object): void {
  const { groupAdvantage: conventions } = options as { readonly groupAdvantage?: object };
  Reflect.deleteProperty(options, "groupAdvantage");
  if (columns.chosen("advantages")) {
    Reflect.deleteProperty(batch, "rowAdvantages");
    return;
  }
  Reflect.deleteProperty(batch, "advantages");
  Reflect.deleteProperty(columns.used, "advantages");
  if (columns.chosen("rowAdvantages")) return;
  const { advantages } = groupAdvantage(columns.need("rewards"), { groups: columns.groups(), ...conventions, ...backend });
  columns.used["rowAdvantages"] = "groupAdvantage of reward";
  batch["rowAdvantages"] = advantages;
}

/** First argument and options of the estimator. */
function callOf({ name, options: given, backend: choice, source }: EstimateCall, entry: EstimatorEntry, columns: Columns): readonly [unknown, Given] {
  const backend = choice === undefined ? {} : { backend: choice };
  const options: Given = { ...given, ...backend };
  withDelimiters(name, options, columns);
  if (name === "cpgd") {
    const perToken = options["rewardLevel"] === "token";
    const mask = columns.mask();
    return [perToken ? columns.tokenLevelRewards() : columns.need("rewards"), { ...options, offsets: columns.offsets(), ...(mask && { mask }) }];
  }
  if (entry.form === "rewards") return [columns.need("rewards"), { ...options, groups: columns.groups() }];
  if (entry.form === "columns") {
    const first = columns.rewardColumns();
    const penalty = name === "rlooWithKl" && Number(options["beta"] ?? 0) !== 0;
    const mask = penalty ? columns.mask() : undefined;
    const logProbs = penalty
      ? { offsets: columns.offsets(), oldLogProbs: columns.need("oldLogProbs"), referenceLogProbs: columns.need("referenceLogProbs"), ...(mask && { mask }) }
      : {};
    return [first, { ...options, groups: columns.groups(), ...logProbs }];
  }
  // A whole response is one place where only the outcome counts and nobody knows its tokens.
  if (entry.answers === "row" && !columns.tokensKnown)
    return [{ shape: [columns.rollouts.length, 1], rewards: columns.need("rewards"), groups: columns.groups() }, options];
  const batch = batchOf(entry, columns);
  if (name === "empg") {
    needDelimiters(options, source);
    batch["mask"] ??= new Uint8Array((batch["offsets"] as Int32Array).at(-1)!).fill(1); // its default scope wants one
    baseOfSteps(columns, batch, options, backend);
  }
  if (name === "egpo" && batch["entropies"] && batch["oldLogProbs"]) {
    const drop = columns.chosen("oldLogProbs") ? "entropies" : "oldLogProbs";
    Reflect.deleteProperty(batch, drop);
    Reflect.deleteProperty(columns.used, drop);
  }
  return [batch, options];
}

/** A rollout without the advantages of an earlier estimator. */
function without(rollout: Rollout): Rollout {
  const { advantage: _, advantages: __, ...rest } = rollout;
  return rest;
}

function rolloutsWith(entry: EstimatorEntry, answer: Answer, columns: Columns): readonly Rollout[] {
  const { rollouts } = columns;
  const perRow = answer.advantages.length === rollouts.length && (entry.form !== "batch" || !columns.tokensKnown) && entry.answers === "row";
  const rows = perRow ? answer.advantages : answer.rowAdvantages;
  if (!columns.tokensKnown) return rollouts.map((rollout, row) => ({ ...without(rollout), advantage: rows![row]! }));
  const offsets = columns.offsets();
  const returns = answer.returns !== answer.advantages ? answer.returns : undefined;
  return rollouts.map((rollout, row) => {
    const [begin, end] = [offsets[row]!, offsets[row + 1]!];
    const advantages = Float64Array.from({ length: end - begin }, (_, t) =>
      perRow ? (rollout.mask?.[t] === 0 ? 0 : answer.advantages[row]!) : answer.advantages[begin + t]!,
    );
    const meta = returns && { meta: { ...rollout.meta, returns: Array.from({ length: end - begin }, (_, t) => returns[begin + t]!) } };
    return { ...without(rollout), ...(rows && { advantage: rows[row]! }), advantages, ...meta };
  });
}

export function estimate(call: EstimateCall, rollouts: readonly Rollout[]): Estimate {
  const entry: EstimatorEntry = ESTIMATORS[call.name];
  const columns = new Columns(rollouts, `--estimator ${call.name}`, call.source, call.fields, entry.sources);
  const [first, options] = callOf(call, entry, columns);
  // A union over the names: the tables hold what each of them takes.
  const compute = computeAdvantages as unknown as (name: string, first: unknown, options: Given) => Answer;
  const answer = compute(call.name, first, options);
  const { spans, stepEntropies, scales, clarities } = answer;
  return {
    rollouts: rolloutsWith(entry, answer, columns),
    fields: columns.used,
    metrics: answer.metrics ?? {},
    spans: spans && stepEntropies && scales && clarities ? { spans, stepEntropies, scales, clarities } : undefined,
  };
}

// Rewards of several sources, and what they come to for each row.
import { optionError, shapeError, SurprisalError, valueError } from "../core/errors";
import { needNumber } from "../core/option-checks";
import type { RewardResult } from "../reward/reward-function";
import type { RewardRow, RewardSource, RewardValues } from "./adapters";
import { pieces, type Task } from "./bounded";
import { rowCount, type Samples, selectRows } from "./records";

/** The weight of each source, by its name. */
export type RewardWeights = Readonly<Record<string, number>>;

/** One for all rows, or one for each label of a prompt. */
export type RewardRecipe = RewardWeights | Readonly<Record<string, RewardWeights>>;

export type NamedSources<Data> = Readonly<Record<string, RewardSource<Data>>>;

/** The only source, where it has no name. */
export const ONE_SOURCE = "reward";

export interface CheckedRecipe {
  /** By label; `all` where prompts need none. */
  readonly all: RewardWeights | undefined;
  readonly byLabel: ReadonlyMap<string, RewardWeights>;
}

function needWeights(op: string, name: string, weights: RewardWeights, sources: NamedSources<never>): RewardWeights {
  for (const [source, weight] of Object.entries(weights)) {
    if (!Object.hasOwn(sources, source))
      throw optionError(
        op,
        `${name}.${source}`,
        weight,
        `a weight of ${Object.keys(sources).join(", ")}: there is no other source`,
      );
    needNumber(op, `${name}.${source}`, weight);
  }
  return weights;
}

/** Default: the sum of all sources. */
export function needRecipe(op: string, recipe: RewardRecipe | undefined, sources: NamedSources<never>): CheckedRecipe {
  if (recipe === undefined)
    return { all: Object.fromEntries(Object.keys(sources).map((name) => [name, 1])), byLabel: new Map() };
  const entries = Object.entries(recipe) as [string, number | RewardWeights][];
  if (entries.length > 0 && entries.every(([, value]) => typeof value === "object"))
    return {
      all: undefined,
      byLabel: new Map(
        entries.map(([label, value]) => [label, needWeights(op, `recipe.${label}`, value as RewardWeights, sources)]),
      ),
    };
  return { all: needWeights(op, "recipe", recipe as RewardWeights, sources), byLabel: new Map() };
}

/** The weights of each row. */
export function weightsOfRows<Data>(
  op: string,
  { all, byLabel }: CheckedRecipe,
  { prompts, groups }: Samples<Data>,
): RewardWeights[] {
  const ofPrompts = prompts.map(({ label }, i) => {
    const weights = all ?? (label === undefined ? undefined : byLabel.get(label));
    if (weights) return weights;
    throw optionError(op, `prompts[${i}].label`, label, `a label of the recipe: ${[...byLabel.keys()].join(", ")}`);
  });
  return Array.from(groups, (group) => ofPrompts[group]!);
}

/** Rows as reward functions see them. */
function rewardRows<Data>(op: string, samples: Samples<Data>, rows: readonly number[]): RewardRow<Data>[] {
  const { prompts, groups, promptIds, promptOffsets, tokenIds, offsets, texts, finishReasons, truncated } = samples;
  return rows.map((b) => {
    const source = prompts[groups[b]!]!;
    const { text, label, answer } = source;
    return {
      prompt: text,
      ability: label,
      answer,
      get completion(): string {
        const completion = texts[b];
        if (completion !== undefined) return completion;
        throw valueError(
          op,
          `texts[${b}]`,
          completion,
          "the text of the response, which the policy did not give",
          "score its tokenIds, or let the policy decode them",
        );
      },
      source,
      group: groups[b]!,
      promptIds: promptIds.subarray(promptOffsets[b], promptOffsets[b + 1]),
      tokenIds: tokenIds.subarray(offsets[b], offsets[b + 1]),
      finishReason: finishReasons[b],
      truncated: truncated[b] === 1,
    };
  });
}

/** What one source says about all rows. */
export interface SourceRewards {
  /** NaN where it was not asked or does not apply. */
  readonly values: Float64Array;
  /** Where the source gives them. */
  readonly reasons: (string | undefined)[];
}

/** A number and its reason, NaN for a reward that does not apply. */
function needReward(
  op: string,
  name: string,
  row: number,
  given: unknown,
): { readonly reward: number; readonly reason?: string } {
  if (given === null) return { reward: NaN };
  const result = typeof given === "object" ? (given as RewardResult) : undefined;
  const reward: unknown = result ? result.reward : given;
  if (typeof reward === "number" && (Number.isFinite(reward) || (result && Number.isNaN(reward))))
    return { reward, reason: result?.reason };
  const want = "a finite number, or null where the reward does not apply";
  throw valueError(
    op,
    `rewards.${name}'s reward of row ${row}`,
    reward,
    want,
    "a reward that could not be had has to be thrown",
  );
}

function enter(
  op: string,
  name: string,
  given: RewardValues,
  rows: readonly number[],
  { values, reasons }: SourceRewards,
): void {
  const length: unknown = (given as RewardValues | undefined)?.length;
  if (length !== rows.length)
    throw shapeError(op, `rewards.${name}'s answer`, length, `${rows.length} rewards, one per row`);
  const checked = rows.map((row, i) => needReward(op, name, row, given[i]));
  rows.forEach((row, i) => {
    values[row] = checked[i]!.reward;
    reasons[row] = checked[i]!.reason;
  });
}

/** Tasks that fill `into[name]`, for the rows whose recipe names the source. */
export function rewardTasks<Data>(
  op: string,
  samples: Samples<Data>,
  sources: NamedSources<Data>,
  weights: readonly RewardWeights[],
  into: Record<string, SourceRewards>,
  rowsPerCall: number,
  onRows: (rows: number) => void,
): Task<void>[] {
  const B = rowCount(samples);
  return Object.entries(sources).flatMap(([name, source]) => {
    const found = (into[name] = {
      values: new Float64Array(B).fill(NaN),
      reasons: Array.from({ length: B }, () => undefined),
    });
    const asked = weights.flatMap((own, b) => (Object.hasOwn(own, name) ? [b] : []));
    // A function is asked once, since it may compare rows; a model as it and the maker say.
    const size = typeof source === "function" ? Infinity : (source.rowsPerCall ?? rowsPerCall);
    return pieces(asked.length, Math.max(Math.min(size, asked.length), 1)).map(
      ({ begin, end }) =>
        async (signal: AbortSignal) => {
          const rows = asked.slice(begin, end);
          const rewards = await (typeof source === "function"
            ? source(rewardRows(op, samples, rows), { signal })
            : source.rewards(selectRows(samples, rows), { signal }));
          enter(op, name, rewards, rows, found);
          onRows(rows.length);
        },
    );
  });
}

/** Σ weight · reward over the sources that apply to a row. */
export function scoresOf(
  op: string,
  sources: Readonly<Record<string, SourceRewards>>,
  weights: readonly RewardWeights[],
): Float64Array {
  return Float64Array.from(weights, (own, b) => {
    const applying = Object.entries(own).filter(([name]) => !Number.isNaN(sources[name]!.values[b]!));
    if (applying.length === 0) throw noReward(op, b, Object.keys(own));
    return applying.reduce((sum, [name, weight]) => sum + weight * sources[name]!.values[b]!, 0);
  });
}

function noReward(op: string, row: number, sources: readonly string[]): SurprisalError {
  const message = `${op}: no reward applies to row ${row}, expected at least one of ${sources.join(", ")}`;
  return new SurprisalError("ERR_SURPRISAL_VALUE", message, {
    op,
    name: `row ${row}`,
    got: "no reward",
    want: "a reward",
  });
}

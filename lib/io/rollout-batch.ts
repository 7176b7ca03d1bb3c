// Rollouts as the arrays that estimators and losses take, and their results back on the rollouts.
import { type FloatArray, type FloatDType, isFloatArray } from "../core/dtype";
import { dtypeError, optionError, SurprisalError, valueError } from "../core/errors";
import { needWord } from "../core/option-checks";
import { offsetsOf, padRows, type RowArray } from "../core/packed-rows";
import { type Rollout, TOKEN_FIELDS, type TokenField } from "./record";
import { cutRows, refusalOf, RolloutColumns, type TokenColumns } from "./rollout-columns";
import type { RolloutGroups } from "./rollout-groups";

/** Where a rollout's reward is, if not in `reward`. */
export interface RewardOption {
  /**
   * Weights of the rewards by name: the reward is their weighted sum. Default: `reward`, or the only one of `rewards`.
   */
  readonly rewardWeights?: Readonly<Record<string, number>>;
}

export interface BatchOptions extends RewardOption {
  /** One after the other with `offsets`, or rows of equal length with `shape`. Default `"packed"`. */
  readonly layout?: "packed" | "padded";
  /** Type of the float arrays. Default `"float64"`. */
  readonly dtype?: FloatDType;
  /** Id at padded positions. Default 0. */
  readonly padId?: number;
}

/** Rewards and groups of rollouts: all that outcome estimators need. */
export interface RewardTable extends RolloutGroups {
  /** [B] */
  readonly rewards: Float64Array;
}

/** Rollouts as columns, which `computeAdvantages` takes as they are. n = the last offset, or rows · tokens. */
export interface RolloutBatch extends RolloutGroups, TokenColumns {
  /** Packed: rollout b has the tokens offsets[b] … offsets[b+1]. */
  readonly offsets?: Int32Array;
  /** Padded: [rows, tokens]. */
  readonly shape?: readonly [rows: number, tokens: number];
  /** Ids, [n]; where every rollout has them. */
  readonly tokens?: Int32Array;
  /** 1 = the policy's token, 0 = padding or not the policy's; [n]. */
  readonly mask: Uint8Array;
  /** Tokens of each rollout; [B]. */
  readonly lengths: Int32Array;
  readonly rewards: FloatArray;
  /** Fields that some rollouts have and others lack: left out. */
  readonly partial: readonly (TokenField | "tokenIds")[];
}

function rewardOf(op: string, rollout: Rollout, index: number, { rewardWeights }: RewardOption): number {
  const { reward, rewards } = rollout;
  if (rewardWeights !== undefined) {
    return Object.entries(rewardWeights).reduce((sum, [name, weight]) => {
      const value = rewards && Object.hasOwn(rewards, name) ? rewards[name] : undefined;
      if (value === undefined)
        throw valueError(op, `rollouts[${index}].rewards.${name}`, value, "a number, since rewardWeights names it");
      return sum + weight * value;
    }, 0);
  }
  if (reward !== undefined) return reward;
  const values = Object.values(rewards ?? {});
  if (values.length === 1) return values[0]!;
  throw valueError(
    op,
    `rollouts[${index}].reward`,
    reward,
    "a number",
    values.length > 1 ? "rewardWeights says how its rewards add up" : "the source has none",
  );
}

function tableOf(op: string, columns: RolloutColumns, options: RewardOption): RewardTable {
  return {
    ...columns.groups,
    rewards: Float64Array.from(columns.rollouts, (rollout, i) => rewardOf(op, rollout, i, options)),
  };
}

/**
 * Returns the rewards and groups of rollouts, whether or not they have tokens:
 * `grpoAdvantage(table)`. Rollouts of one group in two steps are two groups.
 *
 * @throws SurprisalError ERR_SURPRISAL_VALUE for a rollout without a group or a reward
 */
export function toRewardTable(rollouts: readonly Rollout[], options: RewardOption = {}): RewardTable {
  const op = "toRewardTable";
  return tableOf(op, new RolloutColumns(rollouts, refusalOf(op)), options);
}

/**
 * Returns rollouts as one batch of their completions. The batch has a field where every rollout has it; `partial` names the fields
 * that only some have. Nothing is re-tokenised, cut or filled in.
 *
 *     const batch = toBatch(rollouts);
 *     const { advantages } = computeAdvantages("grpo", batch);
 *     await writeRollouts("out.jsonl", attachResults(rollouts, batch, { advantages }));
 *
 * @throws SurprisalError ERR_SURPRISAL_VALUE for a rollout without tokens, a group or a reward, _SHAPE where its arrays differ in
 * length, _OPTION
 */
export function toBatch(rollouts: readonly Rollout[], options: BatchOptions = {}): RolloutBatch {
  const op = "toBatch";
  const { layout = "packed", dtype = "float64", padId = 0 } = options;
  const padded = needWord(op, "layout", layout, ["packed", "padded"]) === 1;
  needWord(op, "dtype", dtype, ["float32", "float64"]);
  const columns = new RolloutColumns(rollouts, refusalOf(op));
  const { offsets, lengths, tokenIds } = columns;
  const laidOut = <A extends RowArray>(values: A, fill = 0): A =>
    padded ? padRows(values, { offsets, fill }).values : values;
  const inType = (values: Float64Array): FloatArray => (dtype === "float32" ? Float32Array.from(values) : values);
  const fields = TOKEN_FIELDS.flatMap((field) => {
    const numbers = columns.numbers(field);
    return numbers ? [[field, laidOut(inType(numbers))] as const] : [];
  });
  const table = tableOf(op, columns, options);
  const width = lengths.reduce((most, length) => Math.max(most, length), 0);
  return {
    shape: padded ? [rollouts.length, width] : undefined,
    offsets: padded ? undefined : offsets,
    tokens: tokenIds && laidOut(tokenIds, padId),
    mask: laidOut(columns.mask),
    lengths,
    ...(Object.fromEntries(fields) as TokenColumns),
    ...table,
    rewards: inType(table.rewards),
    partial: ([...TOKEN_FIELDS, "tokenIds"] as const).filter((field) => {
      const having = rollouts.filter((rollout) => rollout[field] !== undefined).length;
      return having > 0 && having < rollouts.length;
    }),
  };
}

/** What was computed from a batch: columns of it, and advantages per rollout. */
export interface BatchResults extends TokenColumns {
  /** One per rollout; becomes `advantage`. */
  readonly rowAdvantages?: FloatArray;
}

/**
 * Returns the rollouts with the results of their batch: each rollout gets its own part of a column, without padding.
 *
 * @param rollouts those that `toBatch` took, in the same order
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE or _OPTION naming the result
 */
export function attachResults(rollouts: readonly Rollout[], batch: RolloutBatch, results: BatchResults): Rollout[] {
  const op = "attachResults";
  const { lengths, shape } = batch;
  if (lengths.length !== rollouts.length)
    throw new SurprisalError(
      "ERR_SURPRISAL_SHAPE",
      `${op}: batch has ${lengths.length} rollouts, rollouts ${rollouts.length}`,
      { op, name: "rollouts", got: rollouts.length, want: String(lengths.length) },
    );
  const begins = shape ? Array.from(lengths, (_, b) => b * shape[1]) : offsetsOf(lengths);
  const count = shape ? shape[0] * shape[1] : begins.at(-1)!;
  const given = Object.entries(results).filter(([, array]) => array !== undefined) as [
    TokenField | "rowAdvantages",
    FloatArray,
  ][];
  for (const [name, array] of given) {
    if (name !== "rowAdvantages" && !TOKEN_FIELDS.includes(name))
      throw optionError(op, "results", name, `one of ${[...TOKEN_FIELDS, "rowAdvantages"].join(", ")}`);
    if (!isFloatArray(array)) throw dtypeError(op, `results.${name}`, array, "a Float32Array or a Float64Array");
    const wanted = name === "rowAdvantages" ? rollouts.length : count;
    if (array.length !== wanted)
      throw new SurprisalError(
        "ERR_SURPRISAL_SHAPE",
        `${op}: results.${name} has ${array.length} elements, expected ${wanted}`,
        { op, name: `results.${name}`, got: array.length, want: String(wanted) },
      );
  }
  const parts = given.map(([name, array]) =>
    name === "rowAdvantages"
      ? (["advantage", Array.from(array)] as const)
      : ([name, cutRows(array, begins, lengths)] as const),
  );
  return rollouts.map((rollout, b) => ({
    ...rollout,
    ...(Object.fromEntries(parts.map(([name, own]) => [name, own[b]])) as Rollout),
  }));
}

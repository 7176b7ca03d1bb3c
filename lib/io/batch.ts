// Rollouts as the arrays that estimators and losses take, and their results back on the rollouts.
import { allocateFloat, type FloatArray, type FloatDType, isFloatArray } from "../core/dtype";
import { argumentError, SurprisalError } from "../core/errors";
import { needWord } from "../core/options";
import { type Rollout, TOKEN_FIELDS, tokenCount, type TokenField } from "./record";

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
export interface RewardTable {
  /** [B] */
  readonly rewards: Float64Array;
  /** [B]: numbers from 0, by first appearance of (step, group). */
  readonly groups: Int32Array;
  /** The label behind each number. */
  readonly groupNames: readonly string[];
}

/** A batch; it goes into `computeAdvantages` as it is. n = the last offset, or rows · tokens. */
export interface RolloutBatch extends Omit<RewardTable, "rewards"> {
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
  readonly logProbs?: FloatArray;
  readonly recomputedLogProbs?: FloatArray;
  readonly oldLogProbs?: FloatArray;
  readonly refLogProbs?: FloatArray;
  readonly entropies?: FloatArray;
  readonly values?: FloatArray;
  /** `tokenRewards` of the rollouts. */
  readonly tokenRewards?: FloatArray;
  readonly advantages?: FloatArray;
  /** Fields that some rollouts have and others lack: left out. */
  readonly partial: readonly (TokenField | "tokenIds")[];
}

function rewardOf(op: string, rollout: Rollout, index: number, { rewardWeights }: RewardOption): number {
  const { reward, rewards } = rollout;
  if (rewardWeights !== undefined) {
    return Object.entries(rewardWeights).reduce((sum, [name, weight]) => {
      const value = rewards && Object.hasOwn(rewards, name) ? rewards[name] : undefined;
      if (value === undefined) throw argumentError("ERR_SURPRISAL_VALUE", op, `rollouts[${index}].rewards.${name}`, value, "a number, since rewardWeights names it");
      return sum + weight * value;
    }, 0);
  }
  if (reward !== undefined) return reward;
  const values = Object.values(rewards ?? {});
  if (values.length === 1) return values[0]!;
  throw argumentError("ERR_SURPRISAL_VALUE", op, `rollouts[${index}].reward`, reward, "a number", values.length > 1 ? "rewardWeights says how its rewards add up" : "the source has none");
}

function tableOf(op: string, rollouts: readonly Rollout[], options: RewardOption): RewardTable {
  const numbers = new Map<string, number>();
  const groups = Int32Array.from(rollouts, ({ group, step }, i) => {
    if (group === undefined)
      throw argumentError("ERR_SURPRISAL_VALUE", op, `rollouts[${i}].group`, group, "a label of its prompt", "the source has none; set group");
    // A string and a number are two labels, and so are two steps.
    const name = JSON.stringify(step === undefined ? [group] : [group, step]);
    const known = numbers.get(name) ?? numbers.size;
    numbers.set(name, known);
    return known;
  });
  const groupNames = [...numbers.keys()].map((name) => {
    const [group, step] = JSON.parse(name) as [string | number, number?];
    return step === undefined ? String(group) : `${group} (step ${step})`;
  });
  return { rewards: Float64Array.from(rollouts, (rollout, i) => rewardOf(op, rollout, i, options)), groups, groupNames };
}

/**
 * Rewards and groups of rollouts, whether or not they have tokens: `groupAdvantage(table.rewards, { groups: table.groups })`.
 * Rollouts of one group in two steps are two groups.
 *
 * @throws SurprisalError ERR_SURPRISAL_VALUE for a rollout without a group or a reward
 */
export function toRewardTable(rollouts: readonly Rollout[], options: RewardOption = {}): RewardTable {
  return tableOf("toRewardTable", rollouts, options);
}

/** Where each rollout's tokens begin. */
function beginsOf(lengths: Int32Array, T: number | undefined): Int32Array {
  const begins = new Int32Array(lengths.length + 1);
  for (let b = 0; b < lengths.length; ++b) begins[b + 1] = T === undefined ? begins[b]! + lengths[b]! : (b + 1) * T;
  return begins;
}

function lengthOf(op: string, rollout: Rollout, index: number): number {
  const length = tokenCount(rollout);
  if (length === undefined)
    throw argumentError("ERR_SURPRISAL_VALUE", op, `rollouts[${index}]`, undefined, "a rollout with tokens", "it has text alone, and nothing re-tokenises it here; toRewardTable needs no tokens");
  for (const name of ["tokenIds", "mask", ...TOKEN_FIELDS] as const) {
    const own = rollout[name]?.length;
    if (own !== undefined && own !== length)
      throw new SurprisalError("ERR_SURPRISAL_SHAPE", `${op}: rollouts[${index}].${name} has ${own} entries, expected ${length}, one per token`, {
        op,
        name: `rollouts[${index}].${name}`,
        got: own,
        want: `${length}, one per token`,
      });
  }
  return length;
}

/**
 * Rollouts as one batch of their completions. A field is in it where every rollout has it; `partial` names those that only
 * some have. Nothing is re-tokenised, cut or filled in.
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
  const lengths = Int32Array.from(rollouts, (rollout, i) => lengthOf(op, rollout, i));
  const T = padded ? lengths.reduce((most, length) => Math.max(most, length), 0) : undefined;
  const begins = beginsOf(lengths, T);
  const n = begins.at(-1)!;
  const table = tableOf(op, rollouts, options);

  const mask = new Uint8Array(n);
  rollouts.forEach((rollout, b) => {
    if (rollout.mask) mask.set(rollout.mask, begins[b]);
    else mask.fill(1, begins[b], begins[b]! + lengths[b]!);
  });
  const partial: (TokenField | "tokenIds")[] = [];
  const everywhere = (name: TokenField | "tokenIds"): boolean => {
    const having = rollouts.filter((rollout) => rollout[name] !== undefined).length;
    if (having > 0 && having < rollouts.length) partial.push(name);
    return having > 0 && having === rollouts.length;
  };
  const fields: Partial<Record<TokenField, FloatArray>> = {};
  for (const name of TOKEN_FIELDS) {
    if (!everywhere(name)) continue;
    const out = (fields[name] = allocateFloat(dtype, n));
    rollouts.forEach((rollout, b) => out.set(rollout[name]!, begins[b]));
  }
  const tokens = everywhere("tokenIds") ? new Int32Array(n).fill(padId) : undefined;
  if (tokens) rollouts.forEach(({ tokenIds }, b) => tokens.set(tokenIds!, begins[b]));
  return {
    ...(T === undefined ? { offsets: begins } : { shape: [rollouts.length, T] as const }),
    ...(tokens && { tokens }),
    mask,
    lengths,
    ...fields,
    ...table,
    rewards: dtype === "float32" ? Float32Array.from(table.rewards) : table.rewards,
    partial,
  };
}

/** What a calculation on a batch gave: arrays per token of the batch, and advantages per rollout. */
export interface BatchResults extends Partial<Readonly<Record<TokenField, FloatArray>>> {
  /** One per rollout; becomes `advantage`. */
  readonly rowAdvantages?: FloatArray;
}

/**
 * The rollouts again, with results of their batch: arrays per token are cut into the rollouts' own, padding left out.
 *
 * @param rollouts those that `toBatch` took, in the same order
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE or _OPTION naming the result
 */
export function attachResults(rollouts: readonly Rollout[], batch: RolloutBatch, results: BatchResults): Rollout[] {
  const op = "attachResults";
  const { lengths, shape } = batch;
  if (lengths.length !== rollouts.length)
    throw new SurprisalError("ERR_SURPRISAL_SHAPE", `${op}: batch has ${lengths.length} rollouts, rollouts ${rollouts.length}`, { op, name: "rollouts", got: rollouts.length, want: String(lengths.length) });
  const begins = beginsOf(lengths, shape?.[1]);
  const given = Object.entries(results).filter(([, array]) => array !== undefined) as [TokenField | "rowAdvantages", FloatArray][];
  for (const [name, array] of given) {
    if (name !== "rowAdvantages" && !TOKEN_FIELDS.includes(name)) throw argumentError("ERR_SURPRISAL_OPTION", op, "results", name, `one of ${[...TOKEN_FIELDS, "rowAdvantages"].join(", ")}`);
    if (!isFloatArray(array)) throw argumentError("ERR_SURPRISAL_DTYPE", op, `results.${name}`, array, "a Float32Array or a Float64Array");
    const wanted = name === "rowAdvantages" ? rollouts.length : begins.at(-1)!;
    if (array.length !== wanted)
      throw new SurprisalError("ERR_SURPRISAL_SHAPE", `${op}: results.${name} has ${array.length} elements, expected ${wanted}`, { op, name: `results.${name}`, got: array.length, want: String(wanted) });
  }
  return rollouts.map((rollout, b) => {
    const begin = begins[b]!;
    const own = given.map(([name, array]) =>
      name === "rowAdvantages" ? ["advantage", array[b]!] : [name, Float64Array.from(array.subarray(begin, begin + lengths[b]!))],
    );
    return { ...rollout, ...(Object.fromEntries(own) as Rollout) };
  });
}

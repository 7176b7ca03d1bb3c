// Rollouts as columns: the numbers of one field lie one rollout after the other, and rollout b has the elements offsets[b] …
// offsets[b+1]. Batches, tensor files, the command line and the report all go from rollouts to arrays and back through here.
import type { FloatArray } from "../core/dtype";
import { SurprisalError } from "../core/errors";
import { joinRows, lengthsOf, offsetsOf } from "../core/packed-rows";
import { PER_TOKEN, type Rollout, tokenCount, type TokenField, wrongLength } from "./record";
import { groupRollouts, type RolloutGroups } from "./rollout-groups";

/** Numbers per token, under the names that rollouts, batches and experiences share. */
export type TokenColumns = { readonly [Name in TokenField]?: FloatArray };

/** What is wrong with one rollout. */
interface Misfit {
  readonly row: number;
  /** Goes on from the name of the rollout: "has no group". */
  readonly what: string;
  readonly hint?: string;
  /** The field with the wrong length. */
  readonly field?: string;
}

/** Makes the error for a rollout that does not fit into columns. */
export type Refusal = (misfit: Misfit) => SurprisalError;

/** The refusal of a library function, whose argument is called `rollouts`. */
export function refusalOf(op: string): Refusal {
  return ({ row, what, hint, field }) => {
    const name = `rollouts[${row}]${field === undefined ? "" : `.${field}`}`;
    return new SurprisalError(
      field === undefined ? "ERR_SURPRISAL_VALUE" : "ERR_SURPRISAL_SHAPE",
      `${op}: ${name} ${what}${hint === undefined ? "" : `; ${hint}`}`,
      { op, name, got: what },
    );
  };
}

export class RolloutColumns {
  private packedOffsets: Int32Array | undefined;
  private packedMask: Uint8Array | undefined;

  constructor(
    readonly rollouts: readonly Rollout[],
    private readonly refuse: Refusal,
  ) {}

  /** Whether every rollout says what its tokens are. */
  get tokensKnown(): boolean {
    return this.rollouts.every((rollout) => tokenCount(rollout) !== undefined);
  }

  get offsets(): Int32Array {
    return (this.packedOffsets ??= offsetsOf(this.rollouts.map((rollout, row) => this.needTokens(rollout, row))));
  }

  /** Tokens of each rollout. */
  get lengths(): Int32Array {
    return lengthsOf(this.offsets);
  }

  /** 1 = the policy's token; all 1 of a rollout without a mask. */
  get mask(): Uint8Array {
    return (this.packedMask ??= joinRows(
      this.rollouts.map(({ mask }) => mask),
      this.offsets,
      new Uint8Array(this.offsets.at(-1)!),
      1,
    ));
  }

  /** undefined where a rollout has no ids. */
  get tokenIds(): Int32Array | undefined {
    const ids = this.rollouts.flatMap(({ tokenIds }) => (tokenIds ? [tokenIds] : []));
    return ids.length === this.rollouts.length
      ? joinRows(ids, this.offsets, new Int32Array(this.offsets.at(-1)!))
      : undefined;
  }

  /** The groups; every rollout has to have a label. */
  get groups(): RolloutGroups {
    const row = this.rollouts.findIndex(({ group }) => group === undefined);
    if (row >= 0)
      throw this.refuse({ row, what: "has no group", hint: "rollouts of one prompt are compared with each other" });
    return groupRollouts(this.rollouts);
  }

  /** The numbers of a field; undefined where a rollout lacks it. */
  numbers(field: TokenField): Float64Array | undefined {
    const arrays = this.rollouts.flatMap((rollout) => rollout[field] ?? []);
    return arrays.length === this.rollouts.length ? this.pack(field, arrays) : undefined;
  }

  /** One list of numbers for each rollout, one after the other. `field` names them in an error. */
  pack(field: string, lists: readonly ArrayLike<number>[]): Float64Array {
    const { offsets } = this;
    lists.forEach((list, row) => this.needLength(list.length, offsets[row + 1]! - offsets[row]!, row, field));
    return joinRows(lists, offsets, new Float64Array(offsets.at(-1)!));
  }

  /** A column as the rollouts' own arrays. */
  cut(column: ArrayLike<number>): Float64Array[] {
    return cutRows(column, this.offsets, this.lengths);
  }

  private needTokens(rollout: Rollout, row: number): number {
    const count = tokenCount(rollout);
    if (count === undefined)
      throw this.refuse({
        row,
        what: "has text and no tokens",
        hint: "text is never tokenised again: a log with token ids or log-probs is needed",
      });
    const wrong = wrongLength(rollout, PER_TOKEN, count);
    if (wrong) this.needLength(wrong.length, count, row, wrong.field);
    return count;
  }

  private needLength(length: number, tokens: number, row: number, field: string): void {
    if (length === tokens) return;
    throw this.refuse({ row, field, what: `has ${length} entries, expected ${tokens}, one per token` });
  }
}

/** The numbers of each row, copied: row b is `lengths[b]` numbers from begins[b] on. */
export function cutRows(
  values: ArrayLike<number>,
  begins: ArrayLike<number>,
  lengths: ArrayLike<number>,
): Float64Array[] {
  return Array.from({ length: lengths.length }, (_, b) =>
    Float64Array.from({ length: lengths[b]! }, (__, t) => values[begins[b]! + t]!),
  );
}

/** One number of a rollout at each of its kept tokens, 0 under the mask. */
export function spreadOverTokens(rollout: Rollout, value: number): Float64Array {
  return Float64Array.from({ length: tokenCount(rollout) ?? 0 }, (_, t) => (rollout.mask?.[t] === 0 ? 0 : value));
}

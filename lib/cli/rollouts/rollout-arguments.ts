// Arguments of the library's functions, read from the fields of rollouts. It is kept which field became which argument, so that a
// command can say it.
import type { Collective } from "../../core/collective";
import { SurprisalError } from "../../core/errors";
import { gatherRagged, needAgreement } from "../../core/row-partials";
import { JSON_NAMES, type Rollout } from "../../io";
import { withFields } from "../../io/record";
import { RolloutColumns } from "../../io/rollout-columns";
import { ARGUMENTS, type ArgumentSource, isPerToken } from "../tables/arguments-of-rollouts";
import { closest } from "../../core/closest";
import { UsageError } from "../shell/exit-codes";

/** `--field argument=field`, taken apart. */
export type FieldChoice = ReadonlyMap<string, string>;

const KEY_OF = new Map<string, keyof Rollout>(
  Object.entries(JSON_NAMES).map(([key, name]) => [name, key as keyof Rollout]),
);

/** Every argument that reads a field, and "entropies" → "meta.other" for those choices. */
export function readFieldChoice(given: readonly string[]): FieldChoice {
  const names = Object.keys(ARGUMENTS);
  return new Map(
    given.map((text) => {
      const at = text.indexOf("=");
      const [name, field] = [text.slice(0, at), text.slice(at + 1)];
      if (at < 1 || field === "")
        throw new UsageError(`--field is "${text}", expected ARGUMENT=FIELD such as oldLogProbs=sampler_logprobs`, {
          name: "--field",
          got: text,
        });
      if (!names.includes(name)) {
        const near = closest(name, names);
        throw new UsageError(
          `--field ${text}: no argument is called "${name}"${near === undefined ? `, expected one of ${names.join(", ")}` : `; did you mean "${near}"?`}`,
          {
            name: "--field",
            got: name,
          },
        );
      }
      if (!/^(meta|rewards)\./.test(field) && !KEY_OF.has(field)) {
        const near = closest(field, [...KEY_OF.keys()]);
        throw new UsageError(
          `--field ${text}: a rollout has no field "${field}"${near === undefined ? "" : `; did you mean "${near}"?`} (meta.NAME and rewards.NAME are fields too)`,
          {
            name: "--field",
            got: field,
          },
        );
      }
      return [name, field];
    }),
  );
}

/** Arguments that a report shows, by the field under which it does. */
const SHOWN = {
  rewards: "reward",
  scores: "reward",
  entropies: "entropies",
  samplerLogProbs: "samplerLogProbs",
  referenceLogProbs: "referenceLogProbs",
} as const satisfies Readonly<Record<string, keyof Rollout>>;

function valueOf(rollout: Rollout, field: string): unknown {
  const at = field.indexOf(".");
  const owner = at < 0 ? undefined : field.slice(0, at);
  if (owner === "meta") return rollout.meta?.[field.slice(at + 1)];
  if (owner === "rewards") return rollout.rewards?.[field.slice(at + 1)];
  return rollout[KEY_OF.get(field)!];
}

/** Names of all processes, by first appearance. */
function gatherNames(collective: Collective, names: readonly string[]): string[] {
  const text = JSON.stringify(names);
  const codes = Float64Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
  const lists = gatherRagged(collective, codes).map((part) =>
    Array.from(part, (code) => String.fromCharCode(code)).join(""),
  );
  return [...new Set(lists.flatMap((list) => JSON.parse(list) as string[]))];
}

export class RolloutArguments {
  /** Argument → the field that it came from. */
  readonly used: Record<string, string> = {};
  readonly columns: RolloutColumns;

  constructor(
    readonly rollouts: readonly Rollout[],
    /** Who reads, for messages: "--estimator empg". */
    private readonly reader: string,
    /** Where the rollouts are from, for messages. */
    private readonly source: string,
    private readonly choice: FieldChoice,
    /** Where the batch lies on several processes: what every rollout has is then what every rollout of all of them has. */
    private readonly collective?: Collective,
  ) {
    this.columns = new RolloutColumns(rollouts, ({ row, what, hint, field }) => {
      const named = field === undefined ? what : `${what}, in ${field}`;
      return this.fail(row, named, hint === undefined ? "" : `; ${hint}`);
    });
    if (collective) needAgreement(reader, "tokensKnown", collective, this.columns.tokensKnown ? 1 : 0);
  }

  private fail(row: number, what: string, hint: string): SurprisalError {
    const { id } = this.rollouts[row]!;
    const name = id === undefined ? `rollout ${row + 1}` : `rollout ${row + 1} ("${id}")`;
    return new SurprisalError(
      "ERR_SURPRISAL_FILE",
      `${this.source}: ${name} ${what}, which ${this.reader} reads${hint}`,
      { name: this.source, want: what },
    );
  }

  get offsets(): Int32Array {
    return this.columns.offsets;
  }

  get mask(): Uint8Array {
    return this.columns.mask;
  }

  /** Whether rollouts were compared within their groups. */
  groupsRead = false;

  /** Numbers that no other process of the batch uses: a group lies on one of them. */
  get groups(): Int32Array {
    this.groupsRead = true;
    const { groups } = this.columns.groups;
    const { collective } = this;
    return collective ? groups.map((group) => group * collective.size + collective.rank) : groups;
  }

  /** Of several yes or no, which every process of the batch says yes to. */
  private everywhere(here: readonly boolean[]): readonly boolean[] {
    if (!this.collective || here.length === 0) return here;
    return Array.from(this.collective.allReduce(Int32Array.from(here, Number), "min"), Boolean);
  }

  /** Token ids; undefined where a rollout has none and none are needed. */
  tokens(needed: boolean): Int32Array | undefined {
    const without = this.rollouts.findIndex(({ tokenIds }) => tokenIds === undefined);
    if (without >= 0 && needed) throw this.fail(without, "has no token_ids", "");
    const [all] = this.everywhere([without < 0]);
    return all ? this.columns.tokenIds : undefined;
  }

  /** The field that an argument is read from: the one that was asked for, else the first that every rollout has. */
  private fieldFor(name: string): { readonly field: string; readonly per: "token" | "row" } | undefined {
    const source = (ARGUMENTS as Readonly<Partial<Record<string, ArgumentSource>>>)[name]!;
    const asked = this.choice.get(name);
    if (asked !== undefined) return { field: asked, per: source.per };
    const known = this.everywhere(
      source.fields.map((candidate) => this.rollouts.every((rollout) => valueOf(rollout, candidate) !== undefined)),
    );
    const field = source.fields[known.indexOf(true)];
    return field === undefined ? undefined : { field, per: source.per };
  }

  /** Whether an argument was asked for by --field. */
  chosen(name: string): boolean {
    return this.choice.has(name);
  }

  /** An argument, or undefined where not every rollout has its field. */
  take(name: string): Float64Array | undefined {
    const found = this.fieldFor(name);
    if (!found) return undefined;
    const { field, per } = found;
    const values = this.rollouts.map((rollout, row) => {
      const value = valueOf(rollout, field);
      if (value === undefined) throw this.fail(row, `has no ${field}`, ` as ${name}`);
      return value;
    });
    this.used[name] = field;
    return per === "row" ? this.perRow(name, field, values) : this.perToken(name, field, values);
  }

  need(name: string): Float64Array {
    const value = this.take(name);
    if (value) return value;
    const { fields } = (ARGUMENTS as Readonly<Partial<Record<string, ArgumentSource>>>)[name]!;
    const row = this.rollouts.findIndex((rollout) => fields.every((field) => valueOf(rollout, field) === undefined));
    throw this.fail(
      Math.max(0, row),
      `has no ${fields.join(" or ")}`,
      ` as ${name}; --field ${name}=NAME takes another field`,
    );
  }

  /** `rollouts` with what `--field` took in the place of what they recorded: what was computed is of these. */
  asRead(rollouts: readonly Rollout[]): readonly Rollout[] {
    let shown = rollouts;
    for (const [name, field] of Object.entries(SHOWN)) {
      if (!this.chosen(name) || this.used[name] === undefined) continue;
      const values = this.need(name);
      const own = isPerToken(name) ? this.columns.cut(values) : values;
      shown = shown.map((rollout, row) => withFields(rollout, { [field]: own[row]! }));
    }
    return shown;
  }

  /** Rewards per token: as recorded, else the reward of the rollout at its last kept token. */
  tokenRewards(): Float64Array {
    const recorded = this.take("tokenRewards");
    if (recorded) return recorded;
    const rewards = this.need("rewards");
    const { offsets, mask } = this.columns;
    const placed = new Float64Array(offsets.at(-1)!);
    this.rollouts.forEach((_, row) => {
      let last = offsets[row + 1]! - 1;
      while (last >= offsets[row]! && mask[last] === 0) --last;
      if (last < offsets[row]!) throw this.fail(row, "has no token to put its reward at", "");
      placed[last] = rewards[row]!;
    });
    this.used["tokenRewards"] = `${this.used["rewards"]} at the last kept token`;
    return placed;
  }

  /** One array for each named reward, NaN where a rollout has none of that name; the reward itself where none has names. */
  rewardColumns(): readonly Float64Array[] {
    const here = [...new Set(this.rollouts.flatMap(({ rewards }) => Object.keys(rewards ?? {})))];
    const names = this.collective ? gatherNames(this.collective, here) : here;
    if (names.length === 0 || this.chosen("rewards")) return [this.need("rewards")];
    this.used["rewards"] = names.map((name) => `rewards.${name}`).join(", ");
    return names.map((name) => Float64Array.from(this.rollouts, ({ rewards }) => rewards?.[name] ?? NaN));
  }

  private perRow(name: string, field: string, values: readonly unknown[]): Float64Array {
    return Float64Array.from(values, (value, row) => {
      if (typeof value === "number") return value;
      throw this.fail(row, `has no number in ${field}`, ` as ${name}`);
    });
  }

  private perToken(name: string, field: string, values: readonly unknown[]): Float64Array {
    const lists = values.map((value, row) => {
      const isList = Array.isArray(value) && value.every((entry) => typeof entry === "number");
      if (isList || ArrayBuffer.isView(value)) return value as ArrayLike<number>;
      throw this.fail(row, `has no list of numbers in ${field}`, ` as ${name}`);
    });
    return this.columns.pack(field, lists);
  }
}

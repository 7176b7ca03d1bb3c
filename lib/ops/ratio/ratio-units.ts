// What the ratio ops have in common: two policies' log-probs over rows, and the units whose ratio is taken.
import { RATIO_LEVELS, type RatioLevel, type RatioReduction, RATIO_REDUCTIONS } from "../../backend/contract/ratio";
import type { BackendOption } from "../../backend/select";
import { needFloats, optionalMask } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { optionError } from "../../core/errors";
import { type GroupLayout, needGroups } from "../../core/groups";
import { needWord } from "../../core/option-checks";
import { needRows, type RowLayout, type Rows } from "../../core/row-layout";

/** Options that the ratio ops share. */
export interface RatioOptions extends RowLayout, GroupLayout, BackendOption {
  /**
   * What has one ratio:
   * - `"token"`: every token its own (PPO)
   * - `"sequence"`: a row (GSPO)
   * - `"group"`: all rows of a group together; `groups` or `groupOffsets` say which, default: one group
   */
  readonly level: RatioLevel;
  /**
   * How the differences of a row's or group's tokens become one log ratio: `"mean"` over the kept tokens (its exp is the
   * geometric mean of the token ratios) or `"sum"` (its exp is the ratio of the sequence probabilities). Default `"mean"`;
   * not used at token level.
   */
  readonly reduce?: RatioReduction;
  /** 1 = the policy's token, 0 = prompt, tool output or padding: never read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/** Checked inputs. `common` is what the backend's argument structs share. */
export interface Units {
  readonly rows: Rows;
  readonly level: RatioLevel;
  readonly logProbs: FloatArray;
  readonly oldLogProbs: FloatArray;
  /** How many units have a ratio: n, B or G. */
  readonly count: number;
  readonly common: {
    readonly mask: Uint8Array | null;
    readonly offsets: Int32Array | null;
    readonly members: Int32Array | null;
    readonly groupOffsets: Int32Array | null;
    readonly n: number;
    readonly B: number;
    readonly T: number;
    readonly G: number;
    readonly level: number;
    readonly reduce: number;
  };
}

export function needUnits(op: string, logProbs: unknown, oldLogProbs: unknown, options: RatioOptions): Units {
  const rows = needRows(op, options);
  const { n, B, T, offsets, meaning } = rows;
  const level = needWord(op, "level", options.level, RATIO_LEVELS);
  const reduce = needWord(op, "reduce", options.reduce ?? "mean", RATIO_REDUCTIONS);
  const grouped = options.level === "group";
  if (!grouped && (options.groups ?? options.groupOffsets) != null)
    throw optionError(op, "level", options.level, `"group" where groups are given`);
  const groups = grouped ? needGroups(op, options, B) : null;
  const G = groups?.G ?? 0;
  return {
    rows,
    level: options.level,
    logProbs: needFloats(op, "logProbs", logProbs, n, meaning),
    oldLogProbs: needFloats(op, "oldLogProbs", oldLogProbs, n, meaning),
    count: [n, B, G][level]!,
    common: {
      mask: optionalMask(op, "mask", options.mask, n, meaning),
      offsets,
      members: groups?.members ?? null,
      groupOffsets: groups?.offsets ?? null,
      n,
      B,
      T,
      G,
      level,
      reduce,
    },
  };
}

// Tokens whose log-prob is no number to learn from: −∞ where another sampler's support ended, NaN where an engine returned none.
import { needsHostArrays } from "../../core/device-ops";
import { needFloats } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { needWord } from "../../core/option-checks";
import { eachKept, needMaskedRows, type RowLayout } from "../../core/row-layout";

needsHostArrays("finiteMask", "the numbers are looked at in host memory");

const DROPS = ["all", "infinite", "nan"] as const;

export interface FiniteMaskOptions extends RowLayout {
  /** What leaves the mask: both kinds (`"all"`, the default), `"infinite"` numbers, or `"nan"`. */
  readonly drops?: (typeof DROPS)[number];
  /** 1 = a token of the policy; the others are not read and get 0. Default: all 1. */
  readonly mask?: Uint8Array;
}

export interface FiniteMaskResult {
  /** 1 = kept and finite, [n]: a `mask` of any function. */
  readonly mask: Uint8Array;
  /** The numbers, 0 off the new mask, in their own type. */
  readonly values: FloatArray;
  /** Kept tokens that left the mask, one per row. */
  readonly dropped: Int32Array;
}

/**
 * Takes tokens without a finite number out of the mask, and counts them. A NaN or an infinity that stays spreads to the loss.
 *
 * @param values one per token; [n] as `shape` or `offsets` say
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE or _BUFFER, naming the argument
 */
export function finiteMask(values: FloatArray, options: FiniteMaskOptions): FiniteMaskResult {
  const op = "finiteMask";
  const where = needMaskedRows(op, options);
  const { rows, mask: kept } = where;
  const given = needFloats(op, "values", values, rows.n, rows.meaning);
  const drops = DROPS[needWord(op, "drops", options.drops ?? "all", DROPS)]!;
  const bad = (x: number): boolean => (Number.isNaN(x) ? drops !== "infinite" : !Number.isFinite(x) && drops !== "nan");
  const mask = Uint8Array.from(given, (x, i) => (kept?.[i] === 0 || bad(x) ? 0 : 1));
  const dropped = new Int32Array(rows.B);
  eachKept(where, (i, b) => (dropped[b]! += 1 - mask[i]!));
  return { mask, values: given.map((x: number, i: number) => (mask[i] === 0 ? 0 : x)), dropped };
}

// The tokens at which the policy was least certain, where most of the learning happens.
import type { BackendOption } from "../../backend/select";
import { needFloats, optionalMask } from "../../core/arrays";
import type { FloatArray } from "../../core/dtype";
import { optionError, valueError } from "../../core/errors";
import { needNumber, needWord } from "../../core/option-checks";
import { layoutOf, needRows, type RowLayout } from "../../core/row-layout";
import { quantileMask, type SelectScope, topMask } from "../../ops/select";
import { type PresetOption, resolvePreset } from "../../presets";

/** Which tokens count as those of high entropy. */
export interface HighEntropyConventions {
  /**
   * `"quantile"`: every token at or above the quantile 1 − share, equal ones together. `"top"`: max(least, ⌊share·count⌋)
   * tokens, of equal ones the first. Default `"quantile"`.
   */
  readonly rule?: "quantile" | "top";
  /** What ranks against each other: the kept tokens of the batch, `"all"`, or those of each `"row"`. Default `"all"`. */
  readonly over?: SelectScope;
  /** Tokens that rule `"top"` selects at least, an integer >= 0. Default 1. */
  readonly least?: number;
  /**
   * `"refuse"`: a share is in [0, 1]. `"keepAll"`: any share that is not inside (0, 1) switches the selection off, every kept
   * token stays. Default `"refuse"`.
   */
  readonly outOfRange?: "refuse" | "keepAll";
}

const RULES = ["quantile", "top"] as const;
const OUT_OF_RANGE = ["refuse", "keepAll"] as const;

export interface HighEntropyMaskOptions
  extends HighEntropyConventions, RowLayout, PresetOption<"highEntropyMask">, BackendOption {
  /** The share of tokens to keep, such as 0.2. Give this or `quantile`. */
  readonly share?: number;
  /** The quantile from which on tokens are kept, such as 0.8, in [0, 1]; rule `"quantile"` only. */
  readonly quantile?: number;
  /** 1 = a token that can be kept. Others are not read. Default: all 1. */
  readonly mask?: Uint8Array;
}

/**
 * Marks the tokens of high entropy, among those that `mask` keeps.
 *
 *     "quantile"   entropy >= quantile of the kept entropies at 1 − share, linearly interpolated
 *     "top"        the max(least, ⌊share·count⌋) largest
 *
 * @param entropies per token, nats; [n] as `shape` or `offsets` say. Any other score ranks as well
 * @returns 0 and 1, [n]
 * @throws SurprisalError ERR_SURPRISAL_SHAPE, _DTYPE, _OPTION, _RANGE (offsets) or _BUFFER, naming the argument; _VALUE for a
 *   kept NaN
 * @see Wang et al. 2025, Beyond the 80/20 Rule: High-Entropy Minority Tokens Drive Effective Reinforcement Learning
 */
export function highEntropyMask(entropies: FloatArray, options: HighEntropyMaskOptions): Uint8Array {
  const op = "highEntropyMask";
  const { share, quantile, backend, ...conventions } = resolvePreset(op, options.preset, options);
  const rows = needRows(op, options);
  const values = needFloats(op, "entropies", entropies, rows.n, rows.meaning);
  const mask = optionalMask(op, "mask", options.mask, rows.n, rows.meaning);
  const top = needWord(op, "rule", conventions.rule ?? "quantile", RULES) === 1;
  const keepsAll = needWord(op, "outOfRange", conventions.outOfRange ?? "refuse", OUT_OF_RANGE) === 1;
  const over = conventions.over ?? "all";
  needWord(op, "over", over, ["row", "all"]);
  const least = needNumber(op, "least", conventions.least ?? 1, {
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    integer: true,
  });
  if ((share === undefined) === (quantile === undefined))
    throw optionError(op, "share", share, "either share or quantile, not both");
  if (top && quantile !== undefined)
    throw optionError(op, "quantile", quantile, 'nothing with rule "top", which takes a share');
  if (quantile !== undefined) needNumber(op, "quantile", quantile, { min: 0, max: 1 });
  else needNumber(op, "share", share, keepsAll ? {} : { min: 0, max: 1 });

  if (share !== undefined && keepsAll && !(share > 0 && share < 1))
    return mask ? mask.map((flag) => (flag !== 0 ? 1 : 0)) : new Uint8Array(rows.n).fill(1);
  const common = { ...layoutOf(options), mask: mask ?? undefined, backend, over };
  if (top) return topMask(values, { ...common, share: share!, least }).selected;
  const { selected, thresholds } = quantileMask(values, { ...common, q: quantile ?? 1 - share! });
  // A NaN leaves no threshold, and so nothing selected, which nobody would see.
  if (thresholds.some(Number.isNaN))
    for (let i = 0; i < rows.n; ++i)
      if (Number.isNaN(values[i]) && (!mask || mask[i] !== 0))
        throw valueError(op, `entropies[${i}]`, NaN, "a number", "NaN has no rank: mask it");
  return selected;
}

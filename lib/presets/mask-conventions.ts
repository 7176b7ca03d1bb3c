// The choices in which systems differ when they mask tokens: options that a preset can hold.
import type { SelectScope } from "../ops/select";

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

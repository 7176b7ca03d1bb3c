// The widths of a clipping band, from themselves or from the shorthand.
import { optionError } from "../../core/errors";
import type { FloatArray } from "../../core/dtype";
import { needNumber } from "../../core/option-checks";
import type { Per } from "../../core/per-row";
import { isArray } from "../../ops/loss/bounds";

interface EqualWidths {
  /** Shorthand for equal clipLow and clipHigh. Give this or those two. */
  readonly clip: number | FloatArray;
  readonly clipLow?: undefined;
  readonly clipHigh?: undefined;
}

interface TwoWidths {
  readonly clip?: undefined;
  /** The ratio is clipped from below at 1 − clipLow. >= 0; Infinity = not clipped. An array: one for each row or token. */
  readonly clipLow: number | FloatArray;
  /** The ratio is clipped from above at 1 + clipHigh, likewise. */
  readonly clipHigh: number | FloatArray;
}

/** How far a ratio may go, which has no default: `clip`, or `clipLow` and `clipHigh`. */
export type ClipRange = (EqualWidths | TwoWidths) & BoundsPerOption;

export interface BoundsPerOption {
  /** What an entry of a bound that is an array belongs to. Default: by the length. */
  readonly boundsPer?: Per;
}

/** As JavaScript may give it. */
interface GivenWidths extends BoundsPerOption {
  readonly clip?: number | FloatArray | undefined;
  readonly clipLow?: number | FloatArray | undefined;
  readonly clipHigh?: number | FloatArray | undefined;
}

interface CheckedWidths extends BoundsPerOption {
  readonly clipLow: number | FloatArray;
  readonly clipHigh: number | FloatArray;
  readonly clip?: number | FloatArray;
}

/** A bound of all tokens; those of rows and tokens are the loss's to check. */
const needWidth = (op: string, name: string, width: number | FloatArray): number | FloatArray =>
  isArray(width) ? width : needNumber(op, name, width, { min: 0, infinite: true });

/** Both widths; a missing one has no default. */
export function needClipRange(op: string, { clip, clipLow, clipHigh, boundsPer }: GivenWidths): CheckedWidths {
  if (clip !== undefined) {
    if (clipLow !== undefined || clipHigh !== undefined)
      throw optionError(op, "clip", clip, "nothing where clipLow or clipHigh is given");
    const both = needWidth(op, "clip", clip);
    return { clipLow: both, clipHigh: both, clip: both, boundsPer };
  }
  if (clipLow === undefined || clipHigh === undefined)
    throw optionError(op, clipLow === undefined ? "clipLow" : "clipHigh", undefined, "a number; or give clip");
  return {
    clipLow: needWidth(op, "clipLow", clipLow),
    clipHigh: needWidth(op, "clipHigh", clipHigh),
    boundsPer,
  };
}

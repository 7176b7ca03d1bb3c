// Per-token loss forms in float64: (log ratio, advantage) → loss to minimise, its slope, and what is reported. The same
// mathematics as native/include/surprisal/loss_forms.h, which says what each field means; written for one number at a time.
import { argumentError } from "../../core/errors";
import { LOSS_FORM } from "../contract/ratio";

/** Infinity switches any of them off (logLow: -Infinity). */
export interface LossParameters {
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly dualClip: number;
  readonly ratioCap: number;
  readonly logLow: number;
  readonly logHigh: number;
}

export interface LossTerm {
  readonly loss: number;
  /** d loss / d log ratio. */
  readonly slope: number;
  readonly ratio: number;
  readonly clippedRatio: number;
  readonly clipped: boolean;
  readonly limited: boolean;
}

/** factor · x, where a factor of 0 silences an infinity but not a NaN. */
export function scaled(factor: number, x: number): number {
  return factor === 0 && !Number.isNaN(x) ? 0 : factor * x;
}

// Not Math.min and Math.max alone for taste: both pass a NaN on, as the native selects do.
function clamp(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}

/** max(−A·r, −A·clip(r)); for A < 0 at most −A·dualClip. Ties go to the unclipped branch. */
function clipTerm(logRatio: number, advantage: number, p: LossParameters): LossTerm {
  const clamped = clamp(logRatio, p.logLow, p.logHigh);
  const ratio = Math.exp(clamped);
  const clippedRatio = clamp(ratio, 1 - p.clipLow, 1 + p.clipHigh);
  const free = -scaled(advantage, Math.min(ratio, p.ratioCap));
  const banded = -scaled(advantage, clippedRatio);
  const surrogate = Math.max(free, banded);
  if (Number.isNaN(surrogate)) return { loss: NaN, slope: NaN, ratio, clippedRatio, clipped: false, limited: false };

  const clipped = banded > free;
  const limit = advantage < 0 ? -advantage * p.dualClip : Infinity;
  const limited = surrogate > limit;
  const moves = !clipped && !limited && clamped === logRatio && ratio <= p.ratioCap;
  return {
    loss: limited ? limit : surrogate,
    slope: moves ? -scaled(advantage, ratio) : 0,
    ratio,
    clippedRatio,
    clipped,
    limited,
  };
}

/** The form by its number in LOSS_FORM. */
export function lossTerm(form: number, logRatio: number, advantage: number, p: LossParameters): LossTerm {
  if (form === LOSS_FORM.clip) return clipTerm(logRatio, advantage, p);
  throw argumentError("ERR_SURPRISAL_OPTION", "ratioClip", "form", form, `${LOSS_FORM.clip}`);
}

// The coefficient of an entropy bonus, steered towards a target entropy: plain state, a pure update.
import { needNumber } from "../core/option-checks";

/** What the next update needs. Plain data, to be stored as JSON. */
export interface EntropyCoefficient {
  /** The coefficient that the next update moves; `appliedEntropyCoefficient` returns what enters the loss. */
  readonly coefficient: number;
  /** Mean entropy that was measured last, nats; null before the first. */
  readonly lastEntropy: number | null;
}

export interface EntropyCoefficientOptions {
  /** The entropy that the policy should not fall below, nats per token. >= 0. Default 0.2. */
  readonly target?: number;
  /** What one update adds or takes. >= 0. Default 0.005. */
  readonly step?: number;
  /** Bounds of the coefficient. Default 0. */
  readonly min?: number;
  /** Default 1. */
  readonly max?: number;
}

function needState(op: string, state: EntropyCoefficient): EntropyCoefficient {
  return {
    coefficient: needNumber(op, "state.coefficient", state.coefficient),
    lastEntropy: state.lastEntropy === null ? null : needNumber(op, "state.lastEntropy", state.lastEntropy),
  };
}

const needTarget = (op: string, options: EntropyCoefficientOptions): number =>
  needNumber(op, "target", options.target ?? 0.2, { min: 0 });

/**
 * The state behind a starting coefficient.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION unless it is finite
 */
export function entropyCoefficient(coefficient: number): EntropyCoefficient {
  return { coefficient: needNumber("entropyCoefficient", "coefficient", coefficient), lastEntropy: null };
}

/**
 * What multiplies the entropy in the loss now: the coefficient while the last entropy was at or below the target, else 0.
 * Before the first measurement: the coefficient.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the argument
 */
export function appliedEntropyCoefficient(state: EntropyCoefficient, options: EntropyCoefficientOptions = {}): number {
  const op = "appliedEntropyCoefficient";
  const { coefficient, lastEntropy } = needState(op, state);
  const target = needTarget(op, options);
  return lastEntropy === null || lastEntropy <= target ? coefficient : 0;
}

/**
 * The state after an optimizer step with mean entropy h over the tokens of its batches:
 *
 *     c' = min(c + step, max)  where h <= target,   else max(c − step, min)
 *
 * @param entropy h, nats per token. NaN or ±∞ is refused: the coefficient would not recover
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the argument; the state given stays as it was
 * @see He et al. 2025, Skywork Open Reasoner 1 Technical Report (adaptive entropy control)
 */
export function updateEntropyCoefficient(
  state: EntropyCoefficient,
  entropy: number,
  options: EntropyCoefficientOptions = {},
): EntropyCoefficient {
  const op = "updateEntropyCoefficient";
  const { coefficient } = needState(op, state);
  const lastEntropy = needNumber(op, "entropy", entropy);
  const target = needTarget(op, options);
  const step = needNumber(op, "step", options.step ?? 0.005, { min: 0 });
  const min = needNumber(op, "min", options.min ?? 0);
  const max = needNumber(op, "max", options.max ?? 1, { min });
  return {
    coefficient: lastEntropy <= target ? Math.min(coefficient + step, max) : Math.max(coefficient - step, min),
    lastEntropy,
  };
}

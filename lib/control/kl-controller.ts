// The coefficient of a KL penalty, steered towards a target: plain state, a pure update.
import { needNumber } from "../core/option-checks";

/** What the next update needs. Plain data, to be stored as JSON. */
export interface KlController {
  /** Coefficient β of the penalty in force. */
  readonly coefficient: number;
}

export interface KlControllerOptions {
  /** The KL that the policy should keep to its reference, in the unit of what is measured (nats). > 0. */
  readonly target: number;
  /** Steps over which an error of 1 would about double the coefficient. > 0. */
  readonly horizon: number;
  /** Bound of the relative error that one update sees. >= 0. Default 0.2. */
  readonly errorLimit?: number;
}

export interface KlMeasurement {
  /** KL between the policy and its reference, the mean over sequences. NaN or ±∞ is refused: a coefficient would not recover. */
  readonly kl: number;
  /** Steps since the last update: the sequences of the batch, in most trainers. >= 0. */
  readonly steps: number;
}

/**
 * The state behind a starting coefficient.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION unless it is finite and >= 0
 */
export function klController(coefficient: number): KlController {
  return { coefficient: needNumber("klController", "coefficient", coefficient, { min: 0 }) };
}

/**
 * The controller after one measurement.
 *
 *     error = clip(kl / target − 1, ±errorLimit),      β' = β·(1 + error·steps / horizon)
 *
 * A fixed coefficient is a state that is never updated. With `errorLimit · steps > horizon` a step may turn the
 * coefficient negative, as the formula has it; choose the horizon above the batch.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the argument; the state given stays as it was
 * @see Ziegler et al. 2019, Fine-Tuning Language Models from Human Preferences, section 2.2
 */
export function updateKlController(
  state: KlController,
  measured: KlMeasurement,
  options: KlControllerOptions,
): KlController {
  const op = "updateKlController";
  const coefficient = needNumber(op, "state.coefficient", state.coefficient);
  const kl = needNumber(op, "measured.kl", measured.kl);
  const steps = needNumber(op, "measured.steps", measured.steps, { min: 0 });
  const target = needNumber(op, "target", options.target, { min: 0, above: true });
  const horizon = needNumber(op, "horizon", options.horizon, { min: 0, above: true });
  const limit = needNumber(op, "errorLimit", options.errorLimit ?? 0.2, { min: 0 });
  const error = Math.min(Math.max(kl / target - 1, -limit), limit);
  return { coefficient: coefficient * (1 + (error * steps) / horizon) };
}

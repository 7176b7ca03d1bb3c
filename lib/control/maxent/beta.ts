// beta steered towards a KL to the reference policy.
import { needNumber } from "../../core/option-checks";
import { updateKlController } from "../kl-controller";
import { type MaxentController, needMaxent } from "./state";

/** All three above 0, or beta stays. */
export interface BetaUpdateOptions {
  /** KL to be held, nats. >= 0; counts as 1e-8 at least. Default 0: off. */
  readonly target?: number;
  /** Updates over which an error of 1 about doubles beta, >= 0; counts as 1 at least. Default 0: off. */
  readonly horizon?: number;
  /** Bound of the relative error that one update sees. >= 0. Default 0: off. */
  readonly stepSize?: number;
}

export interface ReferenceKlMeasurement {
  /** Mean KL to the reference, nats. None, NaN and ±∞ are passed over. */
  readonly kl: number | null | undefined;
}

/** What is left of beta where the factor is not above 0. */
const LEAST_FACTOR = 1e-6;

/**
 * The state after one measurement: `updateKlController` on beta, one step a call, with a factor that stays above 0.
 *
 *     error = clip(kl / max(target, 1e-8) − 1, ±stepSize),     beta' = beta·(1 + error / max(horizon, 1)),   1e-6·beta where that is <= 0
 *
 * A beta of 0 stays 0.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION, naming the argument; the state given stays as it was
 * @see Ziegler et al. 2019, Fine-Tuning Language Models from Human Preferences, section 2.2
 */
export function updateMaxentBeta(
  state: MaxentController,
  measured: ReferenceKlMeasurement,
  options: BetaUpdateOptions,
): MaxentController {
  const op = "updateMaxentBeta";
  const checked = needMaxent(op, "state", state);
  const target = needNumber(op, "target", options.target ?? 0, { min: 0 });
  const horizon = needNumber(op, "horizon", options.horizon ?? 0, { min: 0 });
  const stepSize = needNumber(op, "stepSize", options.stepSize ?? 0, { min: 0 });
  const { kl } = measured;
  if (!Number.isFinite(kl) || target === 0 || horizon === 0 || stepSize === 0) return checked;
  const { coefficient } = updateKlController(
    { coefficient: checked.beta },
    { kl: kl!, steps: 1 },
    { target: Math.max(target, 1e-8), horizon: Math.max(horizon, 1), errorLimit: stepSize },
  );
  return { ...checked, beta: coefficient > 0 ? coefficient : checked.beta * LEAST_FACTOR };
}

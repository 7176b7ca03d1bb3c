// κ, the temperature of listwise weights, from the two coefficients of the objective.
import { needNumber, needWord } from "../../core/option-checks";

/** What the entropy and reference coefficients add up to. */
const MAXENT_TEMPERATURES = ["tau+beta", "tau", "one"] as const;
export type MaxentTemperatureMode = (typeof MAXENT_TEMPERATURES)[number];

/**
 * The temperature κ of `listwiseWeights`:
 *
 *     "tau+beta"   κ = tau + beta, the maximiser of <w, ln q> + tau·H(w) − beta·KL(w ‖ π_ref): a pull to the reference
 *     "tau"        κ = tau, the maximiser of <w, ln q + beta·ln π_ref> + tau·H(w): beta sharpens the weights
 *     "one"        κ = 1, whatever the coefficients are: plain GRPO, whose advantages need no temperature
 *
 * 0 is the limit in which the best completions share all weight.
 *
 * @param tau entropy coefficient, >= 0
 * @param beta reference coefficient, >= 0
 * @param mode default `"tau+beta"`
 * @throws SurprisalError ERR_SURPRISAL_OPTION
 */
export function maxentTemperature(tau: number, beta: number, mode: MaxentTemperatureMode = "tau+beta"): number {
  const op = "maxentTemperature";
  const entropy = needNumber(op, "tau", tau, { min: 0 });
  const reference = needNumber(op, "beta", beta, { min: 0 });
  return [entropy + reference, entropy, 1][needWord(op, "mode", mode, MAXENT_TEMPERATURES)]!;
}

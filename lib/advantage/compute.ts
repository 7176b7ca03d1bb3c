// Estimators by name: one line each.
import { argumentError } from "../core/errors";
import { edgeGrpoAdvantage } from "./edge-grpo-advantage";
import { egpoAdvantage } from "./egpo-advantage";
import { empgAdvantage } from "./empg-advantage";
import { cpgdAdvantage } from "./cpgd-advantage";
import { gaeAdvantage } from "./gae-advantage";
import { gpgAdvantage } from "./gpg-advantage";
import { grpoAdvantage } from "./grpo-advantage";
import { iwOpdAdvantage } from "./iw-opd-advantage";
import { leaveOneOutAdvantage } from "./leave-one-out-advantage";
import { miniLlmAdvantage } from "./minillm-advantage";
import { multiRewardAdvantage } from "./multi-reward-advantage";
import { opoAdvantage } from "./opo-advantage";
import { optimalTokenBaselineAdvantage } from "./optimal-token-baseline-advantage";
import { optimalValueAdvantage } from "./optimal-value-advantage";
import { passAtKAdvantage } from "./pass-at-k-advantage";
import { ppoAdvantage } from "./ppo-advantage";
import { puffAdvantage } from "./puff-advantage";
import { reinforcePlusPlusAdvantage, reinforcePlusPlusBaselineAdvantage } from "./reinforce-plus-plus-advantage";
import { remaxAdvantage } from "./remax-advantage";
import { rlooAdvantage } from "./rloo-advantage";

/** Each takes a batch and options of its own. A new estimator is a line here. */
const ESTIMATORS = {
  gae: gaeAdvantage,
  grpo: grpoAdvantage,
  grpoPassAtK: passAtKAdvantage,
  rloo: leaveOneOutAdvantage,
  reinforcePlusPlus: reinforcePlusPlusAdvantage,
  reinforcePlusPlusBaseline: reinforcePlusPlusBaselineAdvantage,
  remax: remaxAdvantage,
  opo: opoAdvantage,
  gpg: gpgAdvantage,
  optimalTokenBaseline: optimalTokenBaselineAdvantage,
  multiReward: multiRewardAdvantage,
  rlooWithKl: rlooAdvantage,
  ppo: ppoAdvantage,
  optimalValue: optimalValueAdvantage,
  miniLlm: miniLlmAdvantage,
  iwOpd: iwOpdAdvantage,
  puff: puffAdvantage,
  cpgd: cpgdAdvantage,
  edgeGrpo: edgeGrpoAdvantage,
  egpo: egpoAdvantage,
  empg: empgAdvantage,
} as const;

type Estimators = typeof ESTIMATORS;

/** An estimator of `computeAdvantages`. */
export type AdvantageName = keyof Estimators;
/** The batch that an estimator reads. */
export type AdvantageBatch<Name extends AdvantageName> = Parameters<Estimators[Name]>[0];
/** The options of an estimator. */
export type AdvantageOptions<Name extends AdvantageName> = NonNullable<Parameters<Estimators[Name]>[1]>;
/** What an estimator answers: `advantages`, `returns`, and what it found on the way. */
export type AdvantageResult<Name extends AdvantageName> = ReturnType<Estimators[Name]>;

/** Optional where the estimator has a default for everything. */
type OptionsArgument<Name extends AdvantageName> = undefined extends Parameters<Estimators[Name]>[1]
  ? [options?: AdvantageOptions<Name>]
  : [options: AdvantageOptions<Name>];

/** The names that `computeAdvantages` knows. */
export const advantageNames: readonly AdvantageName[] = Object.keys(ESTIMATORS) as AdvantageName[];

/**
 * Advantages by the name of an estimator; the same as calling its function. Batch, options and result are those of the name:
 *
 *     computeAdvantages("gae", { tokenLevelRewards, values, mask, shape }, { gamma: 1, lambda: 0.95 })
 *     computeAdvantages("grpo", { rewards, groups, mask, shape }, { preset: "verl" })
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for an unknown name; else as the estimator
 */
export function computeAdvantages<Name extends AdvantageName>(
  name: Name,
  batch: AdvantageBatch<Name>,
  ...[options]: OptionsArgument<Name>
): AdvantageResult<Name> {
  if (!Object.hasOwn(ESTIMATORS, name))
    throw argumentError("ERR_SURPRISAL_OPTION", "computeAdvantages", "name", name, `one of ${advantageNames.map((known) => `"${known}"`).join(", ")}`);
  // One estimator and its own arguments: a union the compiler cannot relate by itself.
  const estimate = ESTIMATORS[name] as unknown as (batch: AdvantageBatch<Name>, options?: AdvantageOptions<Name>) => AdvantageResult<Name>;
  return estimate(batch, options);
}

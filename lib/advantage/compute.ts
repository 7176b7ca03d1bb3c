// Estimators by name.
import { unknownName } from "../core/option-checks";
import type { PlainFields } from "../core/plain-types";
import ESTIMATORS, { type AdvantageName } from "./estimators";

export type { AdvantageName } from "./estimators";

type Compute<Name extends AdvantageName> = (typeof ESTIMATORS)[Name]["compute"];

/** The batch that an estimator reads. */
export type AdvantageBatch<Name extends AdvantageName> = Parameters<Compute<Name>>[0];
/** The options of an estimator. */
export type AdvantageOptions<Name extends AdvantageName> = NonNullable<Parameters<Compute<Name>>[1]>;
/** What an estimator returns: `advantages`, and its intermediate results. */
export type AdvantageResult<Name extends AdvantageName> = ReturnType<Compute<Name>>;

/** Optional where the estimator has a default for everything. */
export type OptionsArgument<Name extends AdvantageName> = undefined extends Parameters<Compute<Name>>[1]
  ? [options?: AdvantageOptions<Name>]
  : [options: AdvantageOptions<Name>];

/** The names that `computeAdvantages` knows. */
export const advantageNames: readonly AdvantageName[] = Object.keys(ESTIMATORS) as AdvantageName[];

/**
 * Advantages by the name of an estimator; the same as calling its function, that of `"x"` being `xAdvantage`. Batch, options and
 * result are those of the name:
 *
 *     computeAdvantages("gae", { tokenRewards, values, mask, shape }, { gamma: 1, lambda: 0.95 })
 *     computeAdvantages("grpo", { rewards, groups, mask, shape }, { preset: "verl" })
 *
 * `advantages` has a number for each token, as `shape` or `offsets` say, or for each row where a batch of rows has neither;
 * `rowAdvantages` of estimators that value whole rows has one for each row, in float64.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for an unknown name; else as the estimator
 */
export function computeAdvantages<Name extends AdvantageName>(
  name: Name,
  batch: PlainFields<AdvantageBatch<Name>>,
  ...[options]: OptionsArgument<Name>
): AdvantageResult<Name> {
  if (!Object.hasOwn(ESTIMATORS, name)) throw unknownName("computeAdvantages", "name", name, advantageNames);
  // One estimator and its own arguments: a union the compiler cannot relate by itself.
  const estimate = ESTIMATORS[name].compute as unknown as (
    batch: PlainFields<AdvantageBatch<Name>>,
    options?: AdvantageOptions<Name>,
  ) => AdvantageResult<Name>;
  return estimate(batch, options);
}

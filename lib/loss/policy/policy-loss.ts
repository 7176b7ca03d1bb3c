// Policy losses by name.
import { unknownName } from "../../core/option-checks";
import type { PlainFields } from "../../core/plain-types";
import LOSSES, { type PolicyLossName } from "./losses";

export type { PolicyLossName } from "./losses";

type Compute<Name extends PolicyLossName> = (typeof LOSSES)[Name]["compute"];

/** The batch that a loss reads. */
export type PolicyLossBatch<Name extends PolicyLossName> = Parameters<Compute<Name>>[0];
/** The options of a loss. */
export type PolicyLossOptionsOf<Name extends PolicyLossName> = NonNullable<Parameters<Compute<Name>>[1]>;
/** What a loss returns. */
export type PolicyLossResultOf<Name extends PolicyLossName> = ReturnType<Compute<Name>>;

/** The last argument, with more options beside those of the loss: optional where the loss has a default for everything. */
export type PolicyLossOptionsArgument<Name extends PolicyLossName, More = unknown> = undefined extends Parameters<
  Compute<Name>
>[1]
  ? [options?: PolicyLossOptionsOf<Name> & More]
  : [options: PolicyLossOptionsOf<Name> & More];

/** The names that `policyLoss` knows. */
export const policyLossNames: readonly PolicyLossName[] = Object.keys(LOSSES) as PolicyLossName[];

/**
 * A policy loss, its metrics and its gradient by name; the same as calling its function, that of `"x"` being `xLoss`. Options are those of the name:
 *
 *     policyLoss("ppo", { logProbs, oldLogProbs, advantages, mask, shape }, { clip: 0.2 })
 *     policyLoss("gspo", { logProbs, oldLogProbs, advantages, mask, shape }, { clipLow: 3e-4, clipHigh: 4e-4 })
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for an unknown name; else as the loss
 */
export function policyLoss<Name extends PolicyLossName>(
  name: Name,
  batch: PlainFields<PolicyLossBatch<Name>>,
  ...[options]: PolicyLossOptionsArgument<Name>
): PolicyLossResultOf<Name> {
  if (!Object.hasOwn(LOSSES, name)) throw unknownName("policyLoss", "name", name, policyLossNames);
  // One loss and its own arguments: a union the compiler cannot relate by itself.
  const evaluate = LOSSES[name].compute as unknown as (
    batch: PlainFields<PolicyLossBatch<Name>>,
    options?: PolicyLossOptionsOf<Name>,
  ) => PolicyLossResultOf<Name>;
  return evaluate(batch, options);
}

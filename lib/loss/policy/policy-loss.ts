// Policy losses by name: one line each.
import { argumentError } from "../../core/errors";
import { bypassLoss } from "./bypass-loss";
import { cispoLoss } from "./cispo-loss";
import { clipCovLoss } from "./clip-cov-loss";
import { cpgdLoss } from "./cpgd-loss";
import { gmpoLoss } from "./gmpo-loss";
import { gspoLoss, gspoTokenLoss } from "./gspo-loss";
import { klCovLoss } from "./kl-cov-loss";
import { luspoLoss } from "./luspo-loss";
import { optimalValueLoss } from "./optimal-value-loss";
import { ppoLoss } from "./ppo-loss";
import { reinforceLoss } from "./reinforce-loss";
import { rlooLoss } from "./rloo-loss";
import { sapoLoss } from "./sapo-loss";
import { vespoLoss } from "./vespo-loss";

/** Each takes a batch and options of its own. A new loss is a line here. */
const LOSSES = {
  ppo: ppoLoss,
  gspo: gspoLoss,
  gspoToken: gspoTokenLoss,
  gmpo: gmpoLoss,
  cispo: cispoLoss,
  sapo: sapoLoss,
  vespo: vespoLoss,
  luspo: luspoLoss,
  rloo: rlooLoss,
  reinforce: reinforceLoss,
  clipCov: clipCovLoss,
  klCov: klCovLoss,
  cpgd: cpgdLoss,
  optimalValue: optimalValueLoss,
  bypass: bypassLoss,
} as const;

type Losses = typeof LOSSES;

/** A loss of `policyLoss`. */
export type PolicyLossName = keyof Losses;
/** The batch that a loss reads. */
export type PolicyLossBatch<Name extends PolicyLossName> = Parameters<Losses[Name]>[0];
/** The options of a loss. */
export type PolicyLossOptionsOf<Name extends PolicyLossName> = NonNullable<Parameters<Losses[Name]>[1]>;
/** What a loss answers. */
export type PolicyLossResultOf<Name extends PolicyLossName> = ReturnType<Losses[Name]>;

/** The last argument, with more options beside those of the loss: optional where the loss has a default for everything. */
export type PolicyLossOptionsArgument<Name extends PolicyLossName, More = unknown> = undefined extends Parameters<Losses[Name]>[1]
  ? [options?: PolicyLossOptionsOf<Name> & More]
  : [options: PolicyLossOptionsOf<Name> & More];

/** The names that `policyLoss` knows. */
export const policyLossNames: readonly PolicyLossName[] = Object.keys(LOSSES) as PolicyLossName[];

/**
 * A policy loss, its metrics and its gradient by name; the same as calling its function. Options are those of the name:
 *
 *     policyLoss("ppo", { logProbs, oldLogProbs, advantages, mask, shape }, { clip: 0.2 })
 *     policyLoss("gspo", { logProbs, oldLogProbs, advantages, mask, shape }, { clipLow: 3e-4, clipHigh: 4e-4 })
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for an unknown name; else as the loss
 */
export function policyLoss<Name extends PolicyLossName>(
  name: Name,
  batch: PolicyLossBatch<Name>,
  ...[options]: PolicyLossOptionsArgument<Name>
): PolicyLossResultOf<Name> {
  if (!Object.hasOwn(LOSSES, name))
    throw argumentError("ERR_SURPRISAL_OPTION", "policyLoss", "name", name, `one of ${policyLossNames.map((known) => `"${known}"`).join(", ")}`);
  // One loss and its own arguments: a union the compiler cannot relate by itself.
  const evaluate = LOSSES[name] as unknown as (batch: PolicyLossBatch<Name>, options?: PolicyLossOptionsOf<Name>) => PolicyLossResultOf<Name>;
  return evaluate(batch, options);
}

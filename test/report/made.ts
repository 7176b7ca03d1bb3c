// Rollouts that tests write by hand: what is not named is not there.
import type { ReportRollout, ReportStep } from "../../lib/report";

type Numbers = readonly number[];

export interface Given extends Omit<
  ReportRollout,
  "tokenIds" | "mask" | "samplerLogProbs" | "oldLogProbs" | "referenceLogProbs" | "entropies" | "advantages" | "tokens"
> {
  readonly ids?: Numbers;
  readonly tokens?: readonly string[];
  readonly mask?: Numbers;
  readonly samplerLogProbs?: Numbers;
  readonly oldLogProbs?: Numbers;
  readonly referenceLogProbs?: Numbers;
  readonly entropies?: Numbers;
  readonly advantages?: Numbers;
}

const floats = (name: string, values: Numbers | undefined) => (values ? { [name]: Float64Array.from(values) } : {});

export function rollout({
  ids,
  mask,
  samplerLogProbs,
  oldLogProbs,
  referenceLogProbs,
  entropies,
  advantages,
  ...rest
}: Given): ReportRollout {
  return {
    ...rest,
    ...(ids && { tokenIds: Int32Array.from(ids) }),
    ...(mask && { mask: Uint8Array.from(mask) }),
    ...floats("samplerLogProbs", samplerLogProbs),
    ...floats("oldLogProbs", oldLogProbs),
    ...floats("referenceLogProbs", referenceLogProbs),
    ...floats("entropies", entropies),
    ...floats("advantages", advantages),
  };
}

export const step = (label: string, ...given: readonly Given[]): ReportStep => ({
  label,
  rollouts: given.map(rollout),
});

// The numbers of one rollout, by name.
import { finiteValues } from "../core/kept-values";
import { mean } from "./distribution";
import { keptOf, lengthOf } from "./measures";
import type { ReportRollout } from "./model";

const OWN = new Set(["reward", "advantage", "length", "entropy"]);

const meanOf = (values: ArrayLike<number>): number | undefined => (values.length === 0 ? undefined : mean(values));

/** reward, then each reward function, then advantage, length (kept tokens) and entropy (nats a token), as far as they are known. */
export function figuresOf(rollout: ReportRollout): Map<string, number> {
  const { reward, rewards = {}, advantage, advantages, entropies } = rollout;
  const known: readonly (readonly [name: string, value: number | undefined])[] = [
    ["reward", reward],
    ...Object.entries(rewards).map(([name, value]) => [OWN.has(name) ? `rewards.${name}` : name, value] as const),
    ["advantage", advantage ?? meanOf(keptOf(rollout, advantages))],
    ["length", lengthOf(rollout)],
    ["entropy", meanOf(finiteValues(keptOf(rollout, entropies)))],
  ];
  return new Map(known.filter((figure): figure is readonly [string, number] => figure[1] !== undefined));
}

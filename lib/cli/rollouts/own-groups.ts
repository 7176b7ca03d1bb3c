// Groups of a batch that lies on several processes: each lies on one.
import { createHash } from "node:crypto";
import type { Collective } from "../../core/collective";
import { SurprisalError } from "../../core/errors";
import { gatherRagged } from "../../core/row-partials";
import type { Rollout } from "../../io";

/** 52 bits of a hash. Ten million groups share one of them with a chance of 1 %. */
function numberOf(key: string): number {
  return parseInt(createHash("sha256").update(key).digest("hex").slice(0, 13), 16);
}

/**
 * Refuses a group that has rollouts on two processes.
 *
 * @throws SurprisalError ERR_SURPRISAL_FILE on every process, naming one such group where it is here
 */
export function needOwnGroups(collective: Collective, rollouts: readonly Rollout[], source: string): void {
  const names = new Map<number, Rollout>();
  for (const rollout of rollouts) {
    const number = numberOf(JSON.stringify([rollout.group, rollout.step]));
    if (!names.has(number)) names.set(number, rollout);
  }
  const owner = new Map<number, number>();
  let twice: { readonly number: number; readonly ranks: readonly [number, number] } | undefined;
  gatherRagged(collective, Float64Array.from(names.keys())).forEach((numbers, rank) => {
    for (const number of numbers) {
      const other = owner.get(number);
      if (other !== undefined) twice ??= { number, ranks: [other, rank] };
      owner.set(number, rank);
    }
  });
  if (!twice) return;
  const group = names.get(twice.number)?.group;
  const which = group === undefined ? "a group" : `group ${JSON.stringify(group)}`;
  throw new SurprisalError(
    "ERR_SURPRISAL_FILE",
    `${source}: ${which} has rollouts in parts ${twice.ranks.join(" and ")}, expected each group in one part; put a group's rollouts into one file, or take fewer parts`,
    { name: "group", got: group, want: "each group in one part" },
  );
}

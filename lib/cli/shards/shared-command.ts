// A command with --shard.
import type { Command } from "../shell/command";
import { withExpandedFiles } from "./expand-files";
import { runPart } from "./run-part";
import { runRanks } from "./run-ranks";
import { runWhole, type SharedCommand, type Steps } from "./steps";
import { SHARD_OPTIONS, whichShard } from "./which-shard";

export function sharedCommand<Place, Data>(command: Omit<Command, "run">, own: Steps<Place, Data>): SharedCommand {
  const batches = Object.hasOwn(command.options, "batch");
  const steps = own as Steps; // what reserve and work return comes back to finish and to nobody else
  return {
    ...command,
    options: { ...command.options, ...SHARD_OPTIONS },
    steps,
    async run(given) {
      const early = await steps.early?.(given);
      if (early) return early;
      const call = { ...given, args: given.args.with(withExpandedFiles(given.args.files)) };
      const which = whichShard(call);
      if (!which) return runWhole(steps, call);
      return which.kind === "mpi"
        ? runRanks(command.name, steps, call, batches)
        : runPart(command.name, steps, call, batches, which);
    },
  };
}

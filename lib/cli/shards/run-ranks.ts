// All parts at once, as the ranks of an MPI job. Rank 0 puts them together and answers; the others say nothing.
import { openCollective } from "../../collective";
import type { Answer, Call } from "../shell/command";
import { folderOf } from "./folder";
import { joinParts } from "./join-parts";
import { hasRollouts, readManifest } from "./manifest";
import { leave, partOf, planOf, workOf } from "./one-part";
import type { Steps } from "./steps";

export async function runRanks(command: string, steps: Steps, call: Call, batches: boolean): Promise<Answer> {
  const world = openCollective("mpi");
  try {
    const { rank, size } = world;
    const folder = folderOf(call);
    // Refused before the work, by the rank that writes.
    const place = rank === 0 ? await steps.reserve(call) : undefined;
    const part = await partOf(command, call, rank, size);
    const before = readManifest(folder.manifest(rank));
    const done = before?.identity === part.identity && before.settled && before.base === null && hasRollouts(before);
    const [undone] = world.allReduce(Int32Array.of(done ? 0 : 1), "max");
    if (undone !== 0) {
      const plan = await planOf(call, part, batches);
      const { members } = plan;
      const work = members.includes(rank) ? await workOf(steps, call, plan, rank, world.subgroup(members)) : undefined;
      await leave(folder, part, { pass: 1, answered: 0, settled: true, base: null, members }, work, call);
    }
    world.barrier();
    if (rank !== 0) return { json: undefined, text: "", silent: true };
    return await joinParts(folder, steps, call, place);
  } finally {
    world.close();
  }
}

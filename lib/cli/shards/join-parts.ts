// The results of all parts as those of one process.
import { SurprisalError } from "../../core/errors";
import { readRollouts, type Rollout } from "../../io";
import type { Answer, Call } from "../shell/command";
import type { ShardFolder } from "./folder";
import { contentOf, hashOf, type Manifest, readManifest } from "./manifest";
import { readData } from "./one-part";
import type { Steps } from "./steps";

const refused = (name: string, message: string, want: string): SurprisalError =>
  new SurprisalError("ERR_SURPRISAL_FILE", message, { name, want });

/**
 * The manifests of all parts of one work.
 *
 * @throws SurprisalError ERR_SURPRISAL_FILE where one is missing or is of other work
 */
export function needParts(folder: ShardFolder): Manifest[] {
  const [first] = folder.parts;
  if (first === undefined)
    throw refused(folder.path, `${folder.path}: no part of anything is in it`, "a folder of --shard");
  const { job } = readManifest(folder.manifest(first))!;
  const parts = Array.from({ length: job.count }, (_, part) => readManifest(folder.manifest(part)));
  const missing = parts.flatMap((part, index) => (part ? [] : [index]));
  if (missing.length > 0)
    throw refused(
      folder.path,
      `${folder.path}: part${missing.length > 1 ? "s" : ""} ${missing.join(", ")} of ${job.count} not there yet`,
      "all parts",
    );
  const other = parts.findIndex((part) => hashOf(part!.job) !== hashOf(job));
  if (other >= 0)
    throw refused(
      folder.path,
      `${folder.path}: part ${other} is of another command line, or of files of other sizes, than part ${first}; run all parts alike`,
      "parts of the same work",
    );
  return parts as Manifest[];
}

/** The rollouts of the parts, one behind the other. */
async function* rolloutsOf(parts: readonly Manifest[], { signal }: Call): AsyncGenerator<Rollout> {
  for (const { rollouts } of parts) {
    if (!rollouts) continue;
    const { sha256 } = await contentOf(rollouts.name);
    if (sha256 !== rollouts.sha256)
      throw refused(
        rollouts.name,
        `${rollouts.name} is not as its part left it; run the part again`,
        "the part's file",
      );
    yield* readRollouts(rollouts.name, { from: "surprisal", format: "jsonl", signal });
  }
}

export async function joinParts(folder: ShardFolder, steps: Steps, call: Call, place: unknown): Promise<Answer> {
  const parts = needParts(folder);
  const members = parts.filter(({ index, members: all }) => all.includes(index));
  const data: unknown[] = [];
  for (const { index } of members) data.push(await readData(folder, index));
  const total = members.reduce((sum, { rollouts }) => sum + (rollouts?.total ?? 0), 0);
  return steps.finish(call, place, data, { total, rollouts: rolloutsOf(members, call) });
}

// The results of all parts as those of one process.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
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

type Left = NonNullable<Manifest["rollouts"]>;

const changed = ({ name }: Left): SurprisalError =>
  refused(name, `${name} is not as its part left it; run the part again`, "the part's file");

/** The rollouts of the parts, one behind the other. */
async function* rolloutsOf(parts: readonly Left[], { signal }: Call): AsyncGenerator<Rollout> {
  for (const part of parts) {
    if ((await contentOf(part.name)).sha256 !== part.sha256) throw changed(part);
    yield* readRollouts(part.name, { from: "surprisal", format: "jsonl", signal });
  }
}

/** Their lines as they stand there: a part writes what one process would. */
async function* linesOf(parts: readonly Left[], { signal }: Call): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    const hash = createHash("sha256");
    for await (const piece of createReadStream(part.name, {
      highWaterMark: 2 ** 20,
      signal,
    }) as AsyncIterable<Buffer>) {
      hash.update(piece);
      yield piece;
    }
    if (hash.digest("hex") !== part.sha256) throw changed(part);
  }
}

export async function joinParts(folder: ShardFolder, steps: Steps, call: Call, place: unknown): Promise<Answer> {
  const parts = needParts(folder);
  const members = parts.filter(({ index, members: all }) => all.includes(index));
  const data: unknown[] = [];
  for (const { index } of members) data.push(await readData(folder, index));
  const total = members.reduce((sum, { rollouts }) => sum + (rollouts?.total ?? 0), 0);
  const left = members.flatMap(({ rollouts }) => rollouts ?? []);
  const rows = { total, rollouts: rolloutsOf(left, call), lines: linesOf(left, call) };
  return steps.finish(call, place, data, rows);
}

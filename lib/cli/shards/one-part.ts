// The work of one part, and what it leaves in the folder.
import { writeFile, readFile } from "node:fs/promises";
import { deserialize, serialize } from "node:v8";
import type { Collective } from "../../core/collective";
import { writeRollouts } from "../../io";
import { batchRuleOf } from "../rollouts/read-batches";
import type { Call } from "../shell/command";
import type { ShardFolder } from "./folder";
import { contentOf, hashOf, type Job, jobOf, type Manifest, writeManifest } from "./manifest";
import { type Plan, planOfFiles, planOfRows } from "./plan";
import { type Steps, taken, type Work } from "./steps";

/** Which part of what. */
export interface Part {
  readonly job: Job;
  readonly index: number;
  readonly inputs: Manifest["inputs"];
  readonly identity: string;
  /** Where it is known without reading rollouts. */
  readonly planned: Plan | undefined;
}

/** Reads the bytes of what the part reads, and no rollouts as yet. */
export async function partOf(command: string, call: Call, index: number, count: number): Promise<Part> {
  const job = await jobOf(command, call, count);
  const planned = await planOfFiles(call.args.files, index, count);
  const inputs: Manifest["inputs"][number][] = [];
  for (const file of planned?.files ?? call.args.files) inputs.push(await contentOf(file));
  return { job, index, inputs, identity: hashOf([job, index, inputs]), planned };
}

/** Commands without --batch take rollouts one by one. */
export function planOf(call: Call, { planned, index, job }: Part, batches: boolean): Promise<Plan> {
  if (planned) return Promise.resolve(planned);
  return planOfRows(call, batches ? batchRuleOf(call) : "all", index, job.count);
}

/** A part without rollouts leaves nothing. */
export async function workOf(
  steps: Steps,
  call: Call,
  { files, keeps, members }: Plan,
  index: number,
  collective: Collective,
): Promise<Work<unknown> | undefined> {
  if (!members.includes(index)) return undefined;
  const shard = { files: call.args.files, keeps, collective };
  return steps.work({ ...call, args: call.args.with(files), shard });
}

/** What a pass came to. */
export type Pass = Pick<Manifest, "pass" | "answered" | "settled" | "base" | "members">;

/** Writes the results of a part that is settled; the manifest last. */
export async function leave(
  folder: ShardFolder,
  part: Part,
  pass: Pass,
  work: Work<unknown> | undefined,
  call: Call,
): Promise<Manifest> {
  const { index, job, inputs, identity } = part;
  let rollouts: Manifest["rollouts"] = null;
  if (pass.settled && work) {
    if (work.rollouts && call.args.text("out") !== undefined) {
      const file = folder.rollouts(index);
      const { rollouts: total } = await writeRollouts(file, work.rollouts, { signal: call.signal });
      rollouts = { ...(await contentOf(file)), total };
    } else await taken(work.rollouts ?? []);
    await writeFile(folder.data(index), serialize(work.data));
  }
  const manifest: Manifest = { job, index, inputs, identity, ...pass, rollouts };
  await writeManifest(folder.manifest(index), manifest);
  return manifest;
}

export const readData = async (folder: ShardFolder, part: number): Promise<unknown> =>
  deserialize(await readFile(folder.data(part))) as unknown;

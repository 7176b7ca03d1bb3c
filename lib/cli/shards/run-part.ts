// One part, alone. Where its batch lies on several parts it goes in passes: what this part gives to the statistics of all waits in the
// folder for surprisal merge, and the next run of the part goes on from there.
import { existsSync } from "node:fs";
import type { Answer, Call } from "../shell/command";
import { Group } from "../../collective/group";
import { Passes } from "../../collective/passes";
import { folderOf, type ShardFolder } from "./folder";
import { contentOf, hasRollouts, type Manifest, readManifest } from "./manifest";
import { leave, type Part, partOf, planOf, workOf } from "./one-part";
import { type Calls, readCalls, writeCalls } from "./pass-files";
import type { Steps } from "./steps";

/** What all parts gave in a pass, where this part, as it is now, was one of them. */
async function answersOf(folder: ShardFolder, pass: number, { identity }: Part): Promise<Calls | undefined> {
  const file = folder.pass("merged", pass);
  if (pass === 0 || !existsSync(file)) return undefined;
  const answers = await readCalls(file);
  const parts = JSON.parse(answers.metadata["identities"] ?? "[]") as string[];
  return parts.includes(identity) ? answers : undefined;
}

interface Next {
  /** There is nothing to do. */
  readonly done?: Manifest;
  readonly pass: number;
  readonly answers: Calls | undefined;
}

/** What is to be done, after what was done before. */
async function nextOf(folder: ShardFolder, part: Part): Promise<Next> {
  const before = readManifest(folder.manifest(part.index));
  if (before?.identity !== part.identity) return { pass: 1, answers: undefined };
  const { pass } = before;
  const answers = await answersOf(folder, pass, part);
  if (answers) return { pass: pass + 1, answers };
  const base = await answersOf(folder, pass - 1, part);
  if (pass > 1 && !base) return { pass: 1, answers: undefined }; // other parts have begun again
  if (hasRollouts(before) && hasCalls(folder, before)) return { done: before, pass, answers: base };
  return { pass, answers: base };
}

/** Whether the folder still has what the manifest says that the part has left. */
function hasCalls(folder: ShardFolder, { index, pass, settled, members }: Manifest): boolean {
  if (!members.includes(index)) return true;
  return existsSync(settled ? folder.data(index) : folder.pass(index, pass));
}

function answerOf(manifest: Manifest, folder: ShardFolder, again: boolean): Answer {
  const { index, job, pass, settled, rollouts } = manifest;
  const state = settled ? "done" : "waiting";
  const what = again ? "nothing to do: " : "";
  const next = `surprisal merge ${folder.path}`;
  return {
    json: { shard: index, shards: job.count, state, pass, rollouts: rollouts?.total ?? null, next, again },
    text:
      `part ${index} of ${job.count}: ${what}${settled ? "computed" : `waits for the others (pass ${pass})`}\n` +
      `when all parts are here: ${next}\n`,
  };
}

export async function runPart(
  command: string,
  steps: Steps,
  call: Call,
  batches: boolean,
  { index, count }: { readonly index: number; readonly count: number },
): Promise<Answer> {
  const folder = folderOf(call);
  const part = await partOf(command, call, index, count);
  const { done, pass, answers } = await nextOf(folder, part);
  if (done) return answerOf(done, folder, true);
  const plan = await planOf(call, part, batches);
  const { members } = plan;
  const passes = new Passes(Math.max(0, members.indexOf(index)), Math.max(1, members.length), answers?.calls);
  let work: Awaited<ReturnType<typeof workOf>>;
  try {
    work = await workOf(steps, call, plan, index, new Group(passes, [...members.keys()]));
  } catch (error) {
    // What follows from a guess proves nothing.
    if (!passes.guessed || call.signal.aborted) throw error;
  }
  call.progress.end();
  const settled = !passes.guessed;
  const calls = folder.pass(index, pass);
  if (passes.given.length > 0)
    await writeCalls(
      calls,
      passes.given.map((given) => [given]),
      { identity: part.identity },
    );
  const base = answers ? (await contentOf(folder.pass("merged", pass - 1))).sha256 : null;
  const manifest = await leave(folder, part, { pass, answered: passes.answered, settled, base, members }, work, call);
  return answerOf(manifest, folder, false);
}

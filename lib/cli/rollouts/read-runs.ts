// Runs of a command line: a file each, or a folder with the files of one.
import { SurprisalError } from "../../core/errors";
import type { Rollout } from "../../io";
import { withFields } from "../../io/record";
import type { Call } from "../shell/command";
import { noteWarnings, openRollouts, type ReadFile, shownName } from "./read-batches";
import { fileNumbers, runFiles } from "./run-files";

export interface ReadRun {
  readonly name: string;
  readonly rollouts: readonly Rollout[];
}

async function readOne(call: Call, file: string, step: number | undefined): Promise<ReadFile> {
  const reader = openRollouts(call, file);
  const rollouts: Rollout[] = [];
  for await (const rollout of reader)
    rollouts.push(rollout.step === undefined && step !== undefined ? withFields(rollout, { step }) : rollout);
  call.progress.end();
  return { report: reader.report, rollouts };
}

/** The rollouts of a run. Where they name no step, the numbers in the names of its files are the steps. */
export async function readRun(call: Call, place: string, name: string): Promise<ReadRun> {
  const files = runFiles(place);
  const numbers = fileNumbers(files);
  const read: ReadFile[] = [];
  for (const [i, file] of files.entries()) read.push(await readOne(call, file, numbers[i]));
  noteWarnings(
    call,
    read.map(({ report }) => report),
  );
  const rollouts = read.flatMap((file) => file.rollouts);
  if (rollouts.length === 0)
    throw new SurprisalError("ERR_SURPRISAL_FILE", `${shownName(place)}: no rollouts in it`, {
      name: place,
      want: "at least one rollout",
    });
  return { name, rollouts };
}

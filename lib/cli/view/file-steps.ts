// The steps of a file that a run is still writing. What was added to it since the last reading is read alone.
import { open } from "node:fs/promises";
import * as path from "node:path";
import type { Rollout } from "../../io";
import { type LineEnd, readOn } from "../../io/read";
import { splitBySteps } from "../../io/rollout-groups";
import type { ReportStep } from "../../report";
import { checkSteps } from "../../report/check";
import { backendOf } from "../backend-option";
import { preparedStep, SPANS } from "../reporting";
import { batchesOf } from "../rollouts/read-batches";
import { readOptions } from "../rollouts/read-flags";
import type { Call } from "../shell/command";
import { optionsFrom } from "../tables/option-flags";

/** What readings of a file gave. */
export interface FileSteps {
  readonly steps: readonly ReportStep[];
  readonly rollouts: number;
  /** The last line was not whole yet. */
  readonly cutOff: boolean;
  /** Where the next reading begins; undefined where it begins at the start. */
  readonly end?: FileEnd | undefined;
}

/** A place in a file, and how to see that everything before it is as it was. */
interface FileEnd extends LineEnd {
  readonly inode: number;
  /** The bytes before it. */
  readonly mark: Buffer;
  /** By training step, in the order of the file. */
  readonly read: ReadonlyMap<number | undefined, ReadStep>;
}

interface ReadStep {
  readonly rollouts: readonly Rollout[];
  readonly prepared: ReportStep;
}

const MARK_BYTES = 1024;

/** The bytes of a file before a place, and which file it is; null where it has been cut. */
async function markAt(file: string, bytes: number): Promise<{ inode: number; mark: Buffer; size: number }> {
  const handle = await open(file);
  try {
    const { ino, size } = await handle.stat();
    const mark = Buffer.alloc(Math.min(MARK_BYTES, bytes));
    const { bytesRead } = await handle.read(mark, 0, mark.length, bytes - mark.length);
    return { inode: ino, mark: mark.subarray(0, bytesRead), size };
  } finally {
    await handle.close();
  }
}

/** Whether the file has only grown since. */
async function hasGrown(file: string, { bytes, inode, mark }: FileEnd): Promise<boolean> {
  const now = await markAt(file, bytes).catch(() => undefined);
  return now !== undefined && now.inode === inode && now.size > bytes && now.mark.equals(mark);
}

/** The steps with what was added to each; those that got nothing stay as they were. */
function withAdded(
  before: ReadonlyMap<number | undefined, ReadStep>,
  added: readonly Rollout[],
  prepare: (rollouts: readonly Rollout[]) => ReportStep,
): Map<number | undefined, ReadStep> {
  const steps = new Map(before);
  for (const { step, rollouts } of splitBySteps(added)) {
    const all = [...(before.get(step)?.rollouts ?? []), ...rollouts];
    steps.set(step, { rollouts: all, prepared: prepare(all) });
  }
  return steps;
}

/**
 * Reads a file, and prepares each of its steps. `before` is what an earlier reading gave.
 *
 * @param alone the one file that is followed: its steps do without its name
 */
export function stepReader(
  call: Call,
  alone: string | undefined,
): (file: string, before: FileSteps | undefined) => Promise<FileSteps> {
  const options = optionsFrom(call.args, SPANS);
  const backend = backendOf(call.args);
  return async (file, before) => {
    call.progress.start(`reading ${path.basename(file)}`, "rollouts");
    const from = before?.end && (await hasGrown(file, before.end)) ? before.end : undefined;
    const { rollouts, report, end } = await readOn(
      file,
      {
        ...readOptions(call, path.basename(file)),
        onProgress: (progress) => {
          call.progress.reach(progress.rollouts);
        },
      },
      from,
    );
    call.progress.end();
    const read = withAdded(from?.read ?? new Map(), rollouts, (own) => {
      const [batch] = batchesOf([{ report, rollouts: own }], "step");
      // Where a folder has a file for each step, the name of the file tells the steps apart.
      const label = file === alone ? batch!.label : batch!.source;
      const step = preparedStep({ ...batch!, label }, options, { backend });
      checkSteps("view", [step]);
      return step;
    });
    const all = Array.from(read.values());
    return {
      steps: all.map(({ prepared }) => prepared),
      rollouts: all.reduce((sum, { rollouts: own }) => sum + own.length, 0),
      cutOff: report.cutOff !== undefined,
      end: end && { ...end, ...(await markAt(file, end.bytes)), read },
    };
  };
}

// A command line in parts, until they are one result.
import { documentOf, type Outcome, surprisal } from "../in-process";

interface State {
  readonly state: "done" | "waiting" | "again";
}

function needDone(outcome: Outcome): Outcome {
  if (outcome.code !== 0) throw new Error(`${outcome.stderr}\n${outcome.stdout}`);
  return outcome;
}

/** Every estimator's statistics are added up within so many passes. */
const MOST_PASSES = 8;

/**
 * Runs all parts and merges them, as often as they ask for it.
 *
 * @returns the answer of the last merge, and how many passes there were
 */
export async function inParts(
  args: readonly string[],
  folder: string,
  count: number,
): Promise<{ readonly document: unknown; readonly passes: number }> {
  for (let passes = 1; passes <= MOST_PASSES; ++passes) {
    for (let part = 0; part < count; ++part)
      needDone(await surprisal([...args, "--shard", `${part}/${count}`, "--shard-folder", folder, "--json"]));
    const document = documentOf(needDone(await surprisal(["merge", folder, "--json"])));
    if ((document as Partial<State>).state !== "again") return { document, passes };
  }
  throw new Error(`not done after ${MOST_PASSES} passes`);
}

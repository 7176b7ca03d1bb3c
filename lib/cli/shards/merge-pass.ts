// What all parts gave in a pass, put together as the answers of the next one.
import { existsSync } from "node:fs";
import { SurprisalError } from "../../core/errors";
import { answersOf } from "../../collective/passes";
import type { Answer } from "../shell/command";
import type { ShardFolder } from "./folder";
import type { Manifest } from "./manifest";
import { readCalls, writeCalls } from "./pass-files";

/** Whether the answers of its last pass wait for a part. */
async function isAnswered(folder: ShardFolder, { pass, identity }: Manifest): Promise<boolean> {
  const file = folder.pass("merged", pass);
  if (!existsSync(file)) return false;
  return (JSON.parse((await readCalls(file)).metadata["identities"] ?? "[]") as string[]).includes(identity);
}

/**
 * Refuses parts that are at different passes, or worked with different answers: some have to run again, or, where one is of other
 * input than it was, all.
 */
export async function needSamePass(folder: ShardFolder, parts: readonly Manifest[]): Promise<void> {
  const [first] = parts;
  if (parts.every(({ pass, base }) => pass === first!.pass && base === first!.base)) return;
  const last = Math.max(...parts.map(({ pass }) => pass));
  const behind: Manifest[] = [];
  for (const part of parts) if (part.pass < last && (await isAnswered(folder, part))) behind.push(part);
  if (behind.length === 0) folder.forgetPasses(); // of other input
  const which = behind.length === 0 ? "all parts" : `part ${behind.map(({ index }) => index).join(", ")}`;
  throw new SurprisalError(
    "ERR_SURPRISAL_FILE",
    `${folder.path}: the parts are at different passes; run ${which} again`,
    { name: folder.path, want: "parts of the same pass" },
  );
}

/** Writes the answers; refuses where the parts came no further than in the pass before. */
export async function mergePass(folder: ShardFolder, parts: readonly Manifest[]): Promise<Answer> {
  const { pass } = parts[0]!;
  const given = [];
  for (const { index } of parts) given.push((await readCalls(folder.pass(index, pass))).calls.map(([own]) => own!));
  const answers = answersOf(given);
  const answered = Math.min(...parts.map((part) => part.answered));
  if (answers.length <= answered) {
    const message = `${folder.path}: after ${answered} calls the parts ask for different things; one of them may have other fields than the rest`;
    throw new SurprisalError("ERR_SURPRISAL_COLLECTIVE_MISMATCH", message, { name: folder.path });
  }
  await writeCalls(folder.pass("merged", pass), answers, {
    identities: JSON.stringify(parts.map(({ identity }) => identity)),
  });
  const numbers = answers.reduce((sum, ranks) => sum + ranks.reduce((own, { bytes }) => own + bytes.length / 8, 0), 0);
  return {
    json: { state: "again", pass: pass + 1, calls: answers.length, parts: parts.map(({ index }) => index) },
    text: `statistics of ${parts.length} parts added up: ${answers.length} calls, ${numbers} numbers\nrun the parts again, which apply them\n`,
  };
}

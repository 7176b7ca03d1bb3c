// surprisal merge: parts that --shard made, as one.
import { advantages } from "./advantages";
import { entropy } from "./entropy";
import { loss } from "./loss";
import { report } from "./report";
import { reward } from "./reward";
import { Arguments, type Answer, type Call, type Command } from "./shell/command";
import { ShardFolder } from "./shards/folder";
import { joinParts, needParts } from "./shards/join-parts";
import type { Manifest } from "./shards/manifest";
import { mergePass, needSamePass } from "./shards/merge-pass";
import { SurprisalError } from "../core/errors";

const SHARED = [advantages, entropy, loss, reward, report];

/** The call as one process would have got it. */
function callOf(call: Call, { job }: Manifest): Call {
  const { args } = call;
  const aside = { json: args.has("json"), quiet: args.has("quiet") };
  return {
    ...call,
    args: new Arguments(
      { ...job.flags, ...aside },
      job.files.map(([file]) => file),
    ),
  };
}

async function run(call: Call): Promise<Answer> {
  const folder = new ShardFolder(call.args.files[0]!);
  const all = needParts(folder);
  const parts = all.filter(({ index, members }) => members.includes(index));
  const [first] = all;
  const command = SHARED.find(({ name }) => name === first!.job.command);
  if (!command)
    throw new SurprisalError("ERR_SURPRISAL_FILE", `${folder.path}: ${first!.job.command} makes no parts`, {
      name: folder.path,
    });
  await needSamePass(folder, parts);
  if (!parts.every(({ settled }) => settled)) return mergePass(folder, parts);
  const own = callOf(call, first!);
  return joinParts(folder, command.steps, own, await command.steps.reserve(own));
}

export const merge: Command = {
  name: "merge",
  usage: "FOLDER",
  summary: "what the parts of --shard computed, as one process would have written it",
  about: `Parts of a command line with --shard wait in a folder, OUT.shards or --shard-folder. This command puts them together: the
output, and the answer, of one process. Where a batch lies on several parts (--batch all) their statistics come first: it
adds up what the parts wrote, and says to run the parts again, which apply it; then it is called once more.`,
  options: {},
  examples: ["surprisal merge out.jsonl.shards", "surprisal merge parts --json"],
  files: { least: 1, most: 1, what: "the folder of the parts" },
  run,
};

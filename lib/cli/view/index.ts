// surprisal view: the report of a run that is still writing, on an address of this machine.
import { randomUUID } from "node:crypto";
import * as path from "node:path";
import { readAllRollouts } from "../../io";
import { checkSteps } from "../../report/check";
import { renderLive } from "../../report/html/render";
import { counted } from "../../report/numbers";
import { visible } from "../../report/visible";
import { BACKEND_OPTION, backendOf } from "../backend-option";
import { factsOf, preparedStep, SPANS } from "../reporting";
import { batchesOf } from "../rollouts/read-batches";
import { READ_OPTIONS, readOptions } from "../rollouts/read-flags";
import { wholeNumber } from "../shell/arguments";
import type { Answer, Call, Command } from "../shell/command";
import { UsageError } from "../shell/exit-codes";
import { flagsOf, optionsFrom } from "../tables/option-flags";
import { type FileSteps, FollowedRun } from "./followed-run";
import { openBrowser } from "./open-browser";
import { ViewServer } from "./server";
import { watchFolder } from "./watch";

const MOST_PORTS = 65_535;

function portOf({ args }: Call): number {
  const port = wholeNumber(args, "port", 0, 0);
  if (port > MOST_PORTS)
    throw new UsageError(`--port is ${port}, expected at most ${MOST_PORTS}`, { name: "--port", got: port });
  return port;
}

/** Reads a file, and prepares each of its steps. */
function readerOf(call: Call): (file: string) => Promise<FileSteps> {
  const options = optionsFrom(call.args, SPANS);
  const backend = backendOf(call.args);
  const only = path.normalize(call.args.files[0]!);
  return async (file) => {
    call.progress.start(`reading ${path.basename(file)}`, "rollouts");
    const { rollouts, report } = await readAllRollouts(file, {
      ...readOptions(call, path.basename(file)),
      onProgress: (progress) => {
        call.progress.reach(progress.rollouts);
      },
    });
    call.progress.end();
    const batches = batchesOf([{ report, rollouts }], "step").filter((batch) => batch.rollouts.length > 0);
    // Where a folder has a file for each step, the name of the file tells the steps apart.
    const steps = batches.map((batch) =>
      preparedStep({ ...batch, label: file === only ? batch.label : batch.source }, options, { backend }),
    );
    checkSteps("view", steps);
    return { steps, rollouts: rollouts.length, cutOff: report.cutOff !== undefined };
  };
}

/** What is said of problems, each once. */
function noteNew(problems: readonly string[], said: Set<string>, { stderr }: Call): void {
  for (const problem of problems) if (!said.has(problem)) stderr.write(`note: ${visible(problem)}\n`);
  said.clear();
  for (const problem of problems) said.add(problem);
}

async function run(call: Call): Promise<Answer> {
  const { args, signal } = call;
  const given = args.files[0]!;
  const port = portOf(call);
  const session = randomUUID();
  const said = new Set<string>();
  let revision = 0;
  let page: { readonly revision: number; readonly html: string } | undefined;
  const followed = new FollowedRun(given, readerOf(call), () => {
    ++revision;
    noteNew(followed.problems, said, call);
    server.tell();
  });
  const state = () => {
    const { steps, rollouts } = followed;
    return { revision: `${session} ${revision}`, steps: steps.length, rollouts };
  };
  const render = (): string => {
    const facts = factsOf({ path: given, files: followed.fileCount, ...optionsFrom(args, SPANS) });
    const title = args.text("title") ?? path.basename(path.resolve(given));
    return renderLive({ steps: followed.steps, facts, title }, { ...state(), problems: followed.problems });
  };
  const server = await ViewServer.listen(port, {
    page() {
      if (page?.revision !== revision) page = { revision, html: render() };
      return page.html;
    },
    news: () => JSON.stringify(state()),
  });
  try {
    await followed.look();
  } catch (error) {
    await server.close();
    throw error;
  }
  const stopWatching = watchFolder(followed.folder, () => {
    followed.look().catch((error: unknown) => {
      if (!signal.aborted) noteNew([...followed.problems, (error as Error).message], said, call);
    });
  });
  const { address } = server;
  if (args.has("open")) openBrowser(address, call);
  const { rollouts, fileCount } = followed;
  const found = rollouts === 0 ? "no rollouts yet" : `${counted(rollouts, "rollout")} in ${counted(fileCount, "file")}`;
  return {
    json: { address, path: given, ...state(), files: fileCount, problems: followed.problems },
    text: `${address}  ${visible(given)}: ${found}. The page follows; Ctrl-C ends it.\n`,
    until: stopped(signal).then(async () => {
      stopWatching();
      await server.close();
    }),
  };
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

export const view: Command = {
  name: "view",
  usage: "FOLDER [--port NUMBER] [--open]",
  summary: "the report of a run that is still writing its rollouts, in your browser",
  about: `Serves the page of surprisal report on 127.0.0.1, for this machine alone, until it is stopped. The page follows: when the run
writes a file, or more lines to one, what changed is read again and the page shows it. The files may come later; a last line that
is not whole yet waits for its rest.`,
  options: {
    port: { value: "NUMBER", text: "the port of the address. Default: a free one" },
    open: { text: "open the address in a browser" },
    title: { value: "TEXT", text: "title of the page. Default: the name of the folder" },
    options: { value: "JSON", text: "the options below as a JSON object, or a file with one; flags win" },
    ...READ_OPTIONS,
    ...BACKEND_OPTION,
  },
  moreOptions: () => ({
    title: "where steps begin and end, and what they weigh (docs/advantage/empg.md)",
    options: flagsOf(SPANS),
  }),
  examples: ["surprisal view outputs/rollouts --open", "surprisal view rollouts.jsonl --port 7000 --map reward=score"],
  files: { least: 1, most: 1, what: "a folder, or a file of rollouts" },
  run,
};

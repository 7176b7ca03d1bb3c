// surprisal view: the report of a run that is still writing, on an address of this machine.
import { counted } from "../../report/numbers";
import { visible } from "../../report/visible";
import { BACKEND_OPTION } from "../backend-option";
import { SPANS } from "../reporting";
import { READ_OPTIONS } from "../rollouts/read-flags";
import { NAME_OPTION } from "../rollouts/run-names";
import { wholeNumber } from "../shell/arguments";
import type { Answer, Call, Command } from "../shell/command";
import { UsageError } from "../shell/exit-codes";
import { flagsOf } from "../tables/option-flags";
import { openBrowser } from "./open-browser";
import { ViewServer } from "./server";
import { ShownRuns } from "./shown-runs";
import { watchFolder } from "./watch";

const MOST_PORTS = 65_535;

function portOf({ args }: Call): number {
  const port = wholeNumber(args, "port", 0, 0);
  if (port > MOST_PORTS)
    throw new UsageError(`--port is ${port}, expected at most ${MOST_PORTS}`, { name: "--port", got: port });
  return port;
}

/** What is said of problems, each once. */
function noteNew(problems: readonly string[], said: Set<string>, { stderr }: Call): void {
  for (const problem of problems) if (!said.has(problem)) stderr.write(`note: ${visible(problem)}\n`);
  said.clear();
  for (const problem of problems) said.add(problem);
}

async function run(call: Call): Promise<Answer> {
  const { args, signal } = call;
  const port = portOf(call);
  const said = new Set<string>();
  const shown = new ShownRuns(call, () => {
    noteNew(shown.problems, said, call);
    server.tell();
  });
  const server = await ViewServer.listen(port, {
    paths: shown.paths,
    page: (place) => shown.page(place),
    news: () => JSON.stringify(shown.state),
  });
  try {
    await shown.look();
  } catch (error) {
    await server.close();
    throw error;
  }
  const watches = shown.folders.map((folder) =>
    watchFolder(folder, () => {
      shown.look().catch((error: unknown) => {
        if (!signal.aborted) noteNew([...shown.problems, (error as Error).message], said, call);
      });
    }),
  );
  const { address } = server;
  if (args.has("open")) openBrowser(address, call);
  const { rollouts, files } = shown.state;
  const given = args.files.join(", ");
  const found = rollouts === 0 ? "no rollouts yet" : `${counted(rollouts, "rollout")} in ${counted(files, "file")}`;
  return {
    json: { address, path: given, ...shown.state, problems: shown.problems },
    text: `${address}  ${visible(given)}: ${found}. The page follows; Ctrl-C ends it.\n`,
    until: stopped(signal).then(async () => {
      for (const stop of watches) stop();
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
  usage: "FOLDER… [--port NUMBER] [--open]",
  summary: "runs that are still writing their rollouts, in your browser: the report of one, or several side by side",
  about: `Serves the page of surprisal report on 127.0.0.1, for this machine alone, until it is stopped. The page follows: when the run
writes a file, or more lines to one, what is new is read and the page shows it. The files may come later; a last line that is not
whole yet waits for its rest. Of several folders the first page is that of surprisal compare, with links to the report of each.`,
  options: {
    port: { value: "NUMBER", text: "the port of the address. Default: a free one" },
    open: { text: "open the address in a browser" },
    title: { value: "TEXT", text: "title of the page. Default: the name of the folder" },
    ...NAME_OPTION,
    options: { value: "JSON", text: "the options below as a JSON object, or a file with one; flags win" },
    ...READ_OPTIONS,
    ...BACKEND_OPTION,
  },
  moreOptions: () => ({
    title: "where steps begin and end, and what they weigh (docs/advantage/empg.md)",
    options: flagsOf(SPANS),
  }),
  examples: [
    "surprisal view outputs/rollouts --open",
    "surprisal view baseline/ candidate/ --open",
    "surprisal view rollouts.jsonl --port 7000 --map reward=score",
  ],
  files: { least: 1, most: Infinity, what: "a folder, or a file of rollouts" },
  run,
};

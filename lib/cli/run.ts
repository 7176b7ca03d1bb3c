// A command line from its words to its exit code. Everything of the outside comes in through the host.
import { SurprisalError } from "../core/errors";
import { COMMANDS } from "./commands";
import { needName, readArguments } from "./shell/arguments";
import type { Answer, Command } from "./shell/command";
import { EXIT, exitCodeOf, UsageError } from "./shell/exit-codes";
import { commandHelp, overview } from "./shell/help";
import { type Host, type Sink, Stopped } from "./shell/host";
import { Outputs } from "./shell/outputs";
import { Progress } from "./shell/progress";
import { printed, printedJson, visibleSink } from "./shell/printed";
import { flagOf } from "./tables/option-flags";
import { version } from "./version";

/** What a program learns about a failure. */
function errorDocument(error: unknown): object {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof SurprisalError)) return { error: { message } };
  const { op, name, want, reason } = error.details;
  return {
    error: {
      code: error.code,
      message,
      op,
      name,
      want,
      reason,
    },
  };
}

/** One line: command, code, what happened. */
function errorLine(where: string, error: unknown, hint: string): string {
  const message = (error instanceof Error ? error.message : String(error)).replace(/\s*\n\s*/g, " ");
  const code = error instanceof SurprisalError ? `${error.code}: ` : "";
  return `${where}: ${code}${message}${hint}\n`;
}

/** The library names an option as TypeScript spells it; here it is a flag. */
function flagHint(command: Command | undefined, args: readonly string[], error: unknown): string {
  // What the command line itself refuses is in its own words already.
  if (!command || error instanceof UsageError || !(error instanceof SurprisalError) || error.details.name === undefined)
    return "";
  const flag = flagOf(error.details.name);
  const known = Object.hasOwn(command.moreOptions?.(args)?.options ?? {}, flag);
  return known && !error.message.includes(`--${flag}`) ? ` (--${flag})` : "";
}

async function runCommand(
  command: Command,
  args: readonly string[],
  host: Host,
): Promise<Answer & { readonly sink: Sink }> {
  const given = readArguments(command, args);
  if (given.has("help"))
    return { json: { help: commandHelp(command, args) }, text: commandHelp(command, args), sink: host.stdout };
  const quiet = given.has("quiet");
  const progress = new Progress(host.stderr, host.stderr.isTTY === true && !quiet);
  const outputs = new Outputs();
  const stderr = quiet ? { write: () => true } : visibleSink(host.stderr);
  try {
    host.signal.throwIfAborted();
    const answer = await command.run({ ...host, stderr, args: given, outputs, progress });
    host.signal.throwIfAborted();
    if (outputs.standardOutput && given.json)
      throw new UsageError('--json and an output "-" both want standard output; give one', { name: "--json" });
    await outputs.commit();
    // Where a file goes to standard output, what is said about it goes beside.
    const beside = quiet ? stderr : host.stderr;
    return { ...answer, sink: outputs.standardOutput ? beside : host.stdout };
  } finally {
    progress.end();
    await outputs.discard();
  }
}

/** Runs `surprisal …argv`; answers the exit code. Never throws, never ends the process. */
export async function run(argv: readonly string[], host: Host): Promise<number> {
  const [name, ...args] = argv;
  // Before the flags can be understood: a wrong command line answers in the form it asked for.
  const json = argv.includes("--json");
  let where = "surprisal";
  let command: Command | undefined;
  try {
    if (name === undefined || name === "--help" || name === "-h" || name === "help") {
      host[name === undefined ? "stderr" : "stdout"].write(overview(COMMANDS));
      return name === undefined ? EXIT.usage : EXIT.done;
    }
    if (name === "--version" || name === "-v") {
      host.stdout.write(`${version()}\n`);
      return EXIT.done;
    }
    const known = COMMANDS.map((command) => command.name);
    command = COMMANDS[known.indexOf(needName("the command", name, known))]!;
    where = `surprisal ${name}`;
    const answer = await runCommand(command, args, host);
    if (answer.silent !== true)
      answer.sink.write(json && !args.includes("--help") ? printedJson(answer.json) : printed(answer.text));
    await answer.until;
    return answer.exitCode ?? EXIT.done;
  } catch (error) {
    const reason: unknown = host.signal.aborted ? host.signal.reason : error;
    if (!(reason instanceof Stopped && reason.exitCode === EXIT.closedPipe)) {
      visibleSink(host.stderr).write(errorLine(where, reason, flagHint(command, args, reason)));
      if (json) host.stdout.write(printedJson(errorDocument(reason)));
    }
    return exitCodeOf(reason);
  }
}

// The command line of `npm run bench`.
import { parseArgs } from "node:util";
import { LEVELS } from "./harness/build";
import { PEERS } from "./peers/peers";

export const USAGE = `usage: npm run bench -- [options]

Times the kernels of the CPU backend through the public functions, against the roof of this machine's memory and against
others who can do the same work, all in one process and in the same repetitions. Every output is checked first.

  --quick            a few cases and repetitions, within 60 s; with --filter few repetitions of those cases
  --filter TEXT      only cases whose title has TEXT in it
  --peers LIST       all, none, or some of: ${Object.keys(PEERS).join(", ")}. Default: all; with --quick plain-js;
                     with --against none
  --threads N        only cases of N threads
  --level LEVEL      the instruction set: ${LEVELS.join(", ")}. Default: the best
                     here, or what SURPRISAL_CPU says
  --against REV      builds REV beside this tree and reports what got slower; exit code 1 if something did
  --resume           go on with the run that was cut off last, if it was of this commit on this machine: what a run has is
                     kept case by case
  --out FILE         where the lines of results go. Default: bench/results, where a run left nothing out
  --json             print the lines of results
  --page             only write docs/performance.md and its chart from the results that are there
  --list             only list the cases
  --help             print this
`;

export interface Options {
  readonly quick: boolean;
  readonly filter: string | undefined;
  readonly peers: readonly string[];
  readonly threads: number | undefined;
  readonly level: string | undefined;
  readonly against: string | undefined;
  readonly resume: boolean;
  readonly out: string | undefined;
  readonly json: boolean;
  readonly page: boolean;
  readonly list: boolean;
  readonly help: boolean;
  /** Nothing was left out: the run may stand for this machine. */
  readonly complete: boolean;
}

/** The others take seconds to start, or to hand their arrays over. */
const QUICK_PEERS = ["plain-js"];

function peersOf(text: string | undefined, quick: boolean, against: boolean): readonly string[] {
  if (text === undefined) return against ? [] : quick ? QUICK_PEERS : Object.keys(PEERS);
  if (text === "all") return Object.keys(PEERS);
  if (text === "none") return [];
  const names = text.split(",");
  const unknown = names.filter((name) => !(name in PEERS));
  if (unknown.length > 0)
    throw new Error(`no peer ${unknown.join(", ")}; there are ${Object.keys(PEERS).join(", ")}, all and none`);
  return names;
}

export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      filter: { type: "string" },
      peers: { type: "string" },
      threads: { type: "string" },
      level: { type: "string" },
      against: { type: "string" },
      resume: { type: "boolean", default: false },
      out: { type: "string" },
      json: { type: "boolean", default: false },
      page: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const { quick, filter, level, against, resume, out, json, page, list, help } = values;
  const threads = values.threads === undefined ? undefined : Number(values.threads);
  if (threads !== undefined && !(Number.isInteger(threads) && threads > 0))
    throw new Error(`--threads ${values.threads}: expected a positive integer`);
  if (level !== undefined && !LEVELS.some((known) => known === level))
    throw new Error(`--level ${level}: expected one of ${LEVELS.join(", ")}`);
  const peers = peersOf(values.peers, quick, against !== undefined);
  const complete =
    !quick &&
    filter === undefined &&
    threads === undefined &&
    level === undefined &&
    against === undefined &&
    peers.length === Object.keys(PEERS).length;
  return { quick, filter, peers, threads, level, against, resume, out, json, page, list, help, complete };
}

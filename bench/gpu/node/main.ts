// Times the kernels on DeviceArrays from this process, without python: node main.js --backend cuda --card FILE --out FILE.jsonl
//
// In every repetition a device copy of as many bytes and the kernel run right after one another in an order that rotates, each
// as a graph of calls between two events of one stream. Exit status: 0 done, 1 a result was wrong, 3 it could not be run.
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { backendInfo, configure, createStream } from "../../../lib";
import { selectBackend } from "../../../lib/backend/select";
import { streamBackend } from "../../../lib/backend/streams";
import { matches } from "../../goals";
import { OURS } from "../../harness/names";
import { describeLine } from "../../harness/run-case";
import { type ResultLine, type RunFacts, toLines } from "../../record";
import { GPU_GOALS } from "../goals";
import { caseTitle, type DeviceCase } from "./case";
import { divergenceCases } from "./divergence";
import { logitCases } from "./logits";
import { type DeviceBench, runDeviceCase } from "./run-case";
import { tokenCases } from "./tokens";
import { runTransfers } from "./transfers";

/** More than any L2 cache of today has, several times over. */
const SPREAD = 512e6;

const OPTIONS = {
  backend: { type: "string", default: "cuda" },
  device: { type: "string", default: "0" },
  card: { type: "string" },
  out: { type: "string" },
  minutes: { type: "string", default: "20" },
  tiny: { type: "boolean", default: false },
} as const;

const say = (text: string): void => console.log(text);

export const deviceCases = (tiny: boolean): readonly DeviceCase[] => [
  ...tokenCases(tiny),
  ...logitCases(tiny),
  ...divergenceCases(tiny),
];

/** First a case of each goal, so that a short run has them all; then the others. */
export function byGoals(cases: readonly DeviceCase[]): readonly DeviceCase[] {
  const first = GPU_GOALS.flatMap(({ match }) => {
    const { contender: _, ...ours } = match;
    return cases.find((one) => matches({ ...one, threads: 0, contender: OURS }, ours)) ?? [];
  });
  return [...new Set([...first, ...cases])];
}

/** Lines as they are found, so that a run that is cut short leaves what it had. */
function runAll(
  cases: readonly DeviceCase[],
  bench: DeviceBench,
  tiny: boolean,
  until: number,
  write: (lines: readonly ResultLine[]) => void,
): number {
  let [wrong, late] = [0, 0];
  const collect = (globalThis as { readonly gc?: () => void }).gc;
  for (const one of cases) {
    if (performance.now() > until) {
      ++late;
      continue;
    }
    say(caseTitle(one));
    try {
      const line = runDeviceCase(one, bench);
      if (line) {
        write([line]);
        say(describeLine(line));
      } else ++wrong;
    } catch (error) {
      ++wrong;
      say(`  FAILED: ${error instanceof Error ? error.message : String(error)}`);
    }
    collect?.(); // gigabytes of the case before
  }
  if (late > 0) say(`${late} cases were not timed: out of time`);
  write(runTransfers(bench, tiny));
  return wrong;
}

export function main(args: readonly string[]): number {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  const { backend: name, card, out, tiny } = values;
  if ((name !== "cuda" && name !== "emulated") || card === undefined || out === undefined) {
    console.error("usage: main --card FILE --out FILE [--backend cuda|emulated] [--device N] [--minutes N] [--tiny]");
    return 2;
  }
  configure({ device: Number(values.device) });
  const status = backendInfo().backends.find((one) => one.name === name)!;
  if (!status.available) {
    say(`skipped: ${name}: ${status.reason}`);
    return 3;
  }
  const { computeCapability = "", ...facts } = JSON.parse(readFileSync(card, "utf8")) as RunFacts & {
    readonly computeCapability?: string;
  };
  if (name === "emulated")
    say("On the emulated backend: these times say that the bench works, and nothing about a GPU.");
  using stream = createStream({ backend: name });
  const bench: DeviceBench = {
    backend: streamBackend(stream),
    stream,
    cpu: selectBackend("bench", "cpu"),
    facts: { ...facts, through: "Node" },
    level: computeCapability,
    spread: tiny ? 100e3 : SPREAD,
    milliseconds: tiny ? 0 : 20,
    repetitions: tiny ? 2 : 9,
    say,
  };
  const file = openSync(out, "w");
  try {
    let lines = 0;
    const wrong = runAll(
      byGoals(deviceCases(tiny)),
      bench,
      tiny,
      performance.now() + 60e3 * Number(values.minutes),
      (found) => {
        writeSync(file, toLines(found));
        lines += found.length;
      },
    );
    say(`${lines} lines, ${wrong} wrong or failed`);
    return wrong > 0 ? 1 : 0;
  } finally {
    closeSync(file);
  }
}

if (require.main === module) process.exitCode = main(process.argv.slice(2));

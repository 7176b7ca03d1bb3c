// surprisal bench: how fast the backends of this installation are, and how exact, each against its definition.
import { cpus } from "node:os";
import { BACKEND_NAMES, type BackendName } from "../../backend/backend";
import { backendInfo } from "../../backend/select";
import { needName } from "../shell/arguments";
import type { Answer, Call, Command } from "../shell/command";
import { UsageError } from "../shell/exit-codes";
import { table } from "../shell/table";
import { version } from "../version";
import { type BenchCase, benchCases } from "./cases";

interface Measurement {
  readonly case: string;
  readonly sizes: string;
  readonly backend: BackendName;
  /** The largest |x − definition| / (1 + |definition|). */
  readonly error: number;
  readonly calls: number;
  /** Of one call, in milliseconds. */
  readonly median: number;
  readonly fastest: number;
  /** Bytes that must be moved at least, over the median. */
  readonly gigabytesPerSecond: number;
}

const WARM_UP = 3;

/** Where backends are not named: those that users compute with. The emulated one is for tests and as slow as that. */
function chooseBackends(text: string | undefined): readonly BackendName[] {
  const { backends } = backendInfo();
  if (text === undefined)
    return backends.filter(({ name, available }) => available && name !== "emulated").map(({ name }) => name);
  return text.split(",").map((word) => needName("--backends", word.trim(), BACKEND_NAMES));
}

async function measure(
  one: BenchCase,
  backend: BackendName,
  seconds: number,
  signal: AbortSignal,
): Promise<Measurement> {
  const error = one.error(backend); // checked first: a wrong answer has no speed
  for (let i = 0; i < WARM_UP; ++i) one.run(backend);
  const times: number[] = [];
  const end = performance.now() + 1000 * seconds;
  do {
    const begun = performance.now();
    one.run(backend);
    times.push(performance.now() - begun);
    if (times.length % 16 === 0) await new Promise(setImmediate); // a signal is noticed here
    signal.throwIfAborted();
  } while (performance.now() < end || times.length < 5);
  times.sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)]!;
  return {
    case: one.name,
    sizes: one.sizes,
    backend,
    error,
    calls: times.length,
    median,
    fastest: times[0]!,
    gigabytesPerSecond: one.bytes / median / 1e6,
  };
}

function textOf(results: readonly Measurement[], cases: readonly BenchCase[]): string {
  const rows = results.map(({ case: name, backend, error, median, fastest, gigabytesPerSecond }) => [
    name,
    backend,
    error.toExponential(1),
    `${median.toPrecision(3)} ms`,
    `${fastest.toPrecision(3)} ms`,
    `${gigabytesPerSecond.toPrecision(3)} GB/s`,
  ]);
  return (
    `${table(["case", "backend", "error", "median", "fastest", "speed"], rows)}\n` +
    cases.map(({ name, sizes }) => `${name}: ${sizes}\n`).join("") +
    `error: largest |x − definition| / (1 + |definition|), the definition computed in float64; speed: least bytes moved / median\n` +
    `surprisal ${version()}, node ${process.versions.node}, ${process.platform}-${process.arch}, ${cpus()[0]?.model.trim() ?? "unknown CPU"}\n`
  );
}

function needSeconds(text: string | undefined): number {
  const value = Number(text ?? 0.5);
  if (!(value > 0) || value > 600)
    throw new UsageError(`--seconds is "${text}", expected a number in (0, 600]`, { name: "--seconds", got: text });
  return value;
}

async function run({ args, progress, signal }: Call): Promise<Answer> {
  const backends = chooseBackends(args.text("backends"));
  const seconds = needSeconds(args.text("seconds"));
  const cases = benchCases(args.has("small"));
  const results: Measurement[] = [];
  progress.start("measuring", "cases", cases.length * backends.length);
  for (const one of cases)
    for (const backend of backends) {
      signal.throwIfAborted();
      results.push(await measure(one, backend, seconds, signal));
      progress.advance(1);
    }
  progress.end();
  const machine = {
    surprisal: version(),
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    cpu: cpus()[0]?.model.trim(),
    cores: cpus().length,
  };
  return { json: { machine, seconds, results }, text: textOf(results, cases) };
}

export const bench: Command = {
  name: "bench",
  usage: "[--backends LIST] [--seconds S] [--small] [--json]",
  summary: "measure the backends of this installation: error beside speed",
  about: `Runs three kernels on every backend that works here: first against the definition in float64, then for time. A look at this
installation, not a benchmark to quote: the full ones, with their protocol and results, are in the repository (npm run bench).`,
  options: {
    backends: {
      value: "LIST",
      text: `with commas between them: ${BACKEND_NAMES.join(",")}. Default: those that can run, without emulated`,
    },
    seconds: { value: "S", text: "time for each case on each backend. Default 0.5" },
    small: { text: "small sizes" },
  },
  examples: ["surprisal bench", "surprisal bench --backends js,cpu --seconds 2 --json"],
  files: { least: 0, most: 0, what: "files" },
  run,
};

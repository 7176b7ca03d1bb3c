// The MPI libraries of this machine, and processes that they start. `node scripts/install-mpi.mjs` installs both of Debian's.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { tmpdir } from "node:os";
import { deserialize, serialize } from "node:v8";
import type * as surprisal from "../../lib";
import type { OpenedCollective, OpenCollectiveOptions } from "../../lib/collective";
import { distFile } from "./dist";
import { HANG_MS } from "./hang";

export interface Mpi {
  readonly name: "Open MPI" | "MPICH";
  readonly library: string;
  readonly program: string;
  /** Ranks outlive a rank that was killed, and each other's exit codes. */
  readonly survive: readonly string[];
  readonly more: readonly string[];
}

const KNOWN: readonly Mpi[] = [
  {
    name: "Open MPI",
    library: "libmpi.so.40",
    program: "mpirun.openmpi",
    survive: ["--enable-recovery"],
    more: ["--oversubscribe", "--allow-run-as-root", "--mca", "pml", "ob1", "--mca", "btl", "self,vader"],
  },
  { name: "MPICH", library: "libmpich.so.12", program: "mpirun.mpich", survive: ["-disable-auto-cleanup"], more: [] },
];

const onPath = (program: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));

const shim = existsSync(join(__dirname, "..", "..", "build-mpi", "libsurprisal_mpi.so"));

/** Whether both are here. */
export const bothMpis = shim && KNOWN.every(({ program }) => onPath(program));

/** Runs a suite with each MPI. One that is not here leaves a skipped test that says why. */
export function eachMpi(suite: (mpi: Mpi) => void): void {
  for (const mpi of KNOWN) {
    if (!shim) test.skip(`${mpi.name} is not tried: build-mpi/libsurprisal_mpi.so is not built`, () => undefined);
    else if (!onPath(mpi.program))
      test.skip(`${mpi.name} is not here: no ${mpi.program} (node scripts/install-mpi.mjs installs it)`, () =>
        undefined);
    else describe(mpi.name, () => suite(mpi));
  }
}

/** Travels as text: it sees its arguments and what a module of Node sees, nothing of the file it stands in. */
export type RankProgram<Input, T> = (collective: OpenedCollective, s: typeof surprisal, input: Input) => T | Promise<T>;

/** What became of a rank. */
interface Outcome<T> {
  readonly value?: T;
  readonly error?: { readonly code: string; readonly message: string };
}

export interface Ended<T> {
  readonly outcomes: readonly Outcome<T>[];
  readonly exitCode: number | null;
  readonly output: string;
}

export interface RunOptions extends Pick<OpenCollectiveOptions, "timeout" | "checked"> {
  /** Ranks outlive one that is killed. */
  readonly survive?: boolean;
  /** Without the launcher: one rank. */
  readonly alone?: boolean;
}

function bodyOf(folder: string, program: string, options: OpenCollectiveOptions): string {
  return `
const { readFileSync, writeFileSync, renameSync } = require("node:fs");
const { deserialize, serialize } = require("node:v8");
const surprisal = require(${JSON.stringify(distFile())});
const { openCollective } = require(${JSON.stringify(distFile("collective"))});
const collective = openCollective("mpi", ${JSON.stringify(options)});
const file = ${JSON.stringify(folder)} + "/" + collective.rank;
const leave = (outcome) => {
  writeFileSync(file + ".part", serialize(outcome));
  renameSync(file + ".part", file + ".out");
};
const refuse = (error) => {
  if (!(error instanceof surprisal.SurprisalError)) throw error;
  leave({ error: { code: error.code, message: error.message } });
};
(async () => (${program})(collective, surprisal, deserialize(readFileSync(file + ".in"))))()
  .then((value) => leave({ value }))
  .catch(refuse);`;
}

/** One process an input, rank by rank; resolves when the launcher has ended. */
export async function runProcesses<Input, T>(
  mpi: Mpi,
  inputs: readonly Input[],
  program: RankProgram<Input, T>,
  { survive = false, alone = false, ...options }: RunOptions = {},
): Promise<Ended<T>> {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-mpi-"));
  try {
    inputs.forEach((input, rank) => writeFileSync(join(folder, `${rank}.in`), serialize(input)));
    const script = join(folder, "rank.cjs");
    writeFileSync(script, bodyOf(folder, program.toString(), { timeout: 60_000, ...options }));
    const launcher = alone
      ? []
      : [mpi.program, ...mpi.more, ...(survive ? mpi.survive : []), "-n", String(inputs.length)];
    const [command, ...rest] = [...launcher, process.execPath, script];
    const child = spawn(command, rest, {
      env: { ...process.env, SURPRISAL_MPI: mpi.library, OMPI_MCA_pml: "ob1" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: HANG_MS,
    });
    let output = "";
    child.stdout.on("data", (text: Buffer) => (output += text.toString()));
    child.stderr.on("data", (text: Buffer) => (output += text.toString()));
    const exitCode = await new Promise<number | null>((done, fail) => {
      child.on("error", fail);
      child.on("close", done);
    });
    const outcomes = inputs.map((_, rank): Outcome<T> => {
      const file = join(folder, `${rank}.out`);
      return existsSync(file) ? (deserialize(readFileSync(file)) as Outcome<T>) : {};
    });
    return { outcomes, exitCode, output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The values of all ranks; a rank without one fails the test and says why. */
export async function valuesOfProcesses<Input, T>(
  mpi: Mpi,
  inputs: readonly Input[],
  program: RankProgram<Input, T>,
  options?: RunOptions,
): Promise<T[]> {
  const { outcomes, exitCode, output } = await runProcesses(mpi, inputs, program, options);
  if (exitCode !== 0) throw new Error(`exit code ${exitCode}: ${JSON.stringify(outcomes).slice(0, 500)}\n${output}`);
  return outcomes.map((outcome) => {
    if (!("value" in outcome)) throw new Error(`${JSON.stringify(outcomes).slice(0, 500)}\n${output}`);
    return outcome.value as T;
  });
}

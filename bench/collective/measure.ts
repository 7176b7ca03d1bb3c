// npx tsx bench/collective/measure.ts, on a quiet machine, or for seconds at a real-time priority (chrt -r 1): what calls of a collective take between processes of this machine, by each
// MPI that is installed, on two to four ranks. Writes bench/results/collective.json.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { delimiter, join } from "node:path";
import { machineFacts, root } from "../harness/machine";
import type { Timed } from "./rank";

const MPIS = [
  {
    name: "Open MPI",
    library: "libmpi.so.40",
    launcher: ["mpirun.openmpi", "--oversubscribe", "--allow-run-as-root", "--mca", "pml", "ob1"],
  },
  { name: "MPICH", library: "libmpich.so.12", launcher: ["mpirun.mpich"] },
] as const;

const RANKS = [2, 3, 4];

/** Launches of each; of a call the one with the least median counts, which other work has disturbed least. */
const LAUNCHES = 6;

export interface MeasuredCall extends Timed {
  readonly mpi: string;
  readonly ranks: number;
}

export interface Measured {
  readonly machine: ReturnType<typeof machineFacts>;
  /** How the system scheduled the ranks. */
  readonly policy: string;
  /** Of one minute, before and after. */
  readonly load: readonly number[];
  readonly calls: readonly MeasuredCall[];
}

const isHere = (program: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));

/** The 41st field of Linux's stat: what children inherit. */
function policyHere(): string {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)!.split(" ");
  return ["normal", "first in, first out", "round-robin"][Number(fields[38])] ?? "another";
}

function launch({ name, library, launcher }: (typeof MPIS)[number], ranks: number): MeasuredCall[] {
  const [command, ...rest] = launcher;
  const program = [process.execPath, "--import", "tsx", join(__dirname, "rank.ts")];
  const { status, stdout, stderr } = spawnSync(command, [...rest, "-n", String(ranks), ...program], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, SURPRISAL_MPI: library },
  });
  if (status !== 0) throw new Error(`${name} on ${ranks} ranks: ${stderr}`);
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => ({ mpi: name, ranks, ...(JSON.parse(line) as Timed) }));
}

function main(): void {
  const load = [loadavg()[0]!];
  const best = new Map<string, MeasuredCall>();
  for (const mpi of MPIS.filter(({ launcher }) => isHere(launcher[0])))
    for (let i = 0; i < LAUNCHES; ++i)
      for (const ranks of RANKS)
        for (const found of launch(mpi, ranks)) {
          const key = [found.mpi, found.ranks, found.call, found.bytes].join();
          const before = best.get(key);
          if (!before || found.median < before.median) best.set(key, found);
        }
  load.push(loadavg()[0]!);
  const measured: Measured = { machine: machineFacts(), policy: policyHere(), load, calls: [...best.values()] };
  writeFileSync(join(root, "bench/results/collective.json"), `${JSON.stringify(measured, null, 1)}\n`);
  for (const { mpi, ranks, call, bytes, median, fastest } of measured.calls)
    process.stdout.write(
      `${mpi}, ${ranks} ranks, ${call} of ${bytes} B: ${median.toFixed(0)} µs (fastest ${fastest.toFixed(0)})\n`,
    );
}

main();

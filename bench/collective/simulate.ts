// npx tsx bench/collective/simulate.ts: what calls take on more ranks than this machine has room for. Fits the simulation to
// bench/results/collective.json first, and says nothing further out where it is off by more than 30 % there.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../harness/machine";
import { fitted, sharesOf } from "./fit";
import { type Call, type Parameters, secondsOf } from "./machine";
import type { Measured } from "./measure";
import { callsOfStep, callsOfVocabulary } from "./step";

const WITHIN = 0.3;
const RANKS = [8, 64, 1024];

/** Latency of a message between two machines, and bytes a second that a rank has. Figures of the makers, not measured here. */
const NETWORKS = [
  { name: "200 Gb/s", latency: 2e-6, rate: 25e9 },
  { name: "400 Gb/s", latency: 2e-6, rate: 50e9 },
  { name: "NVLink, 450 GB/s", latency: 1e-6, rate: 450e9 },
] as const;

const WORK: readonly (readonly [name: string, calls: readonly Call[], most: number])[] = [
  ["a step of 64 rows a rank", callsOfStep(64), Infinity],
  ["a step of 1024 rows a rank", callsOfStep(1024), Infinity],
  ["log-probs of 4096 tokens, 19 008 columns a rank", callsOfVocabulary(4096, 19_008), 8],
];

export interface Prediction {
  readonly work: string;
  readonly network: string;
  readonly ranks: number;
  readonly calls: number;
  readonly milliseconds: number;
}

function predictions(here: Parameters): Prediction[] {
  return WORK.flatMap(([work, calls, most]) =>
    NETWORKS.flatMap(({ name, latency, rate }) =>
      RANKS.filter((ranks) => ranks <= most).map((ranks) => {
        // A rank has cores of its own there. Nothing is taken away: here the fit can't tell what a round and a byte cost on their way from
        // what they cost JavaScript, so there they cost a rank as much beside the network.
        const there = {
          cores: Infinity,
          wake: 0,
          handOff: here.handOff + here.round,
          copy: here.copy + here.byte,
          round: latency,
          byte: 1 / rate,
        };
        const seconds = calls.reduce((sum, call) => sum + secondsOf(call, ranks, there), 0);
        return { work, network: name, ranks, calls: calls.length, milliseconds: 1e3 * seconds };
      }),
    ),
  );
}

function main(): number {
  const file = join(root, "bench/results/collective.json");
  const measured = JSON.parse(readFileSync(file, "utf8")) as Measured;
  const fits = [...new Set(measured.calls.map(({ mpi }) => mpi))].map((mpi) => {
    const calls = measured.calls.filter((call) => call.mpi === mpi);
    const parameters = fitted(calls, measured.machine.cores);
    const shares = sharesOf(calls, parameters);
    calls.forEach(({ ranks, call, bytes, fastest }, i) =>
      process.stdout.write(
        `${mpi}, ${ranks} ranks, ${call} of ${bytes} B: ${fastest.toFixed(0)} µs measured, simulated ${(100 * shares[i]! - 100).toFixed(0)} % more\n`,
      ),
    );
    return { mpi, parameters, off: Math.max(...shares.map((share) => Math.abs(share - 1))) };
  });
  for (const { mpi, off, parameters } of fits)
    process.stdout.write(`${mpi}: within ${(100 * off).toFixed(0)} %, ${JSON.stringify(parameters)}\n`);
  const best = fits.reduce((a, b) => (b.off < a.off ? b : a));
  if (best.off > WITHIN) {
    process.stdout.write(`more than ${100 * WITHIN} % off: nothing is said of more ranks\n`);
    return 1;
  }
  const found = { of: best.mpi, fits, predictions: predictions(best.parameters) };
  writeFileSync(join(root, "bench/results/collective-predicted.json"), `${JSON.stringify(found, null, 1)}\n`);
  for (const { work, network, ranks, calls, milliseconds } of found.predictions)
    process.stdout.write(`${work}, ${network}, ${ranks} ranks: ${milliseconds.toFixed(2)} ms in ${calls} calls\n`);
  return 0;
}

process.exitCode = main();

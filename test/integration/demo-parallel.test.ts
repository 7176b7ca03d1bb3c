// The demo on two ranks: the trajectory of one, with the same global batch.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HANG_MS } from "../support/hang";
import { eachMpi, type Mpi } from "../support/mpi";

const root = join(__dirname, "..", "..");
const STEPS = 6;

interface Step {
  readonly step: number;
  readonly reward: number;
  readonly solved: number;
  readonly entropy: number;
}

interface Trained {
  readonly steps: readonly Step[];
  readonly parameters: Float32Array;
}

function trained(launcher: readonly string[], method: string, mpi?: Mpi): Trained {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-ranks-"));
  try {
    const file = join(folder, "parameters");
    // In the launcher's own process: MPICH hands it an open file.
    const program = ["--import", "tsx", join("examples", "demo", "parallel.ts"), method, "1", String(STEPS), file];
    const [command, ...rest] = [...launcher, process.execPath, ...program];
    const { status, stdout, stderr } = spawnSync(command!, rest, {
      cwd: root,
      encoding: "utf8",
      timeout: HANG_MS,
      env: { ...process.env, ...(mpi && { SURPRISAL_MPI: mpi.library, OMPI_MCA_pml: "ob1" }) },
    });
    if (status !== 0) throw new Error(`${command!} ended with ${status}\n${stdout}\n${stderr}`);
    const bytes = readFileSync(file);
    const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
    return {
      steps: lines.map((line) => JSON.parse(line) as Step),
      parameters: new Float32Array(new Uint8Array(bytes).buffer),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const known = new Map<string, Trained>();

function alone(method: string): Trained {
  const found = known.get(method) ?? trained([], method);
  known.set(method, found);
  return found;
}

eachMpi((mpi) => {
  // The gradient's sums over rows are cut in two: the float32 that the network's library gives differ in their last bits, and the
  // parameters with them. Tokens, and so rewards, are the same; 2e-5 is what docs/demo.md states for a run of this length.
  test.each(["grpo", "empg", "maxent"])(
    "%s",
    (method) => {
      const one = alone(method);
      const two = trained([mpi.program, ...mpi.more, "-n", "2"], method, mpi);
      expect(one.steps).toHaveLength(STEPS);
      expect(two.steps.map(({ step }) => step)).toEqual(one.steps.map(({ step }) => step));
      for (const name of ["reward", "solved"] as const)
        expect(two.steps.map((step) => step[name])).toBeAllClose(
          one.steps.map((step) => step[name]),
          { rtol: 1e-12, atol: 1e-12 },
        );
      expect(two.steps.map(({ entropy }) => entropy)).toBeAllClose(
        one.steps.map(({ entropy }) => entropy),
        { rtol: 2e-5, atol: 2e-5 },
      );
      expect(two.parameters).toBeAllClose(one.parameters, { rtol: 2e-5, atol: 2e-5 });
    },
    HANG_MS,
  );
});

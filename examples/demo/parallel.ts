// One run, data-parallel: mpirun -n 2 node --import tsx examples/demo/parallel.ts METHOD SEED STEPS [FILE]
//
// Every rank has its share of the prompts of each step; gradients are added up over the ranks. Rank 0 prints a line of JSON a step, and
// leaves the parameters in FILE. Started without mpirun it is one rank, with the same global batch.
import { writeFileSync } from "node:fs";
import { openCollective } from "../../lib/collective";
import { METHOD_NAMES } from "./methods";
import { startJax } from "./network";
import { train } from "./train";

const LAUNCHED = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_NTASKS"];

async function main([name, seed, steps, file]: readonly string[]): Promise<void> {
  const method = METHOD_NAMES.find((one) => one === name);
  if (!method || !(Number(seed) >= 0) || !(Number(steps) > 0)) {
    process.stderr.write(`parallel: METHOD SEED STEPS [FILE], METHOD one of ${METHOD_NAMES.join(", ")}\n`);
    process.exitCode = 2;
    return;
  }
  const collective = openCollective(LAUNCHED.some((variable) => process.env[variable]) ? "mpi" : "single");
  await startJax();
  const first = collective.rank === 0;
  const run = { method, seed: Number(seed), steps: Number(steps), collective };
  const parameters = await train(run, ({ step, reward, solved, entropy }) => {
    if (first) process.stdout.write(`${JSON.stringify({ step, reward, solved, entropy })}\n`);
  });
  if (first && file !== undefined) writeFileSync(file, parameters);
  collective.close();
}

void main(process.argv.slice(2));

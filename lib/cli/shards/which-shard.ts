// Which shard this process is: as --shard says, or as what started the process says in its environment.
import type { Call, OptionSpecs } from "../shell/command";
import { UsageError } from "../shell/exit-codes";

export const SHARD_OPTIONS: OptionSpecs = {
  shard: {
    value: "I/N",
    text: "compute part I (0 … N − 1) of N; N alone or auto: I, or both, from Slurm, Kubernetes or MPI; mpi: all parts in one job",
  },
  "shard-folder": {
    value: "FOLDER",
    text: "where parts wait for surprisal merge. Default: the output's name with .shards behind it",
  },
};

/** Which part of how many, alone; or all parts at once, as ranks of an MPI job. */
export type Which =
  | { readonly kind: "part"; readonly index: number; readonly count: number }
  | { readonly kind: "mpi" };

type Environment = Call["env"];

/** A whole number from 0 on in the environment. */
function numberIn(env: Environment, name: string): number | undefined {
  const text = env[name];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Slurm's arrays may begin anywhere and skip numbers: --array=10-40:10 has the parts 0 … 3. */
function slurmIndex(env: Environment): number | undefined {
  const id = numberIn(env, "SLURM_ARRAY_TASK_ID");
  if (id === undefined) return undefined;
  const step = Math.max(1, numberIn(env, "SLURM_ARRAY_TASK_STEP") ?? 1);
  return (id - (numberIn(env, "SLURM_ARRAY_TASK_MIN") ?? 0)) / step;
}

const indexIn = (env: Environment): number | undefined =>
  slurmIndex(env) ??
  numberIn(env, "JOB_COMPLETION_INDEX") ??
  numberIn(env, "OMPI_COMM_WORLD_RANK") ??
  numberIn(env, "PMI_RANK");

/** Ranks of the MPI job that this process is of, as its launcher says. */
const ranksIn = (env: Environment): number | undefined =>
  numberIn(env, "OMPI_COMM_WORLD_SIZE") ?? numberIn(env, "PMI_SIZE");

const countIn = (env: Environment): number | undefined => numberIn(env, "SLURM_ARRAY_TASK_COUNT") ?? ranksIn(env);

const WANT = "I/N with I from 0 to N − 1, N, auto or mpi";

function refused(text: string, why: string): UsageError {
  return new UsageError(`--shard is "${text}", ${why}; expected ${WANT}`, { name: "--shard", got: text, want: WANT });
}

function needIndex(text: string, index: number | undefined, count: number): number {
  if (index === undefined)
    throw refused(text, "and neither SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX nor a rank of MPI says which part");
  if (Number.isInteger(index) && index >= 0 && index < count) return index;
  throw refused(text, `and the part is ${index} of ${count}`);
}

/** undefined: the whole work, in this process. */
export function whichShard({ args, env }: Pick<Call, "args" | "env">): Which | undefined {
  const text = args.text("shard");
  // Ranks that know nothing of each other would all write the same file.
  if (text === undefined) return (ranksIn(env) ?? 1) > 1 ? { kind: "mpi" } : undefined;
  if (text === "mpi") return { kind: "mpi" };
  const [, first, second] = /^(?:(\d+)\/)?(\d+)$/.exec(text) ?? [];
  const count = second === undefined ? undefined : Number(second);
  if (text === "auto") {
    const found = countIn(env);
    if (found === undefined || found === 0)
      throw refused(text, "and neither SLURM_ARRAY_TASK_COUNT nor MPI says how many parts there are");
    return { kind: "part", index: needIndex(text, indexIn(env), found), count: found };
  }
  if (count === undefined || count < 1) throw refused(text, "which is no part");
  return { kind: "part", index: needIndex(text, first === undefined ? indexIn(env) : Number(first), count), count };
}

// Opening a collective by the name of what carries it.
import type { Collective } from "../core/collective";
import { optionError } from "../core/errors";
import { needFlag, needNumber, needWord } from "../core/option-checks";
import { Stream } from "../core/stream";
import { openMpi } from "./mpi";
import { openNccl } from "./nccl";
import type { DeviceCollective, OpenedCollective } from "./opened";
import type { CollectiveHandle } from "./shared-memory";
import { openSingle } from "./single";
import { openWorkers } from "./workers";

const KINDS = ["single", "workers", "mpi", "nccl"] as const satisfies readonly OpenedCollective["kind"][];

export interface OpenCollectiveOptions {
  /** "workers", needed: this rank's ticket, which createCollective made. */
  readonly handle?: CollectiveHandle;
  /** "mpi", "nccl": milliseconds after which a rank stops waiting for others, > 0; Infinity: never. Default 600000, ten minutes. */
  readonly timeout?: number;
  /**
   * "mpi", "nccl": every call begins with a message of 64 bytes a rank that says what it is, so that calls that differ and ranks that
   * end are told apart from ranks that are slow. Arrays of up to 32 bytes travel with it. The same on all ranks. Default true.
   */
  readonly checked?: boolean;
  /**
   * Name or path of the library. A process has one. Default: of "mpi" `SURPRISAL_MPI` of the environment, else the first of
   * libmpi_abi.so, libmpi.so.40 (Open MPI), libmpi.so.12 and libmpich.so.12 (MPICH) that there is; of "nccl" `SURPRISAL_NCCL`, else
   * libnccl.so.2.
   */
  readonly library?: string;
  /**
   * "nccl", needed: a collective of the same ranks, by which they learn of each other; sub-groups and `close({ abort: true })` use it
   * too, so it stays open.
   */
  readonly through?: Collective;
  /** "nccl": the stream whose device this rank has, and on which it copies. Default: that of CUDA's device. Each rank has its own GPU. */
  readonly stream?: Stream;
}

/** The options that a kind takes. */
const TAKES: Readonly<Record<OpenedCollective["kind"], readonly (keyof OpenCollectiveOptions)[]>> = {
  single: [],
  workers: ["handle"],
  mpi: ["timeout", "checked", "library"],
  nccl: ["timeout", "checked", "library", "through", "stream"],
};

/**
 * Opens this rank's end of a collective, in the thread that calls.
 *
 *     "single"    this rank alone: programs that take a collective run with it as they are
 *     "workers"   threads of one process, each with a handle of createCollective; once for each handle
 *     "mpi"       processes that mpirun or srun started; a process started alone is one rank. All ranks open it
 *     "nccl"      the ranks of another collective, each with a GPU of its own: its calls take DeviceArrays too
 *
 * Calls wait until every rank makes theirs; the forms that end in Async leave the event loop free meanwhile. They throw
 *
 *     ERR_SURPRISAL_COLLECTIVE_MISMATCH   on all ranks, when ranks make different calls; the collective goes on
 *     ERR_SURPRISAL_COLLECTIVE_LOST       when a rank ended, threw or closed instead, or MPI or NCCL failed
 *     ERR_SURPRISAL_COLLECTIVE_TIMEOUT    when a rank did not come in time
 *
 * After a loss or a time-out the collective is at its end, and every later call throws at once. Messages number ranks as the
 * whole collective does.
 *
 * @throws SurprisalError ERR_SURPRISAL_OPTION for an unknown kind, an option of another kind, or a rank that is taken;
 *   ERR_SURPRISAL_COLLECTIVE_LIBRARY where there is no MPI or NCCL; ERR_SURPRISAL_COLLECTIVE_TIMEOUT where other ranks do not open it
 */
export function openCollective(kind: "nccl", options: OpenCollectiveOptions): DeviceCollective;
export function openCollective(kind: OpenedCollective["kind"], options?: OpenCollectiveOptions): OpenedCollective;
export function openCollective(kind: OpenedCollective["kind"], options: OpenCollectiveOptions = {}): OpenedCollective {
  const op = "openCollective";
  const name = KINDS[needWord(op, "kind", kind, KINDS)]!;
  for (const [option, value] of Object.entries(options))
    if (value !== undefined && !TAKES[name].includes(option as keyof OpenCollectiveOptions))
      throw optionError(op, option, value, `no such option with "${name}"`);
  if (name === "single") return openSingle();
  if (name === "workers") return openWorkers(options.handle);
  const timeout = needNumber(op, "timeout", options.timeout ?? 600_000, { min: 0, above: true, infinite: true });
  const checked = needFlag(op, "checked", options.checked ?? true) === 1;
  const { library } = options;
  if (library !== undefined && typeof library !== "string")
    throw optionError(op, "library", library, "the name or the path of a library");
  if (name === "mpi") return openMpi({ timeout, checked, library });
  const { through, stream } = options;
  if (typeof through?.allGather !== "function")
    throw optionError(op, "through", through, "a collective of the same ranks");
  if (stream !== undefined && !(stream instanceof Stream))
    throw optionError(op, "stream", stream, "what createStream() gave");
  const file = library ?? (process.env["SURPRISAL_NCCL"] || "libnccl.so.2");
  return openNccl({ through, stream, timeout, checked, library: file });
}

// Which NCCL the ranks have: all must have the same one, or none of them goes on.
import type { Collective } from "../core/collective";
import { SurprisalError } from "../core/errors";

const textOf = (code: number): string => `${Math.floor(code / 10_000)}.${Math.floor(code / 100) % 100}.${code % 100}`;

export function refuseLibrary(reason: string): never {
  const next =
    'install NCCL 2.14 or newer (the wheels of PyTorch bring it), name it by `library` or SURPRISAL_NCCL, or open "mpi"';
  throw new SurprisalError(
    "ERR_SURPRISAL_COLLECTIVE_LIBRARY",
    `openCollective: NCCL cannot be used here: ${reason}; ${next}`,
    { op: "openCollective", name: "library", reason },
  );
}

/**
 * The version that all ranks have, as a text.
 *
 * @param version of this rank; 0: none
 * @param reason why this rank has none
 */
export function versionsOfAll(through: Collective, version: number, reason: string): string {
  const versions = through.allGather(Int32Array.of(version)).map((one) => one[0]!);
  if (version === 0) return refuseLibrary(reason);
  const unable = versions.indexOf(0);
  if (unable >= 0) return refuseLibrary(`rank ${unable} has none, and says why`);
  const other = versions.findIndex((one) => one !== versions[0]);
  if (other >= 0)
    return refuseLibrary(
      `rank 0 has NCCL ${textOf(versions[0]!)}, rank ${other} ${textOf(versions[other]!)}, and one job needs one version`,
    );
  return `NCCL ${textOf(version)}`;
}

// What a part has done, and of what: a retry of the same work does nothing twice, and parts of different work are not put together.
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { SurprisalError } from "../../core/errors";
import { writeAtomically } from "../../io/atomic-file";
import type { Call } from "../shell/command";
import { version } from "../version";
import { sizesOf } from "./plan";

/** A file, and what was in it. */
interface Content {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** What all parts of the same work have in common. */
export interface Job {
  readonly surprisal: string;
  readonly command: string;
  readonly flags: Readonly<Record<string, unknown>>;
  readonly backend: string | null;
  readonly files: readonly (readonly [name: string, bytes: number])[];
  readonly count: number;
}

export interface Manifest {
  readonly job: Job;
  readonly index: number;
  /** What was read here. */
  readonly inputs: readonly Content[];
  /** A hash of job, index and inputs. */
  readonly identity: string;
  /** The parts that have rollouts. */
  readonly members: readonly number[];
  /** From 1 on. */
  readonly pass: number;
  /** Calls of this pass that had answers. */
  readonly answered: number;
  /** All had: the results hold, if those of all parts do. */
  readonly settled: boolean;
  /** Hash of the answers that this pass worked with. */
  readonly base: string | null;
  readonly rollouts: (Content & { readonly total: number }) | null;
}

/** What says how a command is to answer, not what. */
const ASIDE = ["json", "quiet", "shard", "shard-folder"];

export async function jobOf(command: string, { args, env }: Call, count: number): Promise<Job> {
  const sizes = await sizesOf(args.files);
  return {
    surprisal: version(),
    command,
    flags: args.but(ASIDE),
    backend: env["SURPRISAL_BACKEND"] ?? null,
    files: args.files.map((file, i) => [file, sizes[i]!] as const),
    count,
  };
}

export async function contentOf(file: string): Promise<Content> {
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    for await (const piece of createReadStream(file, { highWaterMark: 2 ** 20 }) as AsyncIterable<Buffer>) {
      hash.update(piece);
      bytes += piece.length;
    }
  } catch (cause) {
    throw new SurprisalError(
      "ERR_SURPRISAL_FILE",
      `${file} cannot be read: ${(cause as Error).message}`,
      { name: file },
      { cause },
    );
  }
  return { name: file, bytes, sha256: hash.digest("hex") };
}

export function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

export const readManifest = (file: string): Manifest | undefined =>
  existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Manifest) : undefined;

export async function writeManifest(file: string, manifest: Manifest): Promise<void> {
  await writeAtomically("surprisal", file, (target) => target.write(`${JSON.stringify(manifest, null, 2)}\n`));
}

/** Whether the rollouts that a manifest speaks of are still there, as long as they were. */
export function hasRollouts({ rollouts }: Manifest): boolean {
  return rollouts === null || statSync(rollouts.name, { throwIfNoEntry: false })?.size === rollouts.bytes;
}

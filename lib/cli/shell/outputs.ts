// Files that are whole or not there: each is written beside its place under another name and renamed when all is done.
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, open, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { pipeline } from "node:stream/promises";
import { SurprisalError } from "../../core/errors";
import { type Destination, destinationOf, unfinishedName } from "../../core/unfinished-file";
import { EXIT } from "./exit-codes";
import { Stopped } from "./host";

interface Output {
  readonly given: string;
  readonly target: string;
  readonly temporary: string;
  /** A pipe or a device: nothing can be renamed over it. */
  readonly special: boolean;
  readonly mode?: number;
}

/** "-" */
const STDOUT = "-";

/** The place a file goes to, without links, and what is there already. */
function locate(given: string): Pick<Output, "target" | "special" | "mode"> {
  if (given === STDOUT) return { target: "stdout", special: true };
  let place: Destination;
  try {
    place = destinationOf(given);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT")
      throw refused(given, (error as Error).message, "a file", error);
    throw refused(given, `there is no folder ${path.dirname(path.resolve(given))}`, "a file in a folder that exists");
  }
  const { path: target, stats } = place;
  if (stats?.isDirectory() === true) throw refused(given, "it is a folder", "a file");
  return stats ? { target, special: !stats.isFile(), mode: stats.mode & 0o7777 } : { target, special: false };
}

function refused(given: string, why: string, want: string, cause?: unknown): SurprisalError {
  const options = cause === undefined ? undefined : { cause };
  return new SurprisalError("ERR_SURPRISAL_FILE", `${given} cannot be written: ${why}`, { name: given, want }, options);
}

/**
 * A file to standard output, as fast as its reader takes it. Through the process's own stream: the descriptor of a pipe does not
 * block, and refuses what a slow reader has no room for.
 */
async function pourOut(file: string): Promise<void> {
  for await (const bytes of createReadStream(file))
    await new Promise<void>((done, fail) => {
      process.stdout.write(bytes as Uint8Array, (error) => (error ? fail(error) : done()));
    });
}

/** The outputs of one command. */
export class Outputs {
  private readonly files: Output[] = [];

  /**
   * A name to write to in place of `given`: in the same folder, with the same ending, hidden. Refused at once, before any
   * work, where the place cannot be written. "-" is standard output.
   */
  async add(given: string): Promise<string> {
    const place = locate(given);
    const beside = place.special ? path.join(tmpdir(), path.basename(place.target)) : place.target;
    const temporary = unfinishedName(beside);
    this.files.push({ given, temporary, ...place });
    try {
      await (await open(temporary, "wx")).close();
    } catch (cause) {
      throw new SurprisalError(
        "ERR_SURPRISAL_FILE",
        `${given} cannot be written: ${(cause as Error).message}`,
        { name: given },
        { cause },
      );
    }
    return temporary;
  }

  /** What was asked for, in order. */
  get names(): readonly string[] {
    return this.files.map(({ given }) => given);
  }

  /** Puts all of them in place. On disk before renamed: a crash of the machine leaves the old file or the new one. */
  async commit(): Promise<void> {
    for (const { temporary, mode, special } of this.files) {
      if (special) continue;
      if (mode !== undefined) await chmod(temporary, mode);
      const handle = await open(temporary, "r+");
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    }
    for (const output of this.files) {
      if (output.special) await this.pour(output);
      else await rename(output.temporary, output.target);
    }
    await this.discard();
  }

  /** Whether standard output carries a file. */
  get standardOutput(): boolean {
    return this.files.some(({ given }) => given === STDOUT);
  }

  private async pour({ given, temporary, target }: Output): Promise<void> {
    try {
      if (target === "stdout") await pourOut(temporary);
      else await pipeline(createReadStream(temporary), createWriteStream(target));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "EPIPE") throw new Stopped("standard output was closed", EXIT.closedPipe);
      throw refused(given === STDOUT ? "standard output" : given, message, "a place that takes it", error);
    }
  }

  /** Removes what is not in place. */
  async discard(): Promise<void> {
    for (const { temporary } of this.files) await rm(temporary, { force: true });
  }
}

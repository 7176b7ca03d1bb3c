// A folder as one file that is small because like lies near like: the same kernel for seven architectures, golden cases side by
// side. Gzip sees 32 KB back, brotli here 16 MB. unpack.cjs is the other way round.

import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { constants, createBrotliCompress } from "node:zlib";

const WINDOW_BITS = 24;

/** What tar is told for the same bytes of the same files. */
export const SORTED = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner"];

/** Packs PARENT/NAME as FILE. `quality`: brotli's, 0 to 11. */
export async function packFolder(parent, name, file, quality) {
  const tar = spawn("tar", [...SORTED, "-cf", "-", "-C", parent, name], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(tar, "close");
  const brotli = createBrotliCompress({
    params: { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS },
  });
  await pipeline(tar.stdout, brotli, createWriteStream(file));
  const [status] = await ended;
  if (status !== 0) throw new Error(`tar ended with ${status} on ${parent}/${name}`);
}

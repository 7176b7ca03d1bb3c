// The tarball as npm would publish it, in a folder of its own.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "./build/paths.mjs";
import { run } from "./build/run.mjs";

/** Packs, hands over { tarball, files } and removes everything again. */
export async function withTarball(work) {
  const folder = mkdtempSync(join(tmpdir(), "surprisal-pack-"));
  try {
    const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
    const { stdout } = await run("npm pack", "npm", args, { cwd: root });
    const [{ files }] = JSON.parse(stdout);
    const [tarball] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
    return await work({ tarball: join(folder, tarball), files: files.map((file) => file.path), folder });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

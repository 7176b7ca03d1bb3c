// Programs that import the scripts of the ledger, which are ES modules.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const root = join(__dirname, "..", "..");

/** A literal to import, of a file of scripts/ledger. */
export const script = (name: string): string => JSON.stringify(pathToFileURL(join(root, "scripts/ledger", name)).href);

/** What a program prints as JSON. */
export function run(program: string): unknown {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

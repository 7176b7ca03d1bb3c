// The peers from npm: installed on demand below bench/peers, never into the package.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const HOW = "npm ci --ignore-scripts --prefix bench/peers";

let refusal: string | undefined;

/** Installs what bench/peers/package-lock.json lists, without scripts: some of them would download more. */
export function installPeers(say: (text: string) => void): void {
  if (existsSync(join(__dirname, "node_modules"))) return;
  say(`peers: ${HOW}`);
  const { status, stderr } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: __dirname,
    encoding: "utf8",
  });
  if (status !== 0) refusal = stderr.trim().split("\n").at(-1) ?? "npm ci failed";
}

/** A module of bench/peers/node_modules with its version, or why there is none. */
export function loadInstalled(
  name: string,
): { readonly module: unknown; readonly version: string } | { readonly reason: string } {
  const load = createRequire(join(__dirname, "package.json"));
  try {
    const { version } = load(join(__dirname, "node_modules", name, "package.json")) as { version: string };
    return { module: load(name), version };
  } catch (error) {
    const text = error instanceof Error ? error.message.split("\n", 1)[0]! : String(error);
    return { reason: `${refusal ?? text}; to get it: ${HOW}` };
  }
}

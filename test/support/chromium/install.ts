// A Chromium to test with: one that is there, else Debian's package where this process may install it.
import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export type Chromium = { readonly path: string } | { readonly missing: string };

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

function onPath(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** What happened at the last line that apt printed. */
function apt(...args: readonly string[]): void {
  execFileSync("apt-get", args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    timeout: 240_000,
  });
}

function install(): string | undefined {
  if (process.getuid?.() !== 0) return "not root, so it cannot be installed";
  if (onPath(["apt-get"]) === undefined) return "no apt-get to install it with";
  process.stderr.write("installing Debian's chromium for the tests of the report\n");
  try {
    apt("update", "-qq");
    apt("install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core");
    return undefined;
  } catch (error) {
    const { stderr } = error as { stderr?: Buffer };
    return `apt-get failed: ${String(stderr ?? error)
      .trim()
      .split("\n")
      .at(-1)}`;
  }
}

/** SURPRISAL_CHROMIUM names one; "none" says to do without. */
export function findChromium(): Chromium {
  const named = process.env.SURPRISAL_CHROMIUM;
  if (named === "none") return { missing: "SURPRISAL_CHROMIUM is none" };
  const found = named ?? onPath(NAMES);
  if (found !== undefined) return { path: found };
  const reason = install();
  const installed = onPath(NAMES);
  return installed === undefined
    ? { missing: `no Chromium here; ${reason ?? "apt-get installed none"}` }
    : { path: installed };
}

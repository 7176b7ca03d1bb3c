// Another revision of this tree, built in a worktree of its own.
import { existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { git, root } from "./machine";

export interface Revision {
  readonly commit: string;
  /** Where its dist/ and build/ are. */
  readonly folder: string;
  readonly remove: () => void;
}

/** Checks REV out beside this tree and builds it with the dependencies that are installed here. */
export function buildRevision(revision: string): Revision {
  const commit = git("rev-parse", "--short=12", `${revision}^{commit}`);
  const folder = mkdtempSync(join(tmpdir(), "surprisal-against-"));
  const remove = (): void => {
    spawnSync("git", ["worktree", "remove", "--force", folder], { cwd: root });
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", remove);
  git("worktree", "add", "--detach", folder, commit);
  if (!existsSync(join(folder, "node_modules"))) symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const { status } = spawnSync(process.execPath, [join(folder, "scripts", "build.mjs"), "dist", "addon"], {
    cwd: folder,
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0) throw new Error(`${commit} does not build`);
  return { commit, folder, remove };
}

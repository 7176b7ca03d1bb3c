// Files of dist/, for suites that start a process with them.
import { join } from "node:path";

/**
 * The path of a built file.
 *
 * @throws where dist/ is not made of lib/ as it is
 */
export function distFile(...path: readonly string[]): string {
  if ((globalThis as { DIST_IS_STALE?: boolean }).DIST_IS_STALE === true)
    throw new Error("dist is older than lib, and this suite runs dist: npm run build -- dist");
  return join(__dirname, "..", "..", "dist", ...path);
}

// Optional packages, which users install themselves.
import { join } from "node:path";

import { SurprisalError } from "./errors";
import { requireFrom, requireHere } from "./package-root";

/**
 * Where the file that `specifier` names lies: beside this package, or from the working directory.
 *
 * @throws SurprisalError ERR_SURPRISAL_PEER_MISSING that says what to install
 */
export function locatePeer(op: string, specifier: string, version: string): string {
  const name = specifier.startsWith("@") ? specifier.split("/").slice(0, 2).join("/") : specifier.split("/")[0]!;
  let cause: unknown;
  for (const base of [requireHere, () => requireFrom(join(process.cwd(), "package.json"))]) {
    try {
      return base().resolve(specifier);
    } catch (error) {
      cause ??= error;
    }
  }
  const message = `${op}: needs the package ${name}, which is not installed; npm install ${name}@${version}`;
  throw new SurprisalError("ERR_SURPRISAL_PEER_MISSING", message, { op, name }, { cause });
}

/** What that file exports. The caller says its type. */
export function loadPeer(op: string, specifier: string, version: string): unknown {
  const path = locatePeer(op, specifier, version);
  return requireHere()(path);
}

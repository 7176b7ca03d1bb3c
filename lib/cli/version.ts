// The version of this package, from its manifest.
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { packageRoot } from "../core/package-root";

export function version(): string {
  const manifest = JSON.parse(readFileSync(path.join(packageRoot(), "package.json"), "utf8")) as {
    readonly version: string;
  };
  return manifest.version;
}

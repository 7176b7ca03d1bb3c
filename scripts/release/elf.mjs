// What a shared library of Linux asks of others and offers, as readelf tells it.

import { run } from "../build/run.mjs";

/** "2.17" → [2, 17]; names of other versions are undefined. */
function numbers(version) {
  const found = /^(?:GLIBC_)?(\d+)\.(\d+)(?:\.(\d+))?$/.exec(version);
  return found?.slice(1).map((part) => Number(part ?? 0));
}

/** Whether a version of glibc is newer than another. */
export function isNewer(version, than) {
  const [a, b] = [numbers(version), numbers(than)];
  const at = a.findIndex((part, i) => part !== b[i]);
  return at >= 0 && a[at] > b[at];
}

/** Its dynamic symbols: { name, type, weak, needed, version }; `glibc`: whether the version is one of glibc. */
export async function symbolsOf(file) {
  const { stdout } = await run(`reading ${file}`, "readelf", ["--wide", "--dyn-syms", file]);
  return stdout.split("\n").flatMap((line) => {
    const found = /^\s*\d+: \S+\s+\S+\s+(\w+)\s+(\w+)\s+\w+\s+(\w+)\s+([^\s@]+)@{0,2}(\S+)?/.exec(line);
    if (!found) return [];
    const [, type, binding, section, name, version] = found;
    const glibc = version !== undefined && numbers(version) !== undefined;
    return [{ name, type, weak: binding === "WEAK", needed: section === "UND", version, glibc }];
  });
}

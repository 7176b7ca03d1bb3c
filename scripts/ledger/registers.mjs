// Registers of each kernel by architecture. ptxas says them of the architectures that it compiled: a release has all, while working
// there is one. native/cuda/registers.json keeps what the last build of all said.

import { LIMITS } from "./occupancy.mjs";
import { plainName } from "./names.mjs";

/** What every build has. */
export const BASE = "sm_90";
const ARCHS = Object.keys(LIMITS);

/** The most that an instantiation takes, by kernel and architecture; undefined where one was not compiled. */
export function registersOf(resources) {
  const table = {};
  for (const { name, arch, registers } of resources.filter((kernel) => ARCHS.includes(kernel.arch))) {
    const row = (table[plainName(name)] ??= Object.fromEntries(ARCHS.map((key) => [key, 0])));
    row[arch] = Math.max(row[arch], registers);
  }
  const rows = Object.values(table);
  const all = rows.length > 0 && rows.every((row) => ARCHS.every((arch) => row[arch] > 0));
  return all ? Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1))) : undefined;
}

/** By architecture: what was kept, as long as the kernel takes as many on BASE as it did then; else those of BASE for all. */
export function keptOr(kept, name, base) {
  return kept[name]?.[BASE] === base ? kept[name] : Object.fromEntries(ARCHS.map((arch) => [arch, base]));
}

// Registers and spills of each kernel by architecture. ptxas says them of the architectures that it compiled: a release has all,
// while working there is one. native/cuda/registers.json keeps what ptxas last said of all.

import { LIMITS } from "./occupancy.mjs";
import { plainName } from "./names.mjs";

/** What every build has. */
export const BASE = "sm_90";
export const ARCHS = Object.keys(LIMITS);
export const REGISTERS_FILE = "native/cuda/registers.json";

/** {spills, kernels: the most registers of an instantiation, by kernel and architecture}; undefined where one was not compiled. */
export function registersOf(resources) {
  const table = {};
  let spills = 0; // bytes
  for (const kernel of resources.filter(({ arch }) => ARCHS.includes(arch))) {
    const row = (table[plainName(kernel.name)] ??= Object.fromEntries(ARCHS.map((key) => [key, 0])));
    row[kernel.arch] = Math.max(row[kernel.arch], kernel.registers);
    spills += kernel.spillStores + kernel.spillLoads;
  }
  const rows = Object.values(table);
  const all = rows.length > 0 && rows.every((row) => ARCHS.every((arch) => row[arch] > 0));
  const kernels = Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)));
  return all ? { spills, kernels } : undefined;
}

/** What is wrong with what was kept, in words: kernels that it lacks, or that are gone, and spills. */
export function faultsOfRegisters(entries, { spills, kernels }) {
  const renew = "npm run ledger -- --all-architectures";
  const missing = Object.keys(entries).filter((name) => !ARCHS.every((arch) => kernels[name]?.[arch] > 0));
  const gone = Object.keys(kernels).filter((name) => !entries[name]);
  return [
    ...missing.map((name) => `${REGISTERS_FILE}: ${name} is missing, or one of its architectures; ${renew}`),
    ...gone.map((name) => `${REGISTERS_FILE}: ${name} is gone; ${renew}`),
    ...(spills > 0 ? [`${REGISTERS_FILE}: kernels spill ${spills} bytes of registers`] : []),
  ];
}

/** By architecture: what was kept, as long as the kernel takes as many on BASE as it did then; else those of BASE for all. */
export function keptOr({ kernels }, name, base) {
  return kernels[name]?.[BASE] === base ? kernels[name] : Object.fromEntries(ARCHS.map((arch) => [arch, base]));
}

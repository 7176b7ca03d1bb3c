// npm run ledger: writes docs/cuda.md, and native/cuda/counts.json where cuobjdump is (scripts/ledger/cuobjdump.mjs). Behind a release
// build, or with --all-architectures, which compiles for those that the last build lacks (four minutes of a core each, less where
// sources are as they were), also native/cuda/registers.json. With --check it writes nothing. Exits 1 where a comment above a kernel
// lacks what the ledger needs, where a loop has more instructions than its entry allows or was counted in another source, where a
// kernel spills or has no registers on file, or, checking, where the page is not what it would write.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { at, filesBelow, shown } from "./build/paths.mjs";
import { findNvcc } from "./build/tools.mjs";
import { COUNTS_FILE, countLoops, faultsOfCounts, keptCounts } from "./ledger/counts.mjs";
import { resourcesFor } from "./ledger/cubins.mjs";
import { findCuobjdump } from "./ledger/cuobjdump.mjs";
import { readLedger } from "./ledger/entries.mjs";
import { plainName } from "./ledger/names.mjs";
import { page } from "./ledger/page.mjs";
import { ARCHS, faultsOfRegisters, REGISTERS_FILE, registersOf } from "./ledger/registers.mjs";
import { sourceHashes } from "./ledger/sources.mjs";

const resources = at("build-cuda/resources.json");
if (!existsSync(resources)) {
  console.error("ledger: no build-cuda/resources.json; npm run build:cuda");
  process.exit(1);
}
const kernels = JSON.parse(readFileSync(resources, "utf8"));
const { entries, faults } = readLedger();
const unknown = kernels.filter(({ name }) => !(plainName(name) in entries));
for (const { name } of unknown)
  faults.push(`${name} is in ${shown(resources)} and not in native/cuda; npm run build:cuda`);
endWith(faults);
const checks = process.argv.includes("--check");
const cuobjdump = checks || !findNvcc() ? undefined : await findCuobjdump();
const counts = cuobjdump ? await countLoops(entries, cuobjdump) : keptCounts();
if (!checks && !cuobjdump)
  console.log(
    `ledger: no nvcc, or no cuobjdump (SURPRISAL_CUOBJDUMP, PATH, a Triton of python3): instructions are those of ${COUNTS_FILE}`,
  );
const all = process.argv.includes("--all-architectures") ? await withAllArchitectures() : kernels;
const registers = registersOf(all) ?? JSON.parse(readFileSync(at(REGISTERS_FILE), "utf8"));
endWith([...faultsOfCounts(entries, counts), ...faultsOfRegisters(entries, registers)]);
const text = page(kernels, entries, registers, counts);
if (checks) {
  const stale = !existsSync(at("docs/cuda.md")) || readFileSync(at("docs/cuda.md"), "utf8") !== text;
  if (stale) console.error("ledger: docs/cuda.md is stale; npm run ledger");
  process.exitCode = stale ? 1 : 0;
} else {
  writeFileSync(at(REGISTERS_FILE), `${JSON.stringify(registers, null, 2)}\n`);
  writeFileSync(at(COUNTS_FILE), `${JSON.stringify(counts, null, 2)}\n`);
  writeFileSync(at("docs/cuda.md"), text);
  console.log(`ledger: docs/cuda.md, ${kernels.length} kernels`);
}

function endWith(faults) {
  if (faults.length === 0) return;
  console.error(faults.join("\n"));
  process.exit(1);
}

/** The kernels of the build, and those of the architectures that it lacks. */
async function withAllArchitectures() {
  const built = new Set(kernels.map(({ arch }) => arch));
  const files = filesBelow("native/cuda", [".cu"]).map(shown);
  const others = [];
  for (const arch of ARCHS.filter((one) => !built.has(one)))
    others.push(...(await resourcesFor(arch, files, sourceHashes())));
  return [...kernels, ...others];
}

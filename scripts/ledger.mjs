// npm run ledger: writes docs/cuda.md, native/cuda/counts.json where cuobjdump is (on PATH, or named by SURPRISAL_CUOBJDUMP), and
// behind a release build native/cuda/registers.json. With --check it writes nothing. Exits 1 where a comment above a kernel lacks
// what the ledger needs, where a loop has more instructions than its entry allows or was counted in another source, or, checking,
// where the page is not what it would write.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { at, shown } from "./build/paths.mjs";
import { COUNTS_FILE, countLoops, faultsOfCounts, findCuobjdump, keptCounts } from "./ledger/counts.mjs";
import { readLedger } from "./ledger/entries.mjs";
import { plainName } from "./ledger/names.mjs";
import { page } from "./ledger/page.mjs";
import { registersOf } from "./ledger/registers.mjs";

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
if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(1);
}
const registersFile = at("native/cuda/registers.json");
const registers = registersOf(kernels) ?? JSON.parse(readFileSync(registersFile, "utf8"));
const checks = process.argv.includes("--check");
const cuobjdump = checks ? undefined : findCuobjdump();
const counts = cuobjdump ? await countLoops(entries, cuobjdump) : keptCounts();
if (!checks && !cuobjdump)
  console.log(`ledger: no cuobjdump (PATH, SURPRISAL_CUOBJDUMP): instructions are those of ${COUNTS_FILE}`);
const exceeded = faultsOfCounts(entries, counts);
if (exceeded.length > 0) {
  console.error(exceeded.join("\n"));
  process.exit(1);
}
const text = page(kernels, entries, registers, counts);
if (checks) {
  const stale = !existsSync(at("docs/cuda.md")) || readFileSync(at("docs/cuda.md"), "utf8") !== text;
  if (stale) console.error("ledger: docs/cuda.md is stale; npm run ledger");
  process.exitCode = stale ? 1 : 0;
} else {
  writeFileSync(registersFile, `${JSON.stringify(registers, null, 2)}\n`);
  writeFileSync(at(COUNTS_FILE), `${JSON.stringify(counts, null, 2)}\n`);
  writeFileSync(at("docs/cuda.md"), text);
  console.log(`ledger: docs/cuda.md, ${kernels.length} kernels`);
}

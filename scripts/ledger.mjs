// npm run ledger: writes docs/cuda.md, and behind a release build native/cuda/registers.json. With --check it writes nothing.
// Exits 1 where a comment above a kernel lacks what the ledger needs, or, checking, where the page is not what it would write.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { at, shown } from "./build/paths.mjs";
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
const text = page(kernels, entries, registers);
if (process.argv.includes("--check")) {
  const stale = !existsSync(at("docs/cuda.md")) || readFileSync(at("docs/cuda.md"), "utf8") !== text;
  if (stale) console.error("ledger: docs/cuda.md is stale; npm run ledger");
  process.exitCode = stale ? 1 : 0;
} else {
  writeFileSync(registersFile, `${JSON.stringify(registers, null, 2)}\n`);
  writeFileSync(at("docs/cuda.md"), text);
  console.log(`ledger: docs/cuda.md, ${kernels.length} kernels`);
}

// npm run ledger: writes docs/cuda.md, and behind a release build native/cuda/registers.json. With --check it writes nothing.
// Exits 1 where a kernel has no entry in native/cuda/ledger.json, or, checking, where the page is not what it would write.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { at } from "./build/paths.mjs";
import { differences, page } from "./ledger/page.mjs";
import { registersOf } from "./ledger/registers.mjs";

const resources = at("build-cuda/resources.json");
if (!existsSync(resources)) {
  console.error("ledger: no build-cuda/resources.json; npm run build:cuda");
  process.exit(1);
}
const kernels = JSON.parse(readFileSync(resources, "utf8"));
const ledger = JSON.parse(readFileSync(at("native/cuda/ledger.json"), "utf8"));
const { missing, unused } = differences(kernels, ledger);
for (const name of missing) console.error(`ledger: ${name} has no entry in native/cuda/ledger.json`);
for (const name of unused) console.log(`ledger: ${name} is in native/cuda/ledger.json, and no kernel is called so`);
const registersFile = at("native/cuda/registers.json");
const registers = registersOf(kernels) ?? JSON.parse(readFileSync(registersFile, "utf8"));
const text = page(kernels, ledger, registers);
if (process.argv.includes("--check")) {
  const stale = !existsSync(at("docs/cuda.md")) || readFileSync(at("docs/cuda.md"), "utf8") !== text;
  if (stale) console.error("ledger: docs/cuda.md is stale; npm run ledger");
  process.exitCode = stale ? 1 : 0;
} else {
  writeFileSync(registersFile, `${JSON.stringify(registers, null, 2)}\n`);
  writeFileSync(at("docs/cuda.md"), text);
  console.log(`ledger: docs/cuda.md, ${kernels.length} kernels`);
}
if (missing.length > 0) process.exitCode = 1;

// What the C headers of native/include/surprisal say, once more in C++, TypeScript and JSON:
//
//   node scripts/contracts.mjs            writes what is out of date
//   node scripts/contracts.mjs --check    names it, and fails if there is any
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { at } from "./build/paths.mjs";
import { contractFiles } from "./contracts/files.mjs";
import { Refusal } from "./contracts/refusal.mjs";

const { values: options } = parseArgs({ options: { check: { type: "boolean", default: false } } });

try {
  const files = await contractFiles();
  const stale = files.filter(([path, text]) => !existsSync(at(path)) || readFileSync(at(path), "utf8") !== text);
  for (const [path, text] of stale) {
    if (!options.check) writeFileSync(at(path), text);
    console.log(`${path}: ${options.check ? "out of date" : "written"}`);
  }
  console.log(`contracts: ${files.length} files, ${stale.length} ${options.check ? "out of date" : "written"}`);
  if (options.check && stale.length > 0) {
    console.log("npm run contracts renews them");
    process.exitCode = 1;
  }
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.log(error.message);
  process.exitCode = 1;
}

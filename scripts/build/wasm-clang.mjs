// Runs clang++ several times in one process: node scripts/build/wasm-clang.mjs '[[[arguments], "made", "kept as"], ...]'
//
// The compiler sees the repository's native/ and build-wasm/ and nothing else; so no path of this machine gets into what it makes.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commands } from "@yowasp/clang";
import { at } from "./paths.mjs";

const tree = (folder) =>
  Object.fromEntries(
    readdirSync(folder, { withFileTypes: true }).map((entry) => {
      const path = join(folder, entry.name);
      return [entry.name, entry.isDirectory() ? tree(path) : readFileSync(path)];
    }),
  );

const files = { native: tree(at("native")) };
if (existsSync(at("build-wasm/objects"))) files["build-wasm"] = { objects: tree(at("build-wasm/objects")) };

const said = new TextDecoder();
const print = (bytes) => process.stderr.write(bytes ? said.decode(bytes, { stream: true }) : "");

for (const [args, made, kept] of JSON.parse(process.argv[2])) {
  const options = { stdout: print, stderr: print, fetchProgress: () => undefined };
  try {
    const out = await commands["clang++"](args, files, options);
    writeFileSync(kept, out[made]);
  } catch (error) {
    console.error(`clang++ ${args.join(" ")}: ${error.message}`);
    process.exit(1);
  }
}

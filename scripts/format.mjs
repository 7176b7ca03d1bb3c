// Checks the C, C++ and CUDA sources against .clang-format, with the clang-format that is a
// development dependency: the same version on every machine.
//
//   node scripts/format.mjs [--write] [file ...]     no file means everything under native/, test/ and bench/roof/

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { format } from "@wasm-fmt/clang-format";
import { at, filesBelow, shown } from "./build/paths.mjs";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: "boolean", default: false } },
});
const files =
  positionals.length > 0
    ? positionals.map((file) => resolve(file))
    : ["native", "test", "bench/roof"].flatMap((folder) =>
        filesBelow(folder, [".h", ".inc", ".c", ".cpp", ".cc", ".cu", ".cuh"]),
      );
const style = readFileSync(at(".clang-format"), "utf8");
// Contracts are tables: a column of declarations, a column of comments.
const contractStyle = style.replace("Kind: Leave", "Kind: Always");
const styleOf = (file) => (shown(file).startsWith("native/include/") ? contractStyle : style);

let differing = 0;
for (const file of files) {
  const before = readFileSync(file, "utf8");
  const after = format(before, file.endsWith(".h") ? "header.hpp" : "source.cpp", styleOf(file));
  if (after === before) continue;
  differing++;
  if (options.write) {
    writeFileSync(file, after);
    console.log(`${shown(file)}: formatted`);
  } else {
    console.log(`${shown(file)}:${firstDifference(before, after)}: not formatted`);
  }
}
console.log(`clang-format: ${files.length} files, ${differing} ${options.write ? "changed" : "not formatted"}`);
if (differing > 0 && !options.write) {
  console.log("npm run format:fix formats them");
  process.exitCode = 1;
}

function firstDifference(before, after) {
  const left = before.split("\n");
  const right = after.split("\n");
  return left.findIndex((line, index) => line !== right[index]) + 1;
}

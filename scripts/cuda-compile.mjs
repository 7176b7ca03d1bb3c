// The launcher CMake puts before every nvcc call: `node cuda-compile.mjs nvcc … -o FILE …`.
// It passes everything on, and keeps what ptxas printed in FILE.ptxas.txt. The report of a file
// so lives as long as its object, and a build that compiles one file still knows all kernels.

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";

const [compiler, ...args] = process.argv.slice(2);
const { status, stdout, stderr, error } = spawnSync(compiler, args, { encoding: "utf8", maxBuffer: 1 << 28 });
if (error) throw error;
process.stdout.write(withoutReport(stdout));
process.stderr.write(withoutReport(stderr));

const object = args[args.indexOf("-o") + 1];
if (args.includes("-o") && status === 0) writeFileSync(`${object}.ptxas.txt`, stdout + stderr);
process.exitCode = status ?? 1;

/** Warnings and errors stay, the resource report of each kernel goes to the file only. */
function withoutReport(text) {
  return text.replace(/^(ptxas info| +\d+ bytes stack frame).*\n/gm, "");
}

// Prints for binding.gyp the flags that GCC alone takes, where it is the compiler.

import { spawnSync } from "node:child_process";

const FLAGS = [
  // A tenth of the compiler's time for a pass that finds nothing here.
  "-fno-gcse",
  // Structs of a few hundred bytes are copied and cleared by vectors, and not by string instructions, which take as long as a dozen tokens.
  ...(process.arch === "x64" ? ["memcpy", "memset"].map((name) => `-m${name}-strategy=vector_loop:4096:noalign,libcall:-1:noalign`) : []),
];

const [compiler, ...own] = (process.env.CXX ?? "c++").split(" ");
const { status } = spawnSync(compiler, [...own, ...FLAGS, "-Werror", "-fsyntax-only", "-x", "c++", "-"], { input: "" });
if (status === 0) console.log(FLAGS.join("\n"));

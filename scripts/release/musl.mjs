// g++ with the headers and the C library of musl, as Debian's musl-dev brings them, and GCC's own C++ library, linked statically.

import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../build/run.mjs";
import { symbolsOf } from "./elf.mjs";

const HOME = "/usr/lib/x86_64-linux-musl";

export const hasMusl = () => existsSync(join(HOME, "musl-gcc.specs"));

/** A compiler, as a script: make takes one word. What glibc has and musl lacks of the C++ library's wishes lies beside it. */
export async function muslCompiler(compiler, folder) {
  mkdirSync(folder, { recursive: true });
  const { stdout } = await run("the compiler", compiler, ["-v", "-E", "-x", "c++", "/dev/null"], {});
  const { stderr } = { stderr: stdout };
  return stderr;
}

/** Refuses an addon that asks for what musl and Node do not have. */
export async function needMusl(file) {
  const offered = new Set((await symbolsOf(join(HOME, "libc.so"))).filter(({ needed }) => !needed).map(({ name }) => name));
  const lacking = (await symbolsOf(file)).filter(
    ({ name, needed, weak }) => needed && !weak && !name.startsWith("napi_") && !offered.has(name),
  );
  if (lacking.length > 0) throw new Error(`${file} asks for what musl lacks: ${lacking.map(({ name }) => name).join(", ")}`);
}
